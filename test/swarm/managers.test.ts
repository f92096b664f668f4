import { expect, test } from 'vitest';
import { catalogue } from '../lab/registry/catalogue.ts';
import { describeInSwarm } from '../lab/swarm/describe-in-swarm.ts';
import { untilLeaderless } from '../lab/swarm/leaderless.ts';
import { runningTasks } from '../lab/swarm/service-spec.ts';
import { runUpkeep } from '../support/scene/run-upkeep.ts';
import { deploy, reportOf } from './rig/deployed.ts';
import { untruth } from './rig/truth.ts';

describeInSwarm('an update of a service of three managers', { managers: 3 }, (swarm) => {
  const run = (socket: string) => runUpkeep(['update', '--swarm', '--json', '--health-window', '2s'], { socket });
  const leader = async () => {
    const views = await swarm().nodeViews();
    return views.find(({ ManagerStatus }) => ManagerStatus?.Leader)?.Description.Hostname ?? '';
  };

  test('ends, also where the leader dies in the middle', async () => {
    const first = await leader();
    const web = await deploy(swarm(), 'web', catalogue.v1, {
      replicas: 3,
      task: { Placement: { Constraints: [`node.hostname!=${first}`] } },
      update: { Delay: 1_000_000_000 },
    });
    const next = await web.publish(catalogue.v2);
    const asked = swarm().nodes.find(({ name }) => name !== first)?.engine.socket ?? '';
    const running = run(asked);
    await swarm().until(web.id, (_, tasks) => runningTasks(tasks, next).length >= 1);
    await swarm()
      .nodes.find(({ name }) => name === first)
      ?.lose();
    const entry = reportOf(await running).of('web');
    expect(entry, JSON.stringify(entry)).toMatchObject({ outcome: 'updated' });
    expect(await untruth(swarm(), web, next, entry)).toBeUndefined();
  });

  test('is refused within seconds, and touches nothing, without a majority', async () => {
    const web = await deploy(swarm(), 'web', catalogue.v1, { replicas: 1 });
    await web.publish(catalogue.v2);
    await Promise.all([swarm().node(2).lose(), swarm().node(3).lose()]);
    const { socket } = swarm().node(1).engine;
    await untilLeaderless(swarm(), socket);
    const begunAt = performance.now();
    const { code, stdout, stderr } = await run(socket);
    expect(performance.now() - begunAt).toBeLessThan(25_000);
    expect(code).not.toBe(0);
    expect(stdout + stderr).toMatch(/leader/);
    await swarm().node(2).back();
    await swarm().node(3).back();
    await swarm().allReady(3);
    expect((await swarm().service(web.id)).Spec.TaskTemplate.ContainerSpec.Image).toBe(web.image);
  });
});

describeInSwarm('an engine that is no manager', {}, (swarm) => {
  test('gets a clear error, and a warning where it is told to go on', async () => {
    const { socket } = swarm().node(2).engine;
    const { code, stderr } = await runUpkeep(['update', '--swarm'], { socket });
    expect(code).not.toBe(0);
    expect(stderr).toMatch(/manager/);
    expect(stderr).not.toMatch(/\n\s+at /);
  });
});

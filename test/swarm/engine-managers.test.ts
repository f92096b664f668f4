import { expect, test } from 'vitest';
import { describeInSwarm } from '../lab/swarm/describe-in-swarm.ts';
import { untilLeaderless } from '../lab/swarm/leaderless.ts';
import { digestIn, pinnedImage } from '../lab/swarm/pinned-image.ts';
import { hasEnded, runningTasks, serviceSpec } from '../lab/swarm/service-spec.ts';

/** Three managers that lose their connections. */
describeInSwarm('a swarm of three managers', { managers: 3 }, (swarm) => {
  const leader = async () => {
    const views = await swarm().nodeViews();
    const name = views.find(({ ManagerStatus }) => ManagerStatus?.Leader)?.Description.Hostname;
    const node = swarm().nodes.find((one) => one.name === name);
    if (node === undefined) throw new Error(`there is no node ${name}`);
    return node;
  };

  test('goes on with an update when its leader dies in the middle', async () => {
    const image = await pinnedImage(swarm().registry, 'v1');
    const next = await pinnedImage(swarm().registry, 'v2');
    const first = await leader();
    const id = await swarm().create(
      serviceSpec('web', image, {
        replicas: 3,
        update: { Delay: 1_000_000_000 },
        task: { Placement: { Constraints: [`node.hostname!=${first.name}`] } },
      }),
    );
    await swarm().until(id, (_, tasks) => runningTasks(tasks).length === 3);
    await swarm().change(id, (spec) => (spec.TaskTemplate.ContainerSpec.Image = next));
    await swarm().until(id, (_, tasks) => runningTasks(tasks, digestIn(next)).length >= 1);
    await first.lose();
    const { service, tasks } = await swarm().until(id, hasEnded, 150_000);
    expect(service.UpdateStatus?.State).toBe('completed');
    expect(runningTasks(tasks, digestIn(next))).toHaveLength(3);
  });

  test('answers no question about services without a majority, but says so at once where it is asked for itself', async () => {
    const image = await pinnedImage(swarm().registry, 'v1');
    const id = await swarm().create(serviceSpec('web', image, { replicas: 1 }));
    await swarm().until(id, (_, tasks) => runningTasks(tasks).length === 1);
    await Promise.all([swarm().node(2).lose(), swarm().node(3).lose()]);
    const { socket } = swarm().node(1).engine;
    const info = await untilLeaderless(swarm(), socket);
    expect(info.ControlAvailable).toBe(true);
    // "does not have a leader", or a timeout of the request.
    expect(info.Error).toMatch(/^rpc error: /);
    const services = await swarm().send({ path: '/services', socket, timeoutMs: 60_000 });
    expect(services.status).toBe(500);
  });
});

import { expect, test } from 'vitest';
import { catalogue } from '../lab/registry/catalogue.ts';
import { describeInSwarm } from '../lab/swarm/describe-in-swarm.ts';
import { runningTasks } from '../lab/swarm/service-spec.ts';
import { runUpkeep } from '../support/scene/run-upkeep.ts';
import { deploy, reportOf } from './rig/deployed.ts';

describeInSwarm('labels that restrain the updates of services', {}, (swarm) => {
  const upkeep = (...args: readonly string[]) =>
    runUpkeep([...args, '--swarm', '--json', '--health-window', '1s'], {
      socket: swarm().nodes[0]?.engine.socket ?? '',
    });

  test('are followed, or hold the service, and say why', async () => {
    const held = {
      asked: [{ 'upkeep.approve': 'true' }, 'Waits for your approval'],
      unsigned: [{ 'com.centurylinklabs.watchtower.verify': 'any' }, 'not signed'],
      night: [{ 'upkeep.window': 'at night' }, 'Its window cannot be read'],
      local: [{ 'upkeep.no-pull': 'true' }, 'cannot be followed on a service'],
      built: [{ 'upkeep.from-registry': 'false' }, 'cannot be followed on a service'],
      stored: [{ 'upkeep.data': 'volumes' }, 'their data cannot be copied'],
    } as const;
    const services = new Map<string, { readonly id: string; readonly image: string }>();
    for (const [name, [labels]] of Object.entries(held)) {
      const service = await deploy(swarm(), name, catalogue.v1, { replicas: 1, labels });
      services.set(name, { id: service.id, image: service.image });
      await service.publish(catalogue.v2);
    }
    const free = await deploy(swarm(), 'free', catalogue.v1, { replicas: 1 });
    const next = await free.publish(catalogue.v2);
    const report = reportOf(await upkeep('update'));
    expect(report.of('free')?.outcome, report.stderr).toBe('updated');
    await swarm().until(free.id, (_, tasks) => runningTasks(tasks, next).length === 1);
    for (const [name, [, why]] of Object.entries(held)) {
      expect(report.of(name)?.outcome, name).toMatch(/^(?:skipped|deferred)$/);
      expect(report.of(name)?.reason).toContain(why);
      const { id = '', image } = services.get(name) ?? {};
      await swarm().until(id, ({ Spec }) => Spec.TaskTemplate.ContainerSpec.Image === image);
    }
  });
});

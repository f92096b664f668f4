import { describe, expect, test } from 'vitest';
import { applicationWith, createStaleWeb, updateAll } from '../../../test/support/scene/race-scene.ts';

const policy = { RestartPolicy: { Name: 'unless-stopped' } };

describe.each([
  ['has its volumes', { VolumesFrom: ['web'] }],
  ['has a legacy link to it', { Links: ['web:database'] }],
  ['lives in its network namespace', { NetworkMode: 'container:web' }],
])('a container that %s', (_, reference) => {
  test.each(['stopContainer', 'startContainer'] as const)(
    'is created anew with the same reference after a prune of stopped containers at %s',
    async (call) => {
      const { scene } = await createStaleWeb(policy);
      const { control, engine } = scene.sandbox;
      const dependent = control.runContainer('app', { Image: 'app:1', HostConfig: { ...policy, ...reference } });
      const before = await engine.inspectContainer(dependent);
      scene.registry.store.publish('app:1', { version: '2' });
      const { outside } = scene.startProcess();
      let isPruned = false;
      const pruneFirst = async (id: string) => {
        const isDown = (await engine.inspectContainer(dependent))?.state.status !== 'running';
        if (isDown && !isPruned) control.pruneContainers();
        isPruned ||= isDown;
        return outside.engine[call](id, {});
      };
      const application = applicationWith(outside, { [call]: pruneFirst });
      const { containers } = await scene.clock.run(() => application.update(updateAll));
      expect(isPruned).toBe(true);
      const app = await engine.inspectContainer('app');
      expect(containers.find(({ name }) => name === 'app')).toMatchObject({ outcome: 'rolled_back' });
      expect(app?.state.status).toBe('running');
      expect((await engine.inspectContainer('web'))?.state.status).toBe('running');
      const { VolumesFrom, Links } = app?.settings.HostConfig ?? {};
      expect({ VolumesFrom, Links }).toEqual({
        VolumesFrom: before?.settings.HostConfig.VolumesFrom,
        Links: before?.settings.HostConfig.Links,
      });
    },
  );
});

import { expect, test } from 'vitest';
import { applicationWith, createStaleWeb, updateAll } from '../../../test/support/scene/race-scene.ts';

test('a member of a group whose old container someone removes after the swap is carried along, although its policy cannot be changed', async () => {
  const HostConfig = { RestartPolicy: { Name: 'unless-stopped' } };
  const { scene } = await createStaleWeb(HostConfig);
  const { control } = scene.sandbox;
  const dependent = control.runContainer('app', {
    Image: 'app:1',
    HostConfig: { ...HostConfig, NetworkMode: 'container:web' },
  });
  scene.registry.store.publish('app:1', { version: '2' });
  const { outside } = scene.startProcess();
  const application = applicationWith(outside, {
    updateRestartPolicy(id, policy) {
      if (id === dependent) control.removeContainer(dependent);
      return outside.engine.updateRestartPolicy(id, policy);
    },
  });
  const { containers } = await scene.clock.run(() => application.update(updateAll));
  expect(containers.map(({ name, outcome, reason }) => [name, outcome, reason])).toEqual([
    ['app', 'updated', ''],
    ['web', 'updated', ''],
  ]);
  for (const name of ['app', 'web'])
    expect((await scene.sandbox.engine.inspectContainer(name))?.state.status).toBe('running');
});

import { expect, test } from 'vitest';
import { createSandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import { defaultSettings } from '../../domain/settings/service-settings.ts';
import { createApplication } from '../create-application.ts';

test('a name that somebody takes in the middle of the swap is told, and the container waits for its name', async () => {
  const scene = createSandboxScene();
  scene.registry.store.publish('app:1', { version: '1' });
  await scene.sandbox.engine.pullImage({ reference: 'app:1' });
  const oldId = scene.sandbox.control.runContainer('web', { Image: 'app:1' });
  scene.registry.store.publish('app:1', { version: '2' });
  const { outside } = scene.startProcess();
  const engine: typeof outside.engine = {
    ...outside.engine,
    async renameContainer(id, name) {
      const outcome = await outside.engine.renameContainer(id, name);
      if (id === oldId && name.includes('.upkeep-old')) scene.sandbox.control.runContainer('web', { Image: 'app:1' });
      return outcome;
    },
  };
  const application = createApplication({ ...outside, engine }, defaultSettings);
  const request = { trigger: 'command', images: [], containers: [] } as const;
  const { containers } = await scene.clock.run(() => application.update(request));
  const { reason } = containers.find(({ containerId }) => containerId === oldId) ?? {};
  expect(reason).toMatch(/The container name "\/web" is already in use/);
  expect(reason).toMatch('the container is not back yet, the next run or start of Upkeep tries again');
});

test('a container that stands in the way of each update is named, with the remedy', async () => {
  const scene = createSandboxScene();
  scene.registry.store.publish('app:1', { version: '1' });
  await scene.sandbox.engine.pullImage({ reference: 'app:1' });
  scene.sandbox.control.runContainer('web', { Image: 'app:1' });
  scene.sandbox.control.runContainer('web.upkeep-new', { Image: 'app:1', Labels: { 'upkeep.enable': 'false' } });
  scene.registry.store.publish('app:1', { version: '2' });
  const application = createApplication(scene.startProcess().outside, defaultSettings);
  const request = { trigger: 'command', images: [], containers: ['web'] } as const;
  const { containers } = await scene.clock.run(() => application.update(request));
  expect(containers).toMatchObject([
    {
      outcome: 'deferred',
      reason:
        'creating the successor of "web" failed: "web.upkeep-new" exists, and no update of "web" has made it; remove it, unless somebody needs it',
    },
  ]);
});

import { expect, test } from 'vitest';
import { createSandboxScene } from '../../../test/support/sandbox-outside.ts';
import { defaultSettings } from '../../domain/settings/settings.ts';
import { createApplication } from '../create-application.ts';

test('a name that somebody takes in the middle of the swap is the reason that is told, not the rename that was refused', async () => {
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
  expect(containers.find(({ containerId }) => containerId === oldId)?.reason).toMatch(
    'another container has taken the name "web"',
  );
});

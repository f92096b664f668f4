import { expect, test } from 'vitest';
import { createSandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import { defaultSettings } from '../../domain/settings/effective-settings.ts';
import { createApplication } from '../create-application.ts';

test('a container that is not back yet has not lost the links to a target that is not back either', async () => {
  const scene = createSandboxScene();
  scene.registry.store.publish('app:1', { version: '1' });
  await scene.sandbox.engine.pullImage({ reference: 'app:1' });
  scene.sandbox.control.runContainer('db', { Image: 'app:1' });
  const Links = ['/db:/web/database'];
  scene.sandbox.control.runContainer('web', { Image: 'app:1', HostConfig: { Links } });
  scene.registry.store.publish('app:1', { version: '2' });
  const { outside } = scene.startProcess();
  const noSpace = { kind: 'refused', status: 500, message: 'no space left on device' } as const;
  const engine: typeof outside.engine = {
    ...outside.engine,
    renameContainer: async (id, name) =>
      name === 'web' || name === 'db' ? noSpace : outside.engine.renameContainer(id, name),
  };
  const application = createApplication({ ...outside, engine }, defaultSettings);
  const request = { trigger: 'command', images: [], containers: [] } as const;
  const { containers } = await scene.clock.run(() => application.update(request));
  const { reason } = containers.find(({ name }) => name === 'web') ?? {};
  expect(reason).toMatch(/the container is not back yet, the next run or start of Upkeep tries again$/);
});

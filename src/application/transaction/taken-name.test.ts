import { describe, expect, test } from 'vitest';
import { createSandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import { journalPrefix } from '../../domain/container/label-names.ts';
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

describe('a container called web.upkeep-new', () => {
  async function updateBeside(labels: Readonly<Record<string, string>>) {
    const scene = createSandboxScene();
    scene.registry.store.publish('app:1', { version: '1' });
    await scene.sandbox.engine.pullImage({ reference: 'app:1' });
    scene.sandbox.control.runContainer('web', { Image: 'app:1' });
    scene.sandbox.control.runContainer('web.upkeep-new', { Image: 'app:1', Labels: labels });
    scene.registry.store.publish('app:1', { version: '2' });
    const application = createApplication(scene.startProcess().outside, defaultSettings);
    const request = { trigger: 'command', images: [], containers: ['web'] } as const;
    return (await scene.clock.run(() => application.update(request))).containers;
  }

  test('is named, with the remedy', async () => {
    expect(await updateBeside({ 'upkeep.enable': 'false' })).toMatchObject([
      {
        outcome: 'deferred',
        reason:
          'creating the successor of "web" failed: "web.upkeep-new" exists, and no update of "web" has made it; remove it, unless somebody needs it',
      },
    ]);
  });

  test('is not to be removed if another version of Upkeep has made it', async () => {
    expect(await updateBeside({ 'upkeep.enable': 'false', [`${journalPrefix}v`]: '2' })).toMatchObject([
      { outcome: 'deferred', reason: expect.stringContaining('another update of "web" is in progress') },
    ]);
  });
});

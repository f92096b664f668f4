import { expect, test } from 'vitest';
import { createSandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import { defaultSettings } from '../../domain/settings/service-settings.ts';
import { createApplication } from '../create-application.ts';

const request = { trigger: 'command', images: [], containers: [] } as const;

/**
 * Updates `web`. Another instance starts before each of the first `slow` creations, and takes its mark for a dead
 * update's. `here`: it is the same process, through another name of the engine.
 */
async function updateWhileOthersStart(slow: number, here = false) {
  const scene = createSandboxScene();
  const { engine, control } = scene.sandbox;
  scene.registry.store.publish('app:1', { version: '1' });
  await engine.pullImage({ reference: 'app:1' });
  control.runContainer('web', { Image: 'app:1' });
  scene.registry.store.publish('app:1', { version: '2' });
  const { outside } = scene.startProcess();
  let creations = 0;
  const updating = createApplication(
    {
      ...outside,
      engine: {
        ...outside.engine,
        async createContainer(name, recipe) {
          creations += 1;
          const other = here ? outside : scene.startProcess().outside;
          if (creations <= slow) await createApplication(other, defaultSettings).recover();
          return outside.engine.createContainer(name, recipe);
        },
      },
    },
    defaultSettings,
  );
  const session = await scene.clock.run(() => updating.update(request));
  const { containers, tags } = control.snapshot();
  return { said: session.containers, containers: Object.keys(containers), tags: Object.keys(tags), creations };
}

test('a repair through another name of the engine leaves the tag of an update of this process as it is', async () => {
  expect(await updateWhileOthersStart(1, true)).toMatchObject({ said: [{ outcome: 'updated' }], creations: 1 });
});

test('an update begins once more after a starting instance has moved its tag back', async () => {
  const { said, containers, tags } = await updateWhileOthersStart(1);
  expect(said).toMatchObject([{ outcome: 'updated' }]);
  expect(containers).toEqual(['web']);
  expect(tags).toEqual(['app:1']);
});

test('an update is left to the next run after its tag was moved twice', async () => {
  const { said, containers, tags } = await updateWhileOthersStart(2);
  expect(said).toMatchObject([{ outcome: 'deferred', reason: expect.stringMatching(/the tag of "app:1" was moved/) }]);
  expect(containers).toEqual(['web']);
  expect(tags.filter((tag) => tag.startsWith('upkeep-open'))).toEqual([]);
});

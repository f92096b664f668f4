import { expect, test } from 'vitest';
import { applicationWith, createStaleWeb, updateAll } from '../../../test/support/scene/race-scene.ts';

/**
 * Updates `web`. Another instance starts before each of the first `slow` creations, and takes its mark for a dead
 * update's. `here`: it is the same process, through another name of the engine.
 */
async function updateWhileOthersStart(slow: number, here = false) {
  const { scene } = await createStaleWeb();
  const { outside } = scene.startProcess();
  let creations = 0;
  const updating = applicationWith(outside, {
    async createContainer(name, recipe) {
      creations += 1;
      const other = here ? outside : scene.startProcess().outside;
      if (creations <= slow) await applicationWith(other, {}).recover();
      return outside.engine.createContainer(name, recipe);
    },
  });
  const session = await scene.clock.run(() => updating.update(updateAll));
  const { containers, tags } = scene.sandbox.control.snapshot();
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

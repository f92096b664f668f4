import { describe, expect, test } from 'vitest';
import { applicationWith, createStaleWeb, updateAll } from '../../../test/support/scene/race-scene.ts';
import { journalPrefix } from '../../domain/image/labels.ts';

test('a name that someone takes in the middle of the swap is told, and the container waits for its name', async () => {
  const { scene, old } = await createStaleWeb();
  const { outside } = scene.startProcess();
  const application = applicationWith(outside, {
    async renameContainer(id, name) {
      const outcome = await outside.engine.renameContainer(id, name);
      if (id === old && name.includes('.upkeep-old')) scene.sandbox.control.runContainer('web', { Image: 'app:1' });
      return outcome;
    },
  });
  const { containers } = await scene.clock.run(() => application.update(updateAll));
  const { reason } = containers.find(({ containerId }) => containerId === old) ?? {};
  expect(reason).toMatch('another container has taken the name "web"');
  expect(reason).toMatch('the container is not back yet, the next run or start of Upkeep tries again');
});

describe('a container called web.upkeep-new', () => {
  async function updateBeside(labels: Readonly<Record<string, string>>) {
    const { scene } = await createStaleWeb();
    scene.sandbox.control.runContainer('web.upkeep-new', { Image: 'app:1', Labels: labels });
    const application = applicationWith(scene.startProcess().outside, {});
    return (await scene.clock.run(() => application.update({ ...updateAll, containers: ['web'] }))).containers;
  }

  test('is named, with the remedy', async () => {
    expect(await updateBeside({ 'upkeep.enable': 'false' })).toMatchObject([
      {
        outcome: 'deferred',
        reason:
          'creating the successor of "web" failed: "web.upkeep-new" exists, and no update of "web" has made it; remove it, unless someone needs it',
      },
    ]);
  });

  test('is not to be removed if another version of Upkeep has made it', async () => {
    expect(await updateBeside({ 'upkeep.enable': 'false', [`${journalPrefix}v`]: '2' })).toMatchObject([
      { outcome: 'deferred', reason: expect.stringContaining('another update of "web" is in progress') },
    ]);
  });
});

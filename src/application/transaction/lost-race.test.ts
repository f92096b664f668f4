import { expect, test } from 'vitest';
import { applicationWith, createGate, createStaleWeb, updateAll } from '../../../test/support/scene/race-scene.ts';

/**
 * Two instances update `web` together. The loser creates its successor after the winner's has got the name, and is
 * killed after one of its changes. Then the winner removes the old container.
 */
async function loseAndDie(at: number) {
  const { scene, old } = await createStaleWeb();
  const [marked, dropped, died] = [createGate(), createGate(), createGate()];
  const { outside: winner } = scene.startProcess();
  const winning = applicationWith(winner, {
    async createContainer(name, recipe) {
      await marked.isOpen;
      return winner.engine.createContainer(name, recipe);
    },
    async removeContainer(id) {
      if (id === old) {
        dropped.open();
        await died.isOpen;
      }
      return winner.engine.removeContainer(id);
    },
  });
  const connection = scene.sandbox.connect({ faults: [{ at, fault: { kind: 'crash', when: 'after' } }] });
  const { outside: loser } = scene.startProcess(connection);
  const losing = applicationWith(loser, {
    async createContainer(name, recipe) {
      marked.open();
      await dropped.isOpen;
      return loser.engine.createContainer(name, recipe);
    },
  });
  await scene.clock.run(async () => {
    const won = winning.update(updateAll);
    await losing.update(updateAll).catch(() => undefined);
    connection.crash();
    marked.open();
    died.open();
    await won;
    await applicationWith(scene.startProcess().outside, {}).recover();
  });
  const { containers, tags } = scene.sandbox.control.snapshot();
  return { containers: Object.keys(containers), tags: Object.keys(tags) };
}

test.each([1, 2, 3, 4, 5, 6, 7, 8, 9])(
  'an instance that has lost a race and is killed after change %i leaves nothing',
  async (at) => {
    const { containers, tags } = await loseAndDie(at);
    expect(containers).toEqual(['web']);
    expect(tags).toEqual(['app:1']);
  },
);

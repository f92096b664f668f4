import { expect, test } from 'vitest';
import { applicationWith, createGate, createStaleWeb, updateAll } from '../../../test/support/scene/race-scene.ts';

const successor = 'web.upkeep-new';

test('the loser of a race for the name leaves the tag to the winner, even before the engine shows the winner', async () => {
  const { scene } = await createStaleWeb();
  const former = await scene.sandbox.engine.inspectImage('app:1');
  const [named, lostRace] = [createGate(), createGate()];
  const { outside: winner } = scene.startProcess();
  const winning = applicationWith(winner, {
    async createContainer(name, recipe) {
      const outcome = await winner.engine.createContainer(name, recipe);
      named.open();
      await lostRace.isOpen;
      return outcome;
    },
  });
  const { outside: loser } = scene.startProcess();
  let unseenLooks = 3;
  let won: ReturnType<typeof winning.update> | undefined;
  const losing = applicationWith(loser, {
    async createContainer(name, recipe) {
      won = winning.update(updateAll);
      await named.isOpen;
      return loser.engine.createContainer(name, recipe);
    },
    async inspectContainer(id, signal) {
      const holder = await loser.engine.inspectContainer(id, signal);
      return id === successor && holder !== undefined && unseenLooks-- > 0 ? undefined : holder;
    },
  });

  const [lost, winners] = await scene.clock.run(async () => {
    const session = await losing.update(updateAll);
    lostRace.open();
    return [session, await won];
  });
  expect(lost?.containers).toMatchObject([{ outcome: 'deferred' }]);
  expect(winners?.containers).toMatchObject([{ outcome: 'updated' }]);
  expect((await winner.engine.inspectImage('app:1'))?.id).not.toBe(former?.id);
});

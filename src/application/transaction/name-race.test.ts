import { expect, test } from 'vitest';
import { createSandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import { defaultSettings } from '../../domain/settings/service-settings.ts';
import { createApplication } from '../create-application.ts';

const request = { trigger: 'command', images: [], containers: [] } as const;
const successor = 'web.upkeep-new';

test('the loser of a race for the name leaves the tag to the winner, even before the engine shows the winner', async () => {
  const scene = createSandboxScene();
  scene.registry.store.publish('app:1', { version: '1' });
  await scene.sandbox.engine.pullImage({ reference: 'app:1' });
  const former = await scene.sandbox.engine.inspectImage('app:1');
  scene.sandbox.control.runContainer('web', { Image: 'app:1' });
  scene.registry.store.publish('app:1', { version: '2' });

  let haveTheName = () => {};
  const hasTheName = new Promise<void>((resolve) => (haveTheName = resolve));
  let lose = () => {};
  const hasLost = new Promise<void>((resolve) => (lose = resolve));
  const { outside: winner } = scene.startProcess();
  const winning = createApplication(
    {
      ...winner,
      engine: {
        ...winner.engine,
        async createContainer(name, recipe) {
          const outcome = await winner.engine.createContainer(name, recipe);
          haveTheName();
          await hasLost;
          return outcome;
        },
      },
    },
    defaultSettings,
  );
  const { outside: loser } = scene.startProcess();
  let unseenLooks = 3;
  let won: ReturnType<typeof winning.update> | undefined;
  const losing = createApplication(
    {
      ...loser,
      engine: {
        ...loser.engine,
        async createContainer(name, recipe) {
          won = winning.update(request);
          await hasTheName;
          return loser.engine.createContainer(name, recipe);
        },
        async inspectContainer(id, signal) {
          const holder = await loser.engine.inspectContainer(id, signal);
          return id === successor && holder !== undefined && unseenLooks-- > 0 ? undefined : holder;
        },
      },
    },
    defaultSettings,
  );

  const [lost, winners] = await scene.clock.run(async () => {
    const session = await losing.update(request);
    lose();
    return [session, await won];
  });
  expect(lost?.containers).toMatchObject([{ outcome: 'deferred' }]);
  expect(winners?.containers).toMatchObject([{ outcome: 'updated' }]);
  expect((await winner.engine.inspectImage('app:1'))?.id).not.toBe(former?.id);
});

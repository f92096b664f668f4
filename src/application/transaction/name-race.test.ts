import { expect, test } from 'vitest';
import { createSandboxScene } from '../../../test/support/sandbox-outside.ts';
import { defaultSettings } from '../../domain/settings/settings.ts';
import { createApplication } from '../create-application.ts';

test('the loser of a race for the name leaves the tag to the winner, even before the engine shows the winner', async () => {
  const scene = createSandboxScene();
  scene.registry.store.publish('app:1', { version: '1' });
  await scene.sandbox.engine.pullImage({ reference: 'app:1' });
  const former = await scene.sandbox.engine.inspectImage('app:1');
  scene.sandbox.control.runContainer('web', { Image: 'app:1' });
  scene.registry.store.publish('app:1', { version: '2' });
  const request = { trigger: 'command', images: [], containers: [] } as const;

  let unseenLooks = 3;
  const loser = scene.startProcess().outside;
  const losing = createApplication(
    {
      ...loser,
      engine: {
        ...loser.engine,
        async inspectContainer(id, signal) {
          const holder = await loser.engine.inspectContainer(id, signal);
          if (id === 'web.upkeep-new' && holder !== undefined && unseenLooks-- > 0) return undefined;
          return holder;
        },
      },
    },
    defaultSettings,
  );
  const winner = scene.startProcess().outside;
  const lost: unknown[] = [];
  const winning = createApplication(
    {
      ...winner,
      engine: {
        ...winner.engine,
        async createContainer(name, recipe) {
          const outcome = await winner.engine.createContainer(name, recipe);
          const { containers } = await losing.update(request);
          lost.push(...containers.map((container) => container.outcome));
          return outcome;
        },
      },
    },
    defaultSettings,
  );

  const { containers } = await scene.clock.run(() => winning.update(request));
  expect(lost).toEqual(['deferred']);
  expect(containers.map(({ outcome }) => outcome)).toEqual(['updated']);
  expect((await winner.engine.inspectImage('app:1'))?.id).not.toBe(former?.id);
});

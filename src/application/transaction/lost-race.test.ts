import { expect, test } from 'vitest';
import { createSandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import { defaultSettings } from '../../domain/settings/service-settings.ts';
import { createApplication } from '../create-application.ts';

const request = { trigger: 'command', images: [], containers: [] } as const;

function createGate() {
  let open = () => {};
  const isOpen = new Promise<void>((resolve) => (open = resolve));
  return { open, isOpen };
}

/**
 * Two instances update `web` together. The loser creates its successor after the winner's has got the name, and is
 * killed after one of its changes. Then the winner removes the old container.
 */
async function loseAndDie(at: number) {
  const scene = createSandboxScene();
  const { engine, control } = scene.sandbox;
  scene.registry.store.publish('app:1', { version: '1' });
  await engine.pullImage({ reference: 'app:1' });
  const old = control.runContainer('web', { Image: 'app:1' });
  scene.registry.store.publish('app:1', { version: '2' });
  const [marked, dropped, died] = [createGate(), createGate(), createGate()];
  const { outside: winner } = scene.startProcess();
  const winning = createApplication(
    {
      ...winner,
      engine: {
        ...winner.engine,
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
      },
    },
    defaultSettings,
  );
  const connection = scene.sandbox.connect({ faults: [{ at, fault: { kind: 'crash', when: 'after' } }] });
  const { outside: loser } = scene.startProcess(connection);
  const losing = createApplication(
    {
      ...loser,
      engine: {
        ...loser.engine,
        async createContainer(name, recipe) {
          marked.open();
          await dropped.isOpen;
          return loser.engine.createContainer(name, recipe);
        },
      },
    },
    defaultSettings,
  );
  await scene.clock.run(async () => {
    const won = winning.update(request);
    await losing.update(request).catch(() => undefined);
    connection.crash();
    marked.open();
    died.open();
    await won;
    await createApplication(scene.startProcess().outside, defaultSettings).recover();
  });
  const { containers, tags } = control.snapshot();
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

import type { Engine } from '../../domain/outside/outside.ts';
import { describe, expect, test } from 'vitest';
import { createSandboxScene, type SandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import { defaultSettings } from '../../domain/settings/effective-settings.ts';
import { createApplication } from '../create-application.ts';

const settings = { ...defaultSettings, updateAutoRemove: true };
const image = 'app:1';
const everything = { images: [], containers: [] };

async function setScene(body: object = {}): Promise<SandboxScene> {
  const scene = createSandboxScene();
  scene.registry.store.publish(image, { version: '1' });
  await scene.sandbox.engine.pullImage({ reference: image });
  scene.sandbox.control.runContainer('web', { Image: image, ...body });
  scene.registry.store.publish(image, { version: '2' });
  return scene;
}

async function rehearse(scene: SandboxScene, engine: Partial<Engine> = {}) {
  const { outside, connection } = scene.startProcess();
  const application = createApplication({ ...outside, engine: { ...outside.engine, ...engine } }, settings);
  const { rehearsals } = await scene.clock.run(() => application.rehearse(everything));
  return { rehearsals, calls: connection.calls.map(({ kind, target }) => `${kind} ${target}`) };
}

const faithful = { containers: ['web'], faithful: true, reason: '' };

/** All but the images, which are pulled. */
function stateOf({ sandbox }: SandboxScene) {
  const { imageIds: _, ...state } = sandbox.control.snapshot();
  return state;
}

describe('a rehearsal', () => {
  test.each([
    ['an ordinary container', {}],
    ['one with volumes', { Volumes: { '/scratch': {} }, HostConfig: { Binds: ['kept:/data'] } }],
    ['one that removes itself', { Volumes: { '/scratch': {} }, HostConfig: { AutoRemove: true } }],
  ])('of %s leaves everything as it was, while it runs on', async (_what, body) => {
    const scene = await setScene(body);
    const before = stateOf(scene);
    const { rehearsals, calls } = await rehearse(scene);
    expect(rehearsals).toEqual([faithful]);
    expect(stateOf(scene)).toEqual(before);
    expect(calls.join()).not.toMatch(/stopContainer|startContainer|renameContainer/);
    expect(calls).toContain('createContainer web.upkeep-new');
  });

  test('tells what would differ', async () => {
    const scene = await setScene({ HostConfig: { Memory: 64_000_000 } });
    const before = stateOf(scene);
    const { engine } = scene.sandbox.connect();
    const { rehearsals } = await rehearse(scene, {
      createContainer: (name, recipe) => {
        const host = recipe.body['HostConfig'] as object;
        return engine.createContainer(name, {
          ...recipe,
          body: { ...recipe.body, HostConfig: { ...host, Memory: 0 } },
        });
      },
    });
    expect(rehearsals).toMatchObject([
      { faithful: false, reason: expect.stringContaining('HostConfig.Memory would be 0 instead of 64000000') },
    ]);
    expect(stateOf(scene)).toEqual(before);
  });

  test('leaves a tag alone that was ahead before', async () => {
    const scene = await setScene();
    await scene.sandbox.engine.pullImage({ reference: image });
    const before = stateOf(scene);
    expect((await rehearse(scene)).rehearsals).toEqual([faithful]);
    expect(stateOf(scene)).toEqual(before);
  });

  test('of a group is all or nothing', async () => {
    const scene = await setScene();
    scene.sandbox.control.runContainer('side', { Image: 'app:1', HostConfig: { NetworkMode: 'container:web' } });
    const before = stateOf(scene);
    expect((await rehearse(scene)).rehearsals).toEqual([{ ...faithful, containers: ['web', 'side'] }]);
    expect(stateOf(scene)).toEqual(before);
  });

  test('says why it could not be told', async () => {
    const scene = await setScene();
    const { rehearsals } = await rehearse(scene, {
      createContainer: () => Promise.resolve({ kind: 'refused', status: 500, message: 'no space left on device' }),
    });
    expect(rehearsals).toMatchObject([{ faithful: false, reason: expect.stringContaining('no space left') }]);
  });

  test.each(['before', 'during', 'after'] as const)(
    'killed %s any call is taken back by the next start',
    async (when) => {
      const { calls } = await rehearse(await setScene());
      for (const index of calls.keys()) {
        const scene = await setScene();
        const before = stateOf(scene);
        const connection = scene.sandbox.connect({ faults: [{ at: index + 1, fault: { kind: 'crash', when } }] });
        const { outside } = scene.startProcess(connection);
        await scene.clock.run(() => createApplication(outside, settings).rehearse(everything)).catch(() => undefined);
        connection.crash();
        await scene.clock.run(() => createApplication(scene.startProcess().outside, settings).recover());
        const after = stateOf(scene);
        expect(after.containers, `${when} ${calls[index]}`).toEqual(before.containers);
      }
    },
  );
});

import { describe, expect, test } from 'vitest';
import { createSandboxScene, type SandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import type { Fault } from '../../../sandbox/engine/calls.ts';
import { defaultSettings } from '../../domain/settings/effective-settings.ts';
import type { Application } from '../application.ts';
import { createApplication } from '../create-application.ts';

const everything = { images: [], containers: [] } as const;
const settings = { ...defaultSettings, healthWindowMs: 1000, updateAutoRemove: true };

const attempts: Readonly<Record<string, (application: Application) => Promise<unknown>>> = {
  'an update': (application) => application.update({ trigger: 'command', ...everything }),
  'a rehearsal': (application) => application.rehearse(everything),
};

const refusals: Readonly<Record<string, { readonly fault: Fault; readonly every?: boolean }>> = {
  'the name is taken (409)': { fault: { kind: 'refuse', status: 409 } },
  'the engine fails (500)': { fault: { kind: 'refuse', status: 500, message: 'layer does not exist' } },
  'the request is lost, always': { fault: { kind: 'lose-request' }, every: true },
};

async function setScene(host: object = {}): Promise<SandboxScene> {
  const scene = createSandboxScene();
  const { control, engine } = scene.sandbox;
  scene.registry.store.publish('shop/api:7', { version: '1' });
  await engine.pullImage({ reference: 'shop/api:7' });
  control.runContainer('api', { Image: 'shop/api:7', HostConfig: host });
  scene.registry.store.publish('shop/api:7', { version: '2' });
  return scene;
}

const tagsOf = ({ sandbox }: SandboxScene) => sandbox.control.snapshot().tags;
const namesOf = ({ sandbox }: SandboxScene) => Object.keys(sandbox.control.snapshot().containers);

describe.each(Object.entries(attempts))(
  'the tag is where it was after %s that created no successor',
  (_what, attempt) => {
    describe.each(Object.entries(refusals))('because %s', (_why, { fault, every = false }) => {
      async function attemptIn(scene: SandboxScene): Promise<void> {
        const connection = scene.sandbox.connect({
          faults: [{ at: ({ kind }) => kind === 'createContainer', fault, every }],
        });
        const { outside } = scene.startProcess(connection);
        await scene.clock.run(() => attempt(createApplication(outside, settings)));
        connection.crash();
      }

      test.each([
        ['one that stays', {}],
        ['one that removes itself', { AutoRemove: true }],
      ])('of %s', async (_kind, host) => {
        const scene = await setScene(host);
        const before = tagsOf(scene);
        await attemptIn(scene);
        expect(tagsOf(scene)).toEqual(before);
        expect(namesOf(scene)).toEqual(['api']);
      });

      test('also where that was neither the old image nor the new one', async () => {
        const scene = await setScene();
        scene.sandbox.control.addImage('mine:1', { version: 'mine' });
        scene.sandbox.control.tagImage('mine:1', 'shop/api:7');
        const before = tagsOf(scene);
        await attemptIn(scene);
        expect(tagsOf(scene)).toEqual(before);
      });
    });
  },
);

describe('the tag', () => {
  test('of a group goes back for all members when the last successor cannot be created', async () => {
    const scene = await setScene();
    const { control, engine } = scene.sandbox;
    scene.registry.store.publish('shop/side:2', { version: '1' });
    await engine.pullImage({ reference: 'shop/side:2' });
    control.runContainer('side', { Image: 'shop/side:2', HostConfig: { NetworkMode: 'container:api' } });
    scene.registry.store.publish('shop/side:2', { version: '2' });
    const before = tagsOf(scene);
    const connection = scene.sandbox.connect({
      faults: [{ at: ({ target }) => target === 'side.upkeep-new', fault: { kind: 'refuse', status: 500 } }],
    });
    const { outside } = scene.startProcess(connection);
    await scene.clock.run(() => attempts['an update']!(createApplication(outside, settings)));
    expect(tagsOf(scene)).toEqual(before);
  });

  test('stays where another updater has put it, which was the first to have the name', async () => {
    const scene = await setScene();
    const first = scene.startProcess();
    const second = scene.startProcess();
    const engine: typeof second.outside.engine = {
      ...second.outside.engine,
      createContainer: async (name, recipe) => {
        await createApplication(first.outside, settings).update({ trigger: 'command', ...everything });
        return second.outside.engine.createContainer(name, recipe);
      },
    };
    await scene.clock.run(() => attempts['an update']!(createApplication({ ...second.outside, engine }, settings)));
    const { containers, tags } = scene.sandbox.control.snapshot();
    expect(tags['shop/api:7']).toBe(containers['api']?.imageId);
    expect((await scene.sandbox.engine.inspectImage('shop/api:7'))?.id).toBe(containers['api']?.imageId);
  });
});

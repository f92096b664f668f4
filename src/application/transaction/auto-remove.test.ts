import type { Engine } from '../../domain/outside/outside.ts';
import { describe, expect, test } from 'vitest';
import type { Behaviour } from '../../../sandbox/base/behaviour.ts';
import { createSandboxScene, type SandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import { removesItself } from '../../domain/transaction/journal.ts';
import type { ContainerOutcome } from '../../domain/run/session.ts';
import { defaultSettings } from '../../domain/settings/effective-settings.ts';
import { createApplication } from '../create-application.ts';
import { recoverTransactions } from '../recovery/recover.ts';

const settings = { ...defaultSettings, healthWindowMs: 1000, updateAutoRemove: true };
const image = 'app:1';

async function setScene(next: Behaviour = {}, host: object = {}): Promise<SandboxScene> {
  const scene = createSandboxScene();
  scene.registry.store.publish(image, { version: '1', behaviour: { stopMs: 300 } });
  await scene.sandbox.engine.pullImage({ reference: image });
  const HostConfig = { AutoRemove: true, ...host };
  scene.sandbox.control.runContainer('web', { Image: image, Volumes: { '/scratch': {} }, HostConfig });
  scene.registry.store.publish(image, { version: '2', behaviour: next });
  return scene;
}

async function update(scene: SandboxScene, more: Partial<typeof settings> = {}): Promise<ContainerOutcome | undefined> {
  const application = createApplication(scene.startProcess().outside, { ...settings, ...more });
  const request = { trigger: 'command', images: [], containers: [] } as const;
  const { containers } = await scene.clock.run(() => application.update(request));
  return containers.find(({ name }) => name === 'web');
}

const web = async ({ sandbox }: SandboxScene) => (await sandbox.engine.inspectContainer('web'))!;
const volumes = ({ sandbox }: SandboxScene) => Object.keys(sandbox.control.snapshot().volumes);

describe('a container that removes itself (--rm)', () => {
  test('is left alone unless that is asked for', async () => {
    const scene = await setScene();
    const { id } = await web(scene);
    expect(await update(scene, { updateAutoRemove: false })).toMatchObject({
      outcome: 'skipped',
      reason: expect.stringContaining('update-auto-remove'),
    });
    expect((await web(scene)).id).toBe(id);
  });

  test('is replaced by one that removes itself, on the same volumes', async () => {
    const scene = await setScene();
    const before = volumes(scene);
    expect((await update(scene))?.outcome).toBe('updated');
    expect(removesItself(await web(scene))).toBe(true);
    expect(Object.keys(scene.sandbox.control.snapshot().containers)).toEqual(['web']);
    expect(volumes(scene)).toEqual(before);
  });

  test('comes back as a copy without --rm, which the next update gives it again', async () => {
    const scene = await setScene({ exitsAfterMs: 400 });
    const before = volumes(scene);
    const outcome = await update(scene);
    expect(outcome).toMatchObject({
      outcome: 'rolled_back',
      reason: expect.stringMatching(
        /exited with code 0, and the engine removed it \(--rm\); it runs again as a copy without --rm/,
      ),
    });
    const copy = await web(scene);
    expect([copy.state.status, removesItself(copy), copy.settings.Config.Image]).toEqual(['running', false, image]);
    expect(volumes(scene)).toEqual(before);
    expect((await update(scene))?.reason).toContain('failed here on ');
    scene.registry.store.publish(image, { version: '3' });
    expect((await update(scene))?.outcome).toBe('updated');
    expect(removesItself(await web(scene))).toBe(true);
    expect(Object.keys(scene.sandbox.control.snapshot().containers)).toEqual(['web']);
    expect(volumes(scene)).toEqual(before);
  });

  test.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'is told as undone when its copy is back, also if a repair was killed after change %i',
    async (at) => {
      const scene = await setScene();
      const fault = { kind: 'crash', when: 'after' } as const;
      const dying = async (where: 'stopContainer' | number) => {
        const { outside, connection } = scene.startProcess(scene.sandbox.connect({ faults: [{ at: where, fault }] }));
        const application = createApplication(outside, settings);
        const request = { trigger: 'command', images: [], containers: [] } as const;
        const work = (): Promise<unknown> =>
          where === 'stopContainer' ? application.update(request) : application.recover();
        await scene.clock.run(work).catch(() => undefined);
        connection.crash();
      };
      await dying('stopContainer');
      await dying(at);
      const last = await scene.clock.run(() => recoverTransactions(scene.startProcess().outside, settings));
      expect((await web(scene)).state.status).toBe('running');
      expect((await scene.sandbox.engine.inspectImage((await web(scene)).imageId))?.config.Labels).toMatchObject({
        'org.opencontainers.image.version': '1',
      });
      expect(last.transactions.filter(({ result }) => result === 'finished')).toEqual([]);
    },
  );

  test.each<readonly [string, Behaviour]>([
    ['ends at once', { exitsAfterMs: 0 }],
    ['cannot be started', { startError: 'exec: "service": not found' }],
  ])('comes back from a version that %s', async (_what, next) => {
    const scene = await setScene(next);
    expect((await update(scene))?.outcome).toBe('rolled_back');
    expect((await web(scene)).state.status).toBe('running');
    expect(Object.keys(scene.sandbox.control.snapshot().containers)).toEqual(['web']);
  });

  test('that an engine removes at its own start comes back as a copy, and the report says so', async () => {
    const scene = await setScene();
    const { outside } = scene.startProcess();
    const { engine } = outside;
    const cut: Engine = {
      ...engine,
      renameContainer: async (id, name) => {
        if (name.includes('.upkeep-old-')) await scene.sandbox.control.restartEngine('power-cut');
        return engine.renameContainer(id, name);
      },
    };
    const application = createApplication({ ...outside, engine: cut }, settings);
    const request = { trigger: 'command', images: [], containers: [] } as const;
    const { containers } = await scene.clock.run(() => application.update(request));
    expect(containers).toMatchObject([
      {
        outcome: 'failed',
        reason: expect.stringMatching(
          /did not run, so the engine removed it \(--rm\); it runs again as a copy without --rm/,
        ),
      },
    ]);
    const copy = await web(scene);
    expect(copy.state.status).toBe('running');
    expect(removesItself(copy)).toBe(false);
  });

  test('whose update was committed when the service died is told of as finished', async () => {
    const scene = await setScene();
    const connection = scene.sandbox.connect({ faults: [{ at: 12, fault: { kind: 'crash', when: 'after' } }] });
    const { outside } = scene.startProcess(connection);
    const request = { trigger: 'command', images: [], containers: [] } as const;
    await scene.clock.run(() => createApplication(outside, settings).update(request)).catch(() => undefined);
    expect(connection.calls.at(-1)).toMatchObject({ kind: 'renameContainer', detail: 'web.upkeep-drop-e' });
    connection.crash();
    const { transactions } = await scene.clock.run(() => recoverTransactions(scene.startProcess().outside, settings));
    expect(transactions).toMatchObject([{ containers: ['web'], result: 'finished' }]);
    expect(Object.keys(scene.sandbox.control.snapshot().containers)).toEqual(['web']);
  });

  test('is not touched when the engine would make something else of its stand-in', async () => {
    const scene = await setScene();
    const { id } = await web(scene);
    const connection = scene.sandbox.connect({
      faults: [{ at: ({ target }) => target.endsWith('standin'), fault: { kind: 'refuse', status: 500 }, every: true }],
    });
    const application = createApplication(scene.startProcess(connection).outside, settings);
    const { containers } = await scene.clock.run(() =>
      application.update({ trigger: 'command', images: [], containers: [] }),
    );
    expect(containers[0]).toMatchObject({ outcome: 'failed', reason: expect.stringContaining('creating a stand-in') });
    expect((await web(scene)).id).toBe(id);
    expect(Object.keys(scene.sandbox.control.snapshot().containers)).toEqual(['web']);
  });

  test('with another one in its network namespace is left alone', async () => {
    const scene = await setScene();
    scene.sandbox.control.runContainer('side', { Image: image, HostConfig: { NetworkMode: 'container:web' } });
    expect(await update(scene)).toMatchObject({
      outcome: 'skipped',
      reason: expect.stringContaining('could not join its replacement'),
    });
  });

  test('that has ended by itself before its turn is gone, as it was to be', async () => {
    const scene = await setScene();
    const process = scene.startProcess();
    const { outside } = process;
    const application = createApplication(
      {
        ...outside,
        engine: {
          ...outside.engine,
          pullImage: async (request) => {
            await outside.engine.pullImage(request);
            scene.sandbox.control.removeContainer('web');
          },
        },
      },
      settings,
    );
    const { containers } = await scene.clock.run(() =>
      application.update({ trigger: 'command', images: [], containers: [] }),
    );
    expect(containers[0]?.outcome).not.toBe('updated');
  });
});

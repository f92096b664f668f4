import type { Engine } from '../../domain/outside/outside.ts';
import { describe, expect, test } from 'vitest';
import type { Behaviour } from '../../../sandbox/base/behaviour.ts';
import { createSandboxScene, type SandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import { isFailedVersionTag } from '../../domain/check/known-versions.ts';
import type { ContainerOutcome } from '../../domain/run/session.ts';
import { defaultSettings, type ServiceSettings } from '../../domain/settings/effective-settings.ts';
import { createApplication } from '../create-application.ts';

type Next = { readonly [name: string]: Behaviour | 'none' };

const good: Behaviour = {};
const endsAfter = (exitsAfterMs: number, exitCode = 3): Behaviour => ({ exitsAfterMs, exitCode });

/** The first container has a network of its own, each other one lives in that; each has an image of its name. */
async function setScene(next: Next, host: object = {}): Promise<SandboxScene> {
  const scene = createSandboxScene();
  const { control, engine } = scene.sandbox;
  const [leader = ''] = Object.keys(next);
  for (const [name, behaviour] of Object.entries(next)) {
    scene.registry.store.publish(`${name}:1`, { version: '1' });
    await engine.pullImage({ reference: `${name}:1` });
    const HostConfig = name === leader ? host : { NetworkMode: `container:${leader}` };
    control.runContainer(name, { Image: `${name}:1`, HostConfig });
    if (behaviour !== 'none') scene.registry.store.publish(`${name}:1`, { version: '2', behaviour });
  }
  return scene;
}

type Meddling = { readonly before?: ((id: string, name: string) => void | Promise<void>) | undefined };

function beforeFirstStartOf(wanted: string, act: () => void | Promise<void>): Meddling['before'] {
  let isDone = false;
  return async (_id, name) => {
    if (name !== wanted || isDone) return;
    isDone = true;
    await act();
  };
}

/** A run of a new process; `before` is called before each start that it asks for. */
async function update(
  scene: SandboxScene,
  { before = () => undefined }: Meddling = {},
  settings: Partial<ServiceSettings> = {},
): Promise<Readonly<Record<string, ContainerOutcome>>> {
  const { outside, connection } = scene.startProcess();
  const engine: Engine = {
    ...outside.engine,
    startContainer: async (id) => {
      await before(id, (await outside.engine.inspectContainer(id))?.name ?? '');
      return outside.engine.startContainer(id);
    },
  };
  const application = createApplication(
    { ...outside, engine },
    { ...defaultSettings, healthWindowMs: 5000, ...settings },
  );
  const request = { trigger: 'command', images: [], containers: [] } as const;
  const { containers } = await scene.clock.run(() => application.update(request));
  connection.crash();
  return Object.fromEntries(containers.map((outcome) => [outcome.name, outcome]));
}

const marks = ({ sandbox }: SandboxScene) => Object.keys(sandbox.control.snapshot().tags).filter(isFailedVersionTag);
const running = ({ sandbox }: SandboxScene) =>
  Object.entries(sandbox.control.snapshot().containers)
    .filter(([, { state }]) => state.status === 'running')
    .map(([name]) => name)
    .toSorted();

/** The next run skips the container that caused the failure, and updates all others. */
async function expectHeld(scene: SandboxScene, culprit: string, others: readonly string[] = []): Promise<void> {
  expect(marks(scene)).toHaveLength(1);
  const next = await update(scene);
  expect(next[culprit]).toMatchObject({ outcome: 'skipped', reason: expect.stringContaining('failed here on ') });
  for (const other of others) expect(next[other]).toMatchObject({ outcome: 'updated' });
}

describe('in a network group the version whose process ended first is at fault', () => {
  const ends = (scene: SandboxScene, victim: string) =>
    beforeFirstStartOf('side', () => scene.sandbox.control.endProcess(victim, 3));

  test('before the next one was started, which the engine then refuses', async () => {
    const scene = await setScene({ tunnel: good, side: 'none' });
    const outcomes = await update(scene, { before: ends(scene, 'tunnel') });
    expect(outcomes['tunnel']).toMatchObject({
      outcome: 'rolled_back',
      reason: 'the new version of "tunnel" failed: it exited with code 3',
    });
    expect(outcomes['side']).toMatchObject({ outcome: 'rolled_back', reason: outcomes['tunnel']?.reason });
    expect(running(scene)).toEqual(['side', 'tunnel']);
    await expectHeld(scene, 'tunnel');
  });

  test('before the next one was started, where both are new: the other moves with the next run', async () => {
    const scene = await setScene({ tunnel: good, side: good });
    await update(scene, { before: ends(scene, 'tunnel') });
    await expectHeld(scene, 'tunnel', ['side']);
  });

  test('while the last of three is started', async () => {
    const scene = await setScene({ tunnel: good, middle: good, side: good });
    const outcomes = await update(scene, { before: ends(scene, 'middle') });
    expect(outcomes['side']?.reason).toBe('the new version of "middle" failed: it exited with code 3');
    expect(marks(scene)).toHaveLength(1);
  });

  test.each([
    ['the target', { tunnel: endsAfter(2000), middle: endsAfter(2100), side: endsAfter(2050) }, 'tunnel'],
    ['the last', { tunnel: endsAfter(2100), middle: endsAfter(2050), side: endsAfter(2000, 7) }, 'side'],
    ['the one between', { tunnel: endsAfter(2200), middle: endsAfter(2010), side: endsAfter(2100) }, 'middle'],
  ])('in the health check, within one look: %s', async (_which, next, culprit) => {
    const scene = await setScene(next);
    const outcomes = await update(scene);
    expect(outcomes[culprit]).toMatchObject({
      outcome: 'rolled_back',
      reason: expect.stringContaining(`the new version of "${culprit}" failed: it exited with code`),
    });
    expect(marks(scene)).toHaveLength(1);
  });

  test('in the health check, whose other members are not waited for any longer', async () => {
    const scene = await setScene({ tunnel: good, side: endsAfter(1000) });
    const startedAtMs = scene.clock.monotonicMs();
    const { side } = await update(scene, {}, { healthWindowMs: 600_000 });
    expect(side?.reason).toContain('"side" failed: it exited with code 3');
    expect(scene.clock.monotonicMs() - startedAtMs).toBeLessThan(10_000);
    expect(marks(scene)).toHaveLength(1);
    const { imageId: failed } = scene.sandbox.control.snapshot().containers['side']!;
    expect(await update(scene)).toMatchObject({ tunnel: { outcome: 'updated' }, side: { newImageId: failed } });
  });

  test('but not where someone stopped or removed it', async () => {
    for (const [act, word] of [
      [(scene: SandboxScene) => scene.sandbox.control.stopContainer('tunnel'), 'stopped'],
      [(scene: SandboxScene) => scene.sandbox.control.removeContainer('tunnel'), 'removed'],
    ] as const) {
      const scene = await setScene({ tunnel: good, side: good });
      const outcomes = await update(scene, { before: beforeFirstStartOf('side', () => act(scene)) });
      expect(outcomes['side']?.reason).toContain(`someone ${word} the new "tunnel"`);
      expect(marks(scene)).toEqual([]);
      expect(running(scene)).toEqual(['side', 'tunnel']);
      expect(await update(scene)).toMatchObject({ tunnel: { outcome: 'updated' }, side: { outcome: 'updated' } });
    }
  });
});

describe('a version with --rm that ends is told with its exit code and not tried again', () => {
  const settings = { updateAutoRemove: true };
  const host = { AutoRemove: true };

  test.each([0, 3, 300, 1000, 2600])('%i ms after its start', async (afterMs) => {
    const scene = await setScene({ worker: endsAfter(afterMs, 42) }, host);
    const outcomes = await update(scene, {}, settings);
    expect(outcomes['worker']?.outcome).toBe('rolled_back');
    expect(outcomes['worker']?.reason).toContain(
      'the new version of "worker" failed: it exited with code 42, and the engine removed it (--rm)',
    );
    expect(marks(scene)).toHaveLength(1);
    expect((await update(scene, {}, settings))['worker']).toMatchObject({
      outcome: 'skipped',
      reason: expect.stringContaining('failed here on '),
    });
  });

  test('but one that someone removed is tried again', async () => {
    const scene = await setScene({ worker: good }, host);
    const { control } = scene.sandbox;
    const [outcomes] = await scene.clock.run(() =>
      Promise.all([
        (async () => {
          const { outside } = scene.startProcess();
          const application = createApplication(outside, { ...defaultSettings, healthWindowMs: 5000, ...settings });
          return application.update({ trigger: 'command', images: [], containers: [] });
        })(),
        scene.clock.sleep(2000).then(() => control.removeContainer('worker')),
      ]),
    );
    expect(outcomes?.containers[0]).toMatchObject({
      outcome: 'rolled_back',
      reason: expect.stringContaining('someone'),
    });
    expect(marks(scene)).toEqual([]);
  });
});

import type { UpdateRequest } from '../../domain/run/session.ts';
import { describe, expect, test } from 'vitest';
import type { Behaviour } from '../../../sandbox/base/behaviour.ts';
import {
  createSandboxScene,
  type SandboxProcess,
  type SandboxScene,
} from '../../../test/support/scene/sandbox-outside.ts';
import { isFailedVersionTag } from '../../domain/check/known-versions.ts';
import { defaultSettings, type ServiceSettings } from '../../domain/settings/effective-settings.ts';
import { createApplication } from '../create-application.ts';

const full: UpdateRequest = { trigger: 'command', images: [], containers: [] };
const crashing: Behaviour = { exitsAfterMs: 10, exitCode: 3 };

/** `web` runs a first version; a next one is published. */
async function setScene(next: Behaviour = crashing, body: object = {}): Promise<SandboxScene> {
  const scene = createSandboxScene();
  scene.registry.store.publish('app:1', { version: '1' });
  await scene.sandbox.engine.pullImage({ reference: 'app:1' });
  scene.sandbox.control.runContainer('web', { Image: 'app:1', ...body });
  scene.registry.store.publish('app:1', { version: '2', behaviour: next });
  return scene;
}

type Run = { readonly outcome: string; readonly reason: string; readonly process: SandboxProcess };

/** One run of a new process. */
async function update(
  scene: SandboxScene,
  request: Partial<UpdateRequest> = {},
  settings: Partial<ServiceSettings> = {},
  process = scene.startProcess(),
): Promise<Run> {
  const application = createApplication(process.outside, { ...defaultSettings, healthWindowMs: 1000, ...settings });
  const { containers } = await scene.clock.run(() => application.update({ ...full, ...request }));
  process.connection.crash();
  return { outcome: containers[0]?.outcome ?? '', reason: containers[0]?.reason ?? '', process };
}

const marks = ({ sandbox }: SandboxScene) => Object.keys(sandbox.control.snapshot().tags).filter(isFailedVersionTag);

describe('a version that failed for its own fault', () => {
  test.each<readonly [string, Behaviour]>([
    ['ends', crashing],
    ['cannot be started', { startError: 'exec: "service": not found' }],
    ['does not become healthy', { health: { kind: 'unhealthy' } }],
  ])('(it %s) is not tried again, also after a restart of the service', async (_what, behaviour) => {
    const scene = await setScene(behaviour, { Healthcheck: { Test: ['CMD', 'true'], Interval: 1e9, Retries: 1 } });
    expect((await update(scene)).outcome).toBe('rolled_back');
    const { outcome, reason, process } = await update(scene);
    expect(outcome).toBe('skipped');
    expect(reason).toContain('failed here on ');
    expect(process.connection.calls).toEqual([]);
    expect(marks(scene)).toHaveLength(1);
  });

  test('holds back only the container in which it failed', async () => {
    const scene = await setScene();
    await update(scene);
    scene.sandbox.control.runContainer('other', { Image: 'app:1' });
    const application = createApplication(scene.startProcess().outside, defaultSettings);
    const report = await application.check({ images: [], containers: [] });
    expect(report.containers.map(({ name, status, updateAvailable }) => [name, status, updateAvailable])).toEqual([
      ['other', 'stale', true],
      ['web', 'held', true],
    ]);
  });

  test('is forgotten when the tag has moved on', async () => {
    const scene = await setScene();
    await update(scene);
    scene.registry.store.publish('app:1', { version: '3' });
    expect((await update(scene)).outcome).toBe('updated');
    expect(marks(scene)).toEqual([]);
  });

  test('is tried again when a person says so, and remembered once more', async () => {
    const scene = await setScene();
    await update(scene);
    await scene.clock.sleep(5000);
    expect((await update(scene, { retryFailed: true, containers: ['web'] })).outcome).toBe('rolled_back');
    expect((await update(scene)).outcome).toBe('skipped');
    expect(marks(scene)).toHaveLength(1);
  });

  test('is forgotten with its container', async () => {
    const scene = await setScene();
    await update(scene);
    await scene.sandbox.engine.removeContainer('web');
    await update(scene);
    expect(marks(scene)).toEqual([]);
    expect(await scene.sandbox.engine.inspectImage('app:1')).toBeDefined();
  });

  test('is seen by the recovery that resumes its health check', async () => {
    const scene = await setScene({ exitsAfterMs: 60_000, exitCode: 4 });
    const settings = { ...defaultSettings, healthWindowMs: 120_000 };
    const killed = scene.startProcess();
    const first = createApplication(killed.outside, settings);
    await scene.clock
      .run(async () => {
        const running = first.update(full).catch(() => undefined);
        await scene.clock.sleep(20_000);
        killed.connection.crash();
        await running;
      })
      .catch(() => undefined);
    const next = createApplication(scene.startProcess().outside, settings);
    const { transactions } = await scene.clock.run(() => next.recover());
    expect(transactions).toMatchObject([{ result: 'undone', reason: expect.stringContaining('exited with code 4') }]);
    expect(marks(scene)).toHaveLength(1);
  });
});

describe('a version that failed for other reasons is tried again', () => {
  test.each(['graceful', 'crash', 'power-cut'] as const)('%s of the engine during its health check', async (how) => {
    const scene = await setScene({});
    const process = scene.startProcess();
    const settings = { healthWindowMs: 60_000 };
    const [first] = await scene.clock.run(() =>
      Promise.all([
        update(scene, {}, settings, process),
        scene.clock.sleep(20_000).then(() => scene.sandbox.control.restartEngine(how, 1000)),
      ]),
    );
    expect(first?.outcome).toBe('rolled_back');
    expect(marks(scene)).toEqual([]);
    expect((await update(scene)).outcome).toBe('updated');
  });

  test('the engine refuses its start for a reason of the host', async () => {
    const scene = await setScene({});
    const connection = scene.sandbox.connect({
      faults: [{ at: ({ kind }) => kind === 'startContainer', fault: { kind: 'refuse', status: 500 } }],
    });
    expect((await update(scene, {}, {}, scene.startProcess(connection))).outcome).toBe('rolled_back');
    expect((await update(scene)).outcome).toBe('updated');
  });
});

describe('the image that remembers a failure', () => {
  test('is cleaned up like any other once it was replaced', async () => {
    const scene = await setScene();
    const old = (await scene.sandbox.engine.inspectContainer('web'))?.imageId ?? '';
    await update(scene, {}, { cleanup: true });
    expect(scene.sandbox.control.snapshot().imageIds).toContain(old);
    scene.registry.store.publish('app:1', { version: '3' });
    await update(scene, {}, { cleanup: true });
    expect(scene.sandbox.control.snapshot().imageIds).not.toContain(old);
  });

  test('stays without clean-up, also when nothing else names it', async () => {
    const scene = createSandboxScene();
    const { control, engine } = scene.sandbox;
    const { id } = control.addImage('built:1', { version: '1' });
    control.runContainer('web', { Image: 'built:1' });
    control.addImage('built:1', { version: '2', behaviour: crashing });
    expect((await update(scene, {}, { noPull: true })).outcome).toBe('rolled_back');
    control.addImage('built:1', { version: '3' });
    expect((await update(scene, {}, { noPull: true })).outcome).toBe('updated');
    expect(await engine.inspectImage(id)).toBeDefined();
    expect(marks(scene)).toHaveLength(1);
  });
});

import { describe, expect, onTestFinished, test } from 'vitest';
import { createSandboxScene, type SandboxScene } from '../../test/support/scene/sandbox-outside.ts';
import type { ServiceEvent, Schedule } from '../domain/run/event.ts';
import { defaultSettings, type ServiceSettings } from '../domain/settings/effective-settings.ts';
import type { Application } from './application.ts';
import { createApplication, type Memory } from './create-application.ts';
import type { HistoryEntry } from './events/history.ts';

const all = { images: [], containers: [] } as const;

async function follow(scene: SandboxScene, settings: Partial<ServiceSettings> = {}): Promise<Application> {
  const { outside } = scene.startProcess();
  const application = createApplication(outside, { ...defaultSettings, healthWindowMs: 1000, ...settings });
  onTestFinished(() => application.close());
  await application.follow();
  return application;
}

async function run(scene: SandboxScene, ...names: readonly string[]): Promise<void> {
  for (const name of names) {
    scene.registry.store.publish(`${name}:1`, { version: '1' });
    await scene.sandbox.engine.pullImage({ reference: `${name}:1` });
    scene.sandbox.control.runContainer(name, { Image: `${name}:1` });
  }
}

const shown = ({ inventory }: Application) =>
  Object.fromEntries(
    inventory().containers.map(({ name, staleness, updateAvailable }) => [name, [staleness, updateAvailable]]),
  );

describe('the application of a service', () => {
  test('shows in the inventory what a check found, and after an update what became of it', async () => {
    const scene = createSandboxScene();
    await run(scene, 'app', 'db');
    scene.registry.store.publish('app:1', { version: '2' });
    const application = await follow(scene);
    expect(shown(application)).toEqual({ app: [undefined, false], db: [undefined, false] });

    await application.check(all);
    expect(shown(application)).toEqual({ app: ['stale', true], db: ['fresh', false] });
    expect(application.status().updatesAvailable).toBe(1);

    const before = application.inventory().containers.find(({ name }) => name === 'app');
    const session = await application.update({ ...all, trigger: 'http' });
    await scene.clock.sleep(100);
    expect(shown(application)).toEqual({ app: ['fresh', false], db: ['fresh', false] });
    const after = application.inventory().containers.find(({ name }) => name === 'app');
    expect(after?.id).not.toBe(before?.id);
    expect(after).toMatchObject({ imageId: session.containers.find(({ name }) => name === 'app')?.newImageId });
    expect(after?.digest).toBe(after?.latestDigest);
    expect(application.status().updatesAvailable).toBe(0);
  });

  test('an update of another process with the same history is shown like its own', async () => {
    const kept: HistoryEntry[] = [];
    const history: NonNullable<Memory['history']> = {
      read: () => Promise.resolve([...kept]),
      fault: () => undefined,
      append: (entries) => {
        kept.push(...entries);
        return Promise.resolve('kept');
      },
    };
    const scene = createSandboxScene();
    await run(scene, 'app', 'db');
    const settings = { ...defaultSettings, healthWindowMs: 1000 };
    const service = createApplication(scene.startProcess().outside, settings, { history });
    onTestFinished(() => service.close());
    await service.follow();
    scene.registry.store.publish('app:1', { version: '2' });
    await service.check(all);
    const command = createApplication(scene.startProcess().outside, settings, { history });
    await command.update({ ...all, trigger: 'command' });
    await command.close();
    await scene.clock.sleep(2000);
    expect(shown(service)).toEqual({ app: ['fresh', false], db: ['fresh', false] });
    expect(service.history()).toMatchObject([{ trigger: 'command', updated: 1 }]);
    expect(service.status().lastRun?.summary).toMatchObject({ updated: 1 });
    expect(service.inventory().containers.find(({ name }) => name === 'app')?.last?.outcome.outcome).toBe('updated');
    expect(service.eventLog.since(0).map(({ kind }) => kind)).toEqual([
      'scan_started',
      'scan_completed',
      'scan_started',
      'update_completed',
      'scan_completed',
    ]);
  });

  test('a check that failed keeps what is known to be available; one that was cut off tells nothing', async () => {
    const scene = createSandboxScene();
    await run(scene, 'app');
    scene.registry.store.publish('app:1', { version: '2' });
    const application = await follow(scene);
    await application.check(all);
    scene.registry.store.misbehave('docker.io', { kind: 'denied' });
    await application.check(all);
    expect(application.inventory().containers[0]).toMatchObject({
      staleness: 'unknown',
      stale: false,
      updateAvailable: true,
      reason: expect.stringContaining('refuses access'),
    });
    const { revision } = application.inventory();
    await application.check(all, AbortSignal.abort()).catch(() => undefined);
    expect(application.inventory().revision).toBe(revision);
  });

  test('remembers runs in history, status and event log; checks in the event log only', async () => {
    const scene = createSandboxScene();
    await run(scene, 'app');
    scene.registry.store.publish('app:1', { version: '2' });
    const application = await follow(scene);
    expect(application.status()).toEqual({
      lastRun: undefined,
      nextRunAtMs: undefined,
      running: false,
      repairing: false,
      updatesAvailable: undefined,
    });
    await application.check(all);
    expect(application.history()).toEqual([]);

    let whileRunning = false;
    const { runId } = await application.update({ ...all, trigger: 'http', onBegin: () => (whileRunning = true) });
    expect(whileRunning).toBe(true);
    expect(application.history()).toMatchObject([{ runId, trigger: 'http', updated: 1, scanned: 1 }]);
    const summary = { scanned: 1, updated: 1, failed: 0, restarted: 0, skipped: 0 };
    expect(application.status()).toMatchObject({ running: false, lastRun: { summary } });
    expect(application.eventLog.since(0).map(({ kind }) => kind)).toEqual([
      'scan_started',
      'scan_completed',
      'scan_started',
      'update_started',
      'update_completed',
      'scan_completed',
    ]);
  });

  test('is running from the begin of an update to its end, whichever that is', async () => {
    const scene = createSandboxScene();
    await run(scene, 'app');
    const application = await follow(scene);
    const seen: (readonly [string, boolean])[] = [];
    application.subscribe(({ kind }) => seen.push([kind, application.status().running]));
    await application.update({ ...all, trigger: 'http' });
    scene.sandbox.control.stopEngine('crash');
    await application.update({ ...all, trigger: 'http' }).catch(() => undefined);
    expect(seen.filter(([kind]) => kind.startsWith('scan'))).toEqual([
      ['scan_started', true],
      ['scan_completed', false],
      ['scan_started', true],
      ['scan_failed', false],
    ]);
  });

  test('a date of the schedule that finds an update running is skipped, and says so', async () => {
    const scene = createSandboxScene();
    await run(scene, 'app');
    scene.registry.store.publish('app:1', { version: '2' });
    const { outside } = scene.startProcess();
    const application = createApplication(outside, { ...defaultSettings, healthWindowMs: 60_000 });
    const stop = new AbortController();
    const schedule: Schedule = { kind: 'interval', words: 'every 25s', everyMs: 25_000 };
    const ended = application.keepUpdating({ schedule, updateOnStart: true }, stop.signal);
    await scene.clock.sleep(55_000);
    expect(application.status()).toMatchObject({ running: true, nextRunAtMs: scene.clock.nowMs() + 20_000 });
    stop.abort();
    await ended;
    expect(application.eventLog.since(0).map(({ kind }) => kind)).toEqual([
      'scan_started',
      'update_started',
      'scan_skipped',
      'scan_skipped',
      'update_completed',
      'scan_completed',
    ]);
    expect(application.history()).toMatchObject([{ trigger: 'start', updated: 1 }]);
  });

  test('the caller can tell a wait that was given up from one that took too long', async () => {
    const scene = createSandboxScene();
    await run(scene, 'app');
    scene.registry.store.publish('app:1', { version: '2' });
    const application = await follow(scene, { healthWindowMs: 60_000 });
    const first = application.update({ ...all, trigger: 'http' });
    const targeted = { images: [], containers: ['app'], trigger: 'http' } as const;
    const [gone, late] = [new AbortController(), new AbortController()];
    const waiting = [application.update(targeted, gone.signal), application.update(targeted, late.signal)];
    const outcomes = Promise.allSettled(waiting);
    gone.abort();
    late.abort(new DOMException('too late', 'TimeoutError'));
    expect(await outcomes).toMatchObject([{ reason: { code: 'cancelled' } }, { reason: { code: 'timeout' } }]);
    await expect(application.update({ ...all, trigger: 'http' })).rejects.toMatchObject({ code: 'busy' });
    await first;
  });

  test('containerNames() names every container, one that an update has renamed by its own name', async () => {
    const { sandbox, registry, clock, startProcess } = createSandboxScene();
    registry.store.publish('web:1', { version: '1' });
    await sandbox.engine.pullImage({ reference: 'web:1' });
    for (const name of ['web.upkeep-old-u', 'web.upkeep-new', 'db', 'off'])
      sandbox.control.runContainer(name, { Image: 'web:1', Labels: { 'upkeep.enable': String(name !== 'off') } });
    const application = createApplication(startProcess().outside, { ...defaultSettings, names: ['nothing'] });
    const names = await clock.run(() => application.containerNames());
    expect(names.toSorted()).toEqual(['db', 'off', 'web']);
  });

  test('a full update that comes while a start still repairs waits for that; the next one is refused', async () => {
    const scene = createSandboxScene();
    await run(scene, 'app');
    scene.registry.store.publish('app:1', { version: '2' });
    const dying = scene.startProcess(
      scene.sandbox.connect({ faults: [{ at: 'startContainer', fault: { kind: 'crash', when: 'before' } }] }),
    );
    const request = { ...all, trigger: 'http' } as const;
    await scene.clock.run(() =>
      createApplication(dying.outside, defaultSettings)
        .update(request)
        .catch(() => []),
    );
    dying.connection.crash();
    const application = await follow(scene, { healthWindowMs: 1000 });
    const seen: boolean[] = [];
    const recovering = application.recover().then(() => seen.push(application.status().repairing));
    const [first, second] = [application.update(request), application.update(request)];
    await expect(second).rejects.toMatchObject({ code: 'busy' });
    while (!application.status().repairing) await scene.clock.sleep(1);
    expect(application.status()).toMatchObject({ repairing: true, running: false });
    await recovering;
    expect(seen).toEqual([false]);
    expect((await first).containers).toMatchObject([{ name: 'app', outcome: 'updated' }]);
  });

  test.each(['start', 'run'] as const)('what became of an interrupted update is announced by a %s', async (by) => {
    const scene = createSandboxScene();
    await run(scene, 'app');
    scene.registry.store.publish('app:1', { version: '2' });
    const dying = scene.startProcess(
      scene.sandbox.connect({ faults: [{ at: 'startContainer', fault: { kind: 'crash', when: 'before' } }] }),
    );
    const request = { ...all, trigger: 'schedule' } as const;
    await scene.clock.run(() =>
      createApplication(dying.outside, defaultSettings)
        .update(request)
        .catch(() => []),
    );
    dying.connection.crash();
    const application = await follow(scene);
    const settled: ServiceEvent[] = [];
    application.subscribe((event) => void (event.kind === 'earlier_updates_settled' && settled.push(event)));
    await scene.clock.run<unknown>(() => (by === 'start' ? application.recover() : application.update(request)));
    await scene.clock.run(() => application.recover());
    expect(settled).toMatchObject([{ transactions: [{ containers: ['app'], result: 'undone' }] }]);
  });

  test('the inventory is not to be believed while the engine is away, and is again once it is back', async () => {
    const scene = createSandboxScene();
    await run(scene, 'app');
    const application = await follow(scene, { includeStopped: true });
    expect(application.inventoryFailure()).toBeUndefined();
    scene.sandbox.control.stopEngine('crash');
    await scene.clock.sleep(3000);
    expect(application.inventoryFailure()).toMatchObject({ code: 'engine-unreachable' });
    scene.sandbox.control.startEngine();
    await scene.clock.sleep(10_000);
    expect(application.inventoryFailure()).toBeUndefined();
    expect(application.inventory().containers).toHaveLength(1);
  });

  test('close() ends what follow() began', async () => {
    const scene = createSandboxScene();
    const application = await follow(scene);
    await application.close();
    await scene.clock.sleep(1);
    expect(scene.clock.sleepers()).toBe(0);
  });
});

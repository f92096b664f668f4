import { describe, expect, test } from 'vitest';
import { behaviours } from '../../../sandbox/base/behaviour.ts';
import { createSandboxScene, type SandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import type { DecisionKind, DecisionRecord } from '../../domain/decision/decisions.ts';
import { ServiceError } from '../../domain/text/errors.ts';
import type { SharedRecords } from '../../domain/outside/outside.ts';
import type { UpdateRequest, Session } from '../../domain/run/session.ts';
import { defaultSettings, type ServiceSettings } from '../../domain/settings/effective-settings.ts';
import { versionKinds } from '../../domain/settings/values/versions.ts';
import type { Application, PlanRequest } from '../application.ts';
import { createApplication } from '../create-application.ts';

const full: UpdateRequest = { trigger: 'command', images: [], containers: [] };
const only = (...containers: readonly string[]): UpdateRequest => ({ ...full, containers });
const everything = { images: [], containers: [] };

/** Publishes a first release of the image, and runs a container of it. */
async function run(scene: SandboxScene, name: string, labels: Readonly<Record<string, string>> = {}): Promise<void> {
  const image = `${name}:1`;
  scene.registry.store.publish(image, { version: '1' });
  await scene.sandbox.engine.pullImage({ reference: image });
  scene.sandbox.control.runContainer(name, { Image: image, Labels: labels });
}

const release = (scene: SandboxScene, name: string, version = '2') =>
  scene.registry.store.publish(`${name}:1`, { version });

function start(
  scene: SandboxScene,
  settings: Partial<ServiceSettings> = {},
  decisions?: SharedRecords<DecisionRecord>,
) {
  const { outside, complaints } = scene.startProcess();
  const all = { ...defaultSettings, healthWindowMs: 1000, ...settings };
  return { application: createApplication(outside, all, decisions && { decisions }), complaints };
}

/** Makes a decision about the container's pending version. */
async function decide(application: Application, kind: DecisionKind, container: string, untilMs?: number) {
  const digest = application.decisions.candidateOf(container)?.digest ?? '';
  return application.decisions.take({ kind, container, digest, untilMs, by: 'a test' });
}

const outcomes = ({ containers }: Session) =>
  Object.fromEntries(containers.map(({ name, outcome }) => [name, outcome]));
const reasons = ({ containers }: Session) => Object.fromEntries(containers.map(({ name, reason }) => [name, reason]));

/** In windows of UTC; the scene begins with a Thursday, 2026-01-01. */
const at = (text: string): Partial<ServiceSettings> => {
  const parsed = versionKinds.window.parse(text);
  if (parsed === undefined) throw new Error(`no window: ${text}`);
  return { window: parsed };
};
const hourMs = 3_600_000;

/** Records in memory that several processes share. */
function sharedRecords(): SharedRecords<DecisionRecord> & { readonly all: () => readonly DecisionRecord[] } {
  let all: readonly DecisionRecord[] = [];
  return {
    all: () => all,
    read: () => Promise.resolve(all),
    fault: () => undefined,
    append: (items) => {
      all = [...all, ...items];
      return Promise.resolve('kept');
    },
  };
}

describe('approval', () => {
  test('is waited for, by the options or a label, and lets the approved version be applied', async () => {
    const scene = createSandboxScene();
    await run(scene, 'web');
    await run(scene, 'free', { 'upkeep.approve': 'false' });
    for (const name of ['web', 'free']) release(scene, name);
    const { application } = start(scene, { approve: { from: 'digest', breaking: false, unread: false } });
    const first = await application.update(full);
    expect(outcomes(first)).toEqual({ web: 'skipped', free: 'updated' });
    expect(reasons(first)['web']).toBe('Waits for your approval; release it with upkeep approve web');
    await decide(application, 'approve', 'web');
    expect(outcomes(await application.update(full))).toEqual({ web: 'updated', free: 'fresh' });
    expect(await application.decisions.list(), 'it ends with its version').toHaveLength(1);
    await application.update(full);
    expect(await application.decisions.list()).toEqual([]);
  });

  test('of one version is none of the next, and neither is a request for this container by name', async () => {
    const scene = createSandboxScene();
    await run(scene, 'web', { 'upkeep.approve': 'true' });
    release(scene, 'web');
    const { application } = start(scene);
    await application.check(everything);
    await decide(application, 'approve', 'web');
    release(scene, 'web', '3');
    expect(outcomes(await application.update({ ...only('web'), ignoreWindows: true }))).toEqual({ web: 'skipped' });
  });

  test('is refused for a version that is not what the container waits for', async () => {
    const scene = createSandboxScene();
    await run(scene, 'web', { 'upkeep.approve': 'true' });
    const { application } = start(scene);
    const seen = release(scene, 'web').digest;
    await application.check(everything);
    release(scene, 'web', '3');
    await application.check(everything);
    const order = { kind: 'approve', container: 'web', digest: seen, by: 'a test' } as const;
    expect(await application.decisions.take(order)).toMatchObject({ kind: 'conflict' });
    expect(await application.decisions.list()).toEqual([]);
  });

  test('of a label that cannot be read is waited for', async () => {
    const scene = createSandboxScene();
    await run(scene, 'web', { 'upkeep.approve': 'perhaps' });
    release(scene, 'web');
    const { application } = start(scene);
    expect(outcomes(await application.update(full))).toEqual({ web: 'skipped' });
  });

  test('that is withdrawn after the check keeps the update from beginning', async () => {
    const scene = createSandboxScene();
    await run(scene, 'web');
    await run(scene, 'slow');
    for (const name of ['web', 'slow']) release(scene, name);
    const { application } = start(scene, {
      approve: { from: 'digest', breaking: false, unread: false },
      rollingRestart: true,
    });
    await application.check(everything);
    const taken = await decide(application, 'approve', 'web');
    await decide(application, 'approve', 'slow');
    let withdrawn: Promise<unknown> | undefined;
    application.subscribe((event) => {
      if (event.kind !== 'update_started' || withdrawn !== undefined || !('id' in taken)) return;
      const other = event.container === 'web' ? 'slow' : 'web';
      withdrawn = application.decisions
        .list()
        .then((all) => application.decisions.withdraw(all.find(({ container }) => container === other)?.id ?? ''));
    });
    const session = await application.update(full);
    expect(Object.values(outcomes(session)).toSorted()).toEqual(['deferred', 'updated']);
  });

  test('is shown at once where the containers are listed', async () => {
    const scene = createSandboxScene();
    await run(scene, 'web', { 'upkeep.approve': 'true' });
    release(scene, 'web');
    const { application } = start(scene);
    await application.follow();
    await application.check(everything);
    const shown = () => application.inventory().containers[0];
    expect(shown()).toMatchObject({ staleness: 'held', hold: 'approval', stale: false });
    const taken = await decide(application, 'approve', 'web');
    expect(shown()).toMatchObject({ staleness: 'stale', stale: true });
    expect(shown()?.hold).toBeUndefined();
    if ('id' in taken) await application.decisions.withdraw(taken.id);
    expect(shown()).toMatchObject({ staleness: 'held', hold: 'approval' });
    await application.close();
  });
});

describe('a skip', () => {
  test('holds one version back, and the next one is applied', async () => {
    const scene = createSandboxScene();
    await run(scene, 'web');
    release(scene, 'web');
    const { application } = start(scene);
    await application.check(everything);
    await decide(application, 'skip', 'web');
    const session = await application.update(full);
    expect(outcomes(session)).toEqual({ web: 'skipped' });
    expect(reasons(session)['web']).toBe('Skipped by "a test"; release it with upkeep unskip web');
    release(scene, 'web', '3');
    expect(outcomes(await application.update(full))).toEqual({ web: 'updated' });
  });

  test('outlives a tag that moves back and comes again', async () => {
    const scene = createSandboxScene();
    await run(scene, 'web');
    const skipped = release(scene, 'web');
    const { application } = start(scene);
    await application.check(everything);
    await decide(application, 'skip', 'web');
    release(scene, 'web', '1');
    expect(outcomes(await application.update(full))).toEqual({ web: 'fresh' });
    expect(release(scene, 'web').digest).toBe(skipped.digest);
    expect(outcomes(await application.update(full))).toEqual({ web: 'skipped' });
  });

  test('ends when the container runs the skipped version', async () => {
    const scene = createSandboxScene();
    await run(scene, 'web');
    release(scene, 'web');
    const { application } = start(scene);
    await application.check(everything);
    await decide(application, 'skip', 'web');
    scene.sandbox.control.removeContainer('web');
    await scene.sandbox.engine.pullImage({ reference: 'web:1' });
    scene.sandbox.control.runContainer('web', { Image: 'web:1', Labels: {} });
    expect(outcomes(await application.update(full))).toEqual({ web: 'fresh' });
    expect(await application.decisions.list()).toEqual([]);
  });

  test('of a higher tag outlives a check that cannot list the tags, and applies the new digest of the own tag', async () => {
    const scene = createSandboxScene();
    await run(scene, 'web', { 'upkeep.policy': 'major' });
    scene.registry.store.publish('web:2', { version: '2' });
    const { outside } = scene.startProcess();
    let isListed = true;
    const registry = {
      ...outside.registry,
      listTags: (...asked: Parameters<typeof outside.registry.listTags>) =>
        isListed
          ? outside.registry.listTags(...asked)
          : Promise.reject(new ServiceError('registry-rate-limited', 'too many requests')),
    };
    const application = createApplication({ ...outside, registry }, { ...defaultSettings, healthWindowMs: 1000 });
    await application.check(everything);
    await decide(application, 'skip', 'web');
    release(scene, 'web', '1.1');
    isListed = false;
    expect(outcomes(await application.update(full))).toEqual({ web: 'updated' });
    isListed = true;
    expect(outcomes(await application.update(full))).toEqual({ web: 'skipped' });
  });

  test('of a higher tag in its cooldown outlives the update of the own tag', async () => {
    const scene = createSandboxScene();
    await run(scene, 'web', { 'upkeep.policy': 'major' });
    const { application } = start(scene, { cooldownMs: 48 * hourMs });
    const after24Hours = () => scene.clock.run(() => scene.clock.sleep(24 * hourMs, new AbortController().signal));
    await application.update(full);
    release(scene, 'web', '1.1');
    await application.update(full);
    await after24Hours();
    scene.registry.store.publish('web:2', { version: '2', createdAtMs: scene.clock.nowMs() });
    await application.update(full);
    await decide(application, 'skip', 'web');
    await after24Hours();
    expect(outcomes(await application.update(full))).toEqual({ web: 'updated' });
    await after24Hours();
    expect(outcomes(await application.update(full))).toEqual({ web: 'skipped' });
  });
});

describe('a snooze', () => {
  test('holds a version back until its time, which the list says', async () => {
    const scene = createSandboxScene();
    await run(scene, 'web');
    release(scene, 'web');
    const { application } = start(scene);
    const { containers } = await application.check(everything);
    expect(containers[0]?.status).toBe('stale');
    const untilMs = scene.clock.nowMs() + hourMs;
    await decide(application, 'snooze', 'web', untilMs);
    expect((await application.check(everything)).containers[0]).toMatchObject({
      status: 'held',
      hold: 'snoozed',
      eligibleAtMs: untilMs,
    });
    expect(outcomes(await application.update(full))).toEqual({ web: 'deferred' });
    scene.clock.jumpWallClock(hourMs);
    expect(outcomes(await application.update(full))).toEqual({ web: 'updated' });
  });
});

describe('a cooldown', () => {
  test('of a higher tag counts from the check that found the tag new, however old its image is', async () => {
    const scene = createSandboxScene();
    await run(scene, 'web', { 'upkeep.policy': 'major' });
    await run(scene, 'twin', { 'upkeep.policy': 'major' });
    const { application } = start(scene, { cooldownMs: 48 * hourMs });
    await application.update(full);
    const createdAtMs = scene.clock.nowMs() - 500 * hourMs;
    for (const tag of ['web:2', 'web:3', 'twin:2']) scene.registry.store.publish(tag, { version: tag, createdAtMs });
    expect(outcomes(await application.update(full))).toEqual({ web: 'deferred', twin: 'deferred' });
    await scene.clock.run(() => scene.clock.sleep(47 * hourMs, new AbortController().signal));
    expect(outcomes(await application.update(full))).toEqual({ web: 'deferred', twin: 'deferred' });
    await scene.clock.run(() => scene.clock.sleep(2 * hourMs, new AbortController().signal));
    expect(outcomes(await application.update(full))).toEqual({ web: 'updated', twin: 'updated' });
  });

  test('of a higher tag counts from its sighting, also after a check that could not read the new tag', async () => {
    const scene = createSandboxScene();
    await run(scene, 'web', { 'upkeep.policy': 'major' });
    const { outside } = scene.startProcess();
    let isReadable = true;
    const registry: typeof outside.registry = {
      ...outside.registry,
      resolve: (reference, signal) =>
        isReadable || reference.tag !== '2'
          ? outside.registry.resolve(reference, signal)
          : Promise.reject(new ServiceError('registry-rate-limited', 'too many requests')),
    };
    const settings = { ...defaultSettings, healthWindowMs: 1000, cooldownMs: 48 * hourMs };
    const application = createApplication({ ...outside, registry }, settings);
    await application.update(full);
    scene.registry.store.publish('web:2', { version: '2', createdAtMs: scene.clock.nowMs() - 500 * hourMs });
    isReadable = false;
    await application.update(full);
    isReadable = true;
    expect(outcomes(await application.update(full))).toEqual({ web: 'deferred' });
  });

  test('of a higher tag counts from its sighting, also if it appears after the update to another tag', async () => {
    const scene = createSandboxScene();
    await run(scene, 'web', { 'upkeep.policy': 'major' });
    const { application } = start(scene, { cooldownMs: 48 * hourMs });
    const createdAtMs = scene.clock.nowMs() - 500 * hourMs;
    scene.registry.store.publish('web:2', { version: '2', createdAtMs });
    expect(outcomes(await application.update(full))).toEqual({ web: 'updated' });
    scene.registry.store.publish('web:3', { version: '3', createdAtMs });
    expect(outcomes(await application.update(full))).toEqual({ web: 'deferred' });
    await scene.clock.run(() => scene.clock.sleep(49 * hourMs, new AbortController().signal));
    expect(outcomes(await application.update(full))).toEqual({ web: 'updated' });
  });

  test('of a higher tag counts from the build where the first check finds the tag', async () => {
    const scene = createSandboxScene();
    await run(scene, 'web', { 'upkeep.policy': 'major' });
    scene.registry.store.publish('web:2', { version: '2', createdAtMs: scene.clock.nowMs() - 500 * hourMs });
    const { application } = start(scene, { cooldownMs: 48 * hourMs });
    expect(outcomes(await application.update(full))).toEqual({ web: 'updated' });
  });

  test('is left aside by a check, and shown where the containers are listed; a skip comes before it', async () => {
    const scene = createSandboxScene();
    await run(scene, 'web');
    const createdAtMs = scene.clock.nowMs();
    scene.registry.store.publish('web:1', { version: '2', createdAtMs });
    const { application } = start(scene, { cooldownMs: 48 * hourMs });
    await application.follow();
    const { containers } = await application.check(everything);
    expect(containers[0]).toMatchObject({ status: 'stale' });
    expect(containers[0]?.hold).toBeUndefined();
    const shown = () => application.inventory().containers[0];
    const eligibleAtMs = createdAtMs + 48 * hourMs;
    expect(shown()).toMatchObject({ staleness: 'held', hold: 'cooldown', eligibleAtMs, stale: false });
    const taken = await decide(application, 'skip', 'web');
    expect(shown()).toMatchObject({ staleness: 'held', hold: 'skipped' });
    if ('id' in taken) await application.decisions.withdraw(taken.id);
    expect(shown()).toMatchObject({ hold: 'cooldown', eligibleAtMs });
    await application.close();
  });

  test('is not the only one: a window and an approval stay shown, too, while a plan leaves them aside', async () => {
    const scene = createSandboxScene();
    await run(scene, 'web', { 'upkeep.window': 'Sat 02:00-05:00' });
    await run(scene, 'asked', { 'upkeep.approve': 'true' });
    for (const name of ['web', 'asked']) release(scene, name);
    const { application } = start(scene);
    await application.follow();
    const { plan } = await application.plan({ ...everything, ignoreWindows: true, asApproved: true });
    expect(
      plan.transactions.flatMap(({ members }) => members.map(({ container }) => container.name)).toSorted(),
    ).toEqual(['asked', 'web']);
    const holds = application.inventory().containers.map(({ name, hold }) => [name, hold]);
    expect(Object.fromEntries(holds)).toEqual({ web: 'window', asked: 'approval' });
    await application.close();
  });
});

describe('a dry run', () => {
  test.each<[string, string, PlanRequest]>([
    ['an approval', 'approval', { ...everything, asApproved: true }],
    ['an open window', 'window', { ...everything, ignoreWindows: true }],
    ['another attempt', 'failed', { ...everything, retryFailed: true }],
  ])('that assumes %s announces verdicts without it', async (_, hold, request) => {
    const scene = createSandboxScene();
    await run(scene, 'approval', { 'upkeep.approve': 'true' });
    await run(scene, 'window', { 'upkeep.window': 'Sat 02:00-05:00' });
    await run(scene, 'failed');
    for (const name of ['approval', 'window']) release(scene, name);
    scene.registry.store.publish('failed:1', { version: '2', behaviour: behaviours.crashesAtStart });
    const { application } = start(scene);
    await application.update(only('failed'));
    const said: Record<string, string | undefined> = {};
    application.subscribe((event) => {
      if (event.kind === 'container_checked') said[event.container] = `${event.status} ${event.checked?.hold}`;
    });
    const { plan } = await application.plan(request);
    expect(plan.transactions.flatMap(({ members }) => members.map(({ container }) => container.name))).toEqual([hold]);
    expect(said).toEqual({ approval: 'held approval', window: 'held window', failed: 'held failed' });
  });

  test('that is given up announces nothing about containers without an answer', async () => {
    const scene = createSandboxScene();
    await run(scene, 'web');
    scene.registry.store.misbehave('docker.io', { kind: 'slow', ms: 60_000 });
    const { application } = start(scene);
    const said: string[] = [];
    application.subscribe((event) => event.kind === 'container_checked' && said.push(event.status));
    const closed = new AbortController();
    void scene.clock.sleep(1000).then(() => closed.abort());
    await scene.clock.run(() => application.plan(everything, closed.signal)).catch(() => undefined);
    expect(closed.signal.aborted).toBe(true);
    expect(said).toEqual([]);
  });
});

describe('a window', () => {
  test('keeps updates from beginning outside of it, unless someone asks for this one now', async () => {
    const scene = createSandboxScene();
    await run(scene, 'web');
    await run(scene, 'always', { 'upkeep.window': 'always' });
    for (const name of ['web', 'always']) release(scene, name);
    const { application } = start(scene, at('Sat 02:00-05:00'));
    const first = await application.update(full);
    expect(outcomes(first)).toEqual({ web: 'deferred', always: 'updated' });
    expect(reasons(first)['web']).toBe(
      'Its window opens at 2026-01-03T02:00Z; release it with upkeep update web --now',
    );
    expect(outcomes(await application.update(only('web')))).toEqual({ web: 'deferred' });
    expect(outcomes(await application.update({ ...only('web'), ignoreWindows: true }))).toEqual({ web: 'updated' });
  });

  test('that cannot be read never opens', async () => {
    const scene = createSandboxScene();
    await run(scene, 'web', { 'upkeep.window': 'at night' });
    release(scene, 'web');
    const { application } = start(scene);
    expect(reasons(await application.update(full))['web']).toMatch(/^Its window cannot be read: /);
  });

  test('that closes lets the update under way end, and begins no other', async () => {
    const scene = createSandboxScene();
    for (const name of ['one', 'two']) await run(scene, name);
    for (const name of ['one', 'two']) release(scene, name);
    const { application } = start(scene, { ...at('00:00-00:10'), rollingRestart: true, healthWindowMs: 11 * 60_000 });
    const session = await application.update(full);
    expect(Object.values(outcomes(session)).toSorted()).toEqual(['deferred', 'updated']);
  });

  test('wakes the schedule once when it opens, for those that wait for it', async () => {
    const scene = createSandboxScene();
    await run(scene, 'web');
    await run(scene, 'later', { 'upkeep.window': 'Sat 12:00-13:00' });
    for (const name of ['web', 'later']) release(scene, name);
    const { application } = start(scene, at('Sat 02:00-05:00'));
    const runs: string[] = [];
    application.subscribe((event) => {
      if (event.kind !== 'containers_selected') return;
      runs.push(`${new Date(scene.clock.nowMs()).toISOString().slice(0, 16)} ${event.names.toSorted().join(' ')}`);
      if (runs.length === 3) stop.abort();
    });
    const stop = new AbortController();
    const schedule = { kind: 'interval', everyMs: 30 * 24 * hourMs, words: 'every 30d' } as const;
    await application.keepUpdating({ schedule, updateOnStart: true }, stop.signal);
    expect(runs).toEqual(['2026-01-01T00:00 later web', '2026-01-03T02:00 web', '2026-01-03T12:00 later']);
  });
});

describe('decisions that are kept', () => {
  test('are those of all processes, and of the next one', async () => {
    const scene = createSandboxScene();
    await run(scene, 'web', { 'upkeep.approve': 'true' });
    release(scene, 'web');
    const records = sharedRecords();
    const [service, command] = [start(scene, {}, records), start(scene, {}, records)];
    await service.application.check(everything);
    await command.application.check(everything);
    expect(await decide(command.application, 'approve', 'web')).toMatchObject({ isKept: true });
    expect(await service.application.decisions.list()).toHaveLength(1);
    const next = start(scene, {}, records);
    expect(outcomes(await next.application.update(full))).toEqual({ web: 'updated' });
    await next.application.update(full);
    expect(records.all().map(({ kind }) => kind)).toEqual(['decided', 'ended']);
  });

  test('count until the end of the process where the disk does not take them', async () => {
    const scene = createSandboxScene();
    await run(scene, 'web', { 'upkeep.approve': 'true' });
    release(scene, 'web');
    const fullDisk: SharedRecords<DecisionRecord> = {
      read: () => Promise.resolve([]),
      fault: () => undefined,
      append: () => Promise.resolve('not-kept'),
    };
    const { application } = start(scene, {}, fullDisk);
    await application.check(everything);
    expect(await decide(application, 'approve', 'web')).toMatchObject({ isKept: false });
    expect(outcomes(await application.update(full))).toEqual({ web: 'updated' });
  });
});

describe('decisions that cannot be read', () => {
  test('hold every newer version, by all ways to update it, until they can be read', async () => {
    const scene = createSandboxScene();
    await run(scene, 'web');
    await run(scene, 'other', { 'upkeep.approve': 'true' });
    await run(scene, 'fresh');
    for (const name of ['web', 'other']) release(scene, name);
    let fault: string | undefined = 'decisions.jsonl: EACCES: permission denied';
    const { application } = start(scene, {}, { ...sharedRecords(), fault: () => fault });
    const requests = [full, { ...full, containers: ['web', 'other', 'fresh'], ignoreWindows: true, retryFailed: true }];
    for (const request of requests) {
      const session = await application.update(request);
      expect(outcomes(session)).toEqual({ web: 'skipped', other: 'skipped', fresh: 'fresh' });
      const why = 'The decisions cannot be read: decisions.jsonl: EACCES: permission denied; ';
      expect(reasons(session)).toMatchObject({
        web: expect.stringContaining(why),
        other: expect.stringContaining(why),
      });
    }
    await application.check(everything);
    await expect(decide(application, 'approve', 'other')).rejects.toThrow('Cannot read the decisions');
    await expect(application.decisions.list()).rejects.toThrow('Cannot read the decisions');
    await expect(application.decisions.withdraw('x')).rejects.toThrow('Cannot read the decisions');
    fault = undefined;
    expect(outcomes(await application.update(full))).toMatchObject({ web: 'updated', other: 'skipped' });
  });

  test('hold a version also if they become unreadable while its update is prepared', async () => {
    const scene = createSandboxScene();
    await run(scene, 'web');
    release(scene, 'web');
    let reads = 0;
    const records = sharedRecords();
    const store = {
      ...records,
      read: () => ((reads += 1), records.read()),
      fault: () => (reads > 1 ? 'decisions.jsonl: its disk does not answer' : undefined),
    };
    const { application } = start(scene, {}, store);
    const session = await application.update(full);
    expect(outcomes(session)).toEqual({ web: 'deferred' });
    expect(reasons(session)['web']).toContain('its disk does not answer');
  });
});

describe('a person who asks for a container', () => {
  const asked = (name: string): UpdateRequest => ({ ...only(name), trigger: 'http', byPerson: true });

  test.each<[string, Readonly<Record<string, string>>]>([
    ['an approval', { 'upkeep.approve': 'true' }],
    ['a cooldown', { 'upkeep.cooldown-delay': '7d' }],
    ['a window', { 'upkeep.window': 'Sat 01:00-02:00' }],
    ['monitor-only', { 'upkeep.monitor-only': 'true' }],
  ])('need not wait for %s', async (_, labels) => {
    const scene = createSandboxScene();
    await run(scene, 'app', labels);
    scene.registry.store.publish('app:1', { version: '2', createdAtMs: scene.clock.nowMs() });
    const { application } = start(scene);
    await application.check(everything);
    expect(outcomes(await application.update(only('app'))).app).not.toBe('updated');
    expect(outcomes(await application.update(asked('app')))).toEqual({ app: 'updated' });
  });

  test('has approved the version that was shown, and no later one', async () => {
    const scene = createSandboxScene();
    await run(scene, 'app', { 'upkeep.approve': 'true' });
    release(scene, 'app', '2');
    const { application } = start(scene);
    await application.check(everything);
    release(scene, 'app', '3');
    const session = await application.update(asked('app'));
    expect(reasons(session).app).toMatch(/approval/);
    // The run has shown it.
    expect(outcomes(await application.update(asked('app')))).toEqual({ app: 'updated' });
  });

  test('does not lift what another person has skipped', async () => {
    const scene = createSandboxScene();
    await run(scene, 'app');
    release(scene, 'app');
    const { application } = start(scene);
    await application.check(everything);
    await decide(application, 'skip', 'app');
    expect(reasons(await application.update(asked('app'))).app).toMatch(/skipped/i);
  });
});

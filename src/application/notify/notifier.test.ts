import { describe, expect, test } from 'vitest';
import { containerOutcome, session } from '../../../test/support/scene/fake-application.ts';
import { createFakeClock } from '../../../test/support/clock/fake-clock.ts';
import { createTestLog } from '../../../test/support/test-log.ts';
import { createTestTarget, noNotifications } from '../../../test/support/notify/notify-scene.ts';
import type { RecoveredTransaction, ServiceEvent } from '../../domain/run/event.ts';
import { type ContainerOutcome, entryKeyOf } from '../../domain/run/session.ts';
import type { Target, NotificationSettings } from '../../domain/notification/message.ts';
import type { Composer } from '../../domain/notification/run-facts.ts';
import type { Delivery } from './delivery.ts';
import { createNotifier } from './notifier.ts';

type NotifierParts = Parameters<typeof createNotifier>[0];
type MessageToQueue = Parameters<Delivery['put']>[0];

/** Lists the names of the news, and of all the rest. */
const composer: Composer = {
  start: ({ schedule }) => ({ title: 'T', text: schedule, level: 'info', lines: [] }),
  run({ containers, news, error }, least) {
    const isBad = error !== undefined || containers.some(({ outcome }) => outcome === 'failed');
    const others = containers.filter((one) => !news.has(entryKeyOf(one))).map(({ name }) => `(${name})`);
    const text = [error ?? [], ...news, ...others].flat().join(' ');
    return text === '' || (least === 'error' && !isBad)
      ? undefined
      : { title: 'T', text, level: isBad ? 'error' : 'info', lines: [] };
  },
  repairs({ transactions }) {
    const text = transactions.map(({ containers, result }) => `${result} ${containers.join('+')}`).join(', ');
    return { title: 'T', text, level: 'warn', lines: [] };
  },
};

type Scene = {
  readonly posts: readonly MessageToQueue[];
  /** `to: text`, in order. */
  readonly said: () => readonly string[];
  readonly run: (
    containers: readonly ContainerOutcome[],
    recipients?: Readonly<Record<string, readonly string[]>>,
  ) => Promise<void>;
  readonly notifier: ReturnType<typeof createNotifier>;
};

function scene(settings: Partial<NotificationSettings> = {}, parts: Partial<NotifierParts> = {}): Scene {
  const clock = createFakeClock();
  const posts: MessageToQueue[] = [];
  const found = new Map<string, number>();
  let ids = 0;
  const notifier = createNotifier({
    targets: [createTestTarget('ops'), createTestTarget('mail')],
    settings: { ...noNotifications, ...settings },
    composer,
    delivery: {
      put: (post) => void posts.push(post),
      foundAtMs: (key) => found.get(key),
      noteFound: (keys) => {
        for (const key of keys) found.set(key, clock.nowMs());
      },
    },
    dataOfRun: ({ runId }) => ({ runId }),
    labelsOfImage: () => Promise.resolve(undefined),
    clock,
    log: createTestLog(),
    newId: () => `id-${(ids += 1)}`.padEnd(12, '0'),
    ...parts,
  });
  let runs = 0;
  return {
    posts,
    notifier,
    said: () => posts.map(({ target, message }) => `${target}: ${message.text}`),
    async run(containers, recipients) {
      const runId = `run-${(runs += 1)}`;
      for (const event of eventsOf(runId, containers, recipients)) notifier.handleEvent(event);
      await notifier.flush();
      await clock.advance(60_000);
    },
  };
}

function eventsOf(runId: string, containers: readonly ContainerOutcome[], recipients = {}): readonly ServiceEvent[] {
  const run = { runId, purpose: 'update', atMs: 0 } as const;
  const counts = { scanned: 0, updated: 0, failed: 0, restarted: 0, skipped: 0 };
  return [
    { kind: 'scan_started', trigger: 'schedule', ...run },
    { kind: 'containers_selected', runId, names: containers.map(({ name }) => name), recipients },
    { kind: 'scan_completed', ...run, ...counts, session: session(containers) },
  ];
}

const updated = (name: string) => containerOutcome(name, { outcome: 'updated', newImageId: `sha256:${name}` });
const held = (name: string, newDigest = 'sha256:new') =>
  containerOutcome(name, { outcome: 'skipped', reason: 'monitored only', newDigest });

describe('the notifier', () => {
  test('tells every target of what was updated, and nobody of a run without news', async () => {
    const { run, said } = scene();
    await run([containerOutcome('db')]);
    await run([updated('web'), containerOutcome('db')]);
    expect(said()).toEqual(['ops: web (db)', 'mail: web (db)']);
  });

  test('tells of a finding once, of a newer one again, and each time where that is asked for', async () => {
    const [calm, repeating] = [scene(), scene({ repeat: true })];
    for (const { run } of [calm, repeating]) {
      await run([held('web')]);
      await run([held('web')]);
      await run([held('web', 'sha256:newer')]);
    }
    expect(calm.said()).toEqual(['ops: web', 'mail: web', 'ops: web', 'mail: web']);
    expect(repeating.posts).toHaveLength(6);
  });

  test('leaves out of a message whom a container does not want to tell', async () => {
    const { run, said } = scene();
    await run([updated('web'), updated('db'), updated('tv')], { web: ['ops'], db: [], __proto__: ['mail'] });
    expect(said()).toEqual(['ops: web tv', 'mail: tv']);
    await run([updated('db')], { db: [] });
    expect(said()).toHaveLength(2);
  });

  test('tells a service from the container of the same name', async () => {
    const { run, said } = scene({ splitByContainer: true });
    const service = { ...held('web'), kind: 'service' } as const;
    await run([held('web')]);
    await run([held('web'), service], { web: ['ops'], 'web service': ['mail'] });
    await run([held('web'), service]);
    expect(said()).toEqual(['ops: web', 'mail: web', 'mail: web service']);
  });

  test('sends one message for each container with news, if that is wanted', async () => {
    const { run, said } = scene({ splitByContainer: true });
    await run([updated('web'), containerOutcome('db'), updated('tv')]);
    expect(said()).toEqual(['ops: web', 'mail: web', 'ops: tv', 'mail: tv']);
  });

  test('keeps to the level of each target', async () => {
    const { run, said } = scene({ level: 'error', levelOf: { mail: 'info' } });
    await run([updated('web')]);
    await run([containerOutcome('db', { outcome: 'failed', reason: 'no' })]);
    expect(said()).toEqual(['mail: web', 'ops: db', 'mail: db']);
  });

  test('holds back what may wait, and never a failure', async () => {
    const { run, posts } = scene({ digest: () => 5e12 });
    await run([updated('web')]);
    await run([containerOutcome('db', { outcome: 'failed', reason: 'no' })]);
    expect(posts.filter(({ target }) => target === 'ops')).toMatchObject([
      { hold: 'digest', dueAtMs: 5e12 },
      { target: 'ops' },
    ]);
    expect(posts.at(-1)?.hold).toBeUndefined();
  });

  test('takes a message into parts only where it waits to go out with others', async () => {
    const sections = [{ heading: 'Updated', items: [] }] as const;
    const inParts: Composer = {
      ...composer,
      run: (...args) => {
        const draft = composer.run(...args);
        return draft && { ...draft, sections };
      },
    };
    const [waiting, now] = [scene({ digest: () => 5e12 }, { composer: inParts }), scene({}, { composer: inParts })];
    for (const { run } of [waiting, now]) await run([updated('web')]);
    expect(waiting.posts[0]?.message.sections).toEqual(sections);
    expect(now.posts[0]?.message).not.toHaveProperty('sections');
  });

  test('tells of a run that failed as a whole, and of a start that failed for the same reason no second time', async () => {
    const { notifier, said } = scene();
    notifier.handleEvent({ kind: 'scan_started', runId: 'r', purpose: 'update', trigger: 'start', atMs: 0 });
    notifier.handleEvent({
      kind: 'scan_failed',
      runId: 'r',
      purpose: 'update',
      error: 'internal error: away',
      atMs: 1,
    });
    notifier.failed(new Error('away'));
    await notifier.flush();
    expect(said()).toEqual(['ops: internal error: away', 'mail: internal error: away']);
    notifier.failed(new Error('gone'));
    await notifier.flush();
    expect(said()).toHaveLength(4);
  });

  test('tells of earlier updates that came to their end each time, and of those still open once', async () => {
    const watching: Target = { ...createTestTarget('hc'), wantsRunStart: true };
    const { notifier, said } = scene({}, { targets: [createTestTarget('ops'), watching] });
    const settled = (...transactions: readonly RecoveredTransaction[]) =>
      notifier.handleEvent({ kind: 'earlier_updates_settled', transactions });
    const undone: RecoveredTransaction = { containers: ['web', 'db'], result: 'undone', reason: 'interrupted' };
    const open: RecoveredTransaction = { containers: ['tv'], result: 'left', reason: 'busy for 3 s', isPending: true };
    settled(undone, open);
    settled(undone, { ...open, reason: 'busy for 7 s' });
    settled({ ...open, containers: ['kept'], looksAlike: true }, { ...open, reason: 'busy for 9 s' });
    settled({ containers: ['tv'], result: 'failed', reason: 'no space' });
    expect(said()).toEqual(['ops: undone web+db, left tv', 'ops: undone web+db', 'ops: failed tv']);
  });

  test('tells of an earlier update to those that the labels of its containers name', async () => {
    const { notifier, said } = scene();
    const finished = { result: 'finished', reason: 'interrupted' } as const;
    notifier.handleEvent({
      kind: 'earlier_updates_settled',
      transactions: [
        { ...finished, containers: ['web'], recipients: { web: ['mail'] } },
        { ...finished, containers: ['quiet'], recipients: { quiet: [] } },
        { ...finished, containers: ['app', 'db'], recipients: { app: ['ops'] } },
        { ...finished, containers: ['upkeep'], recipients: { upkeep: ['OPS', 'nobody'] } },
      ],
    });
    expect(said()).toEqual(['ops: finished app+db, finished upkeep', 'mail: finished web, finished app+db']);
    notifier.handleEvent({
      kind: 'earlier_updates_settled',
      transactions: [{ ...finished, containers: ['quiet'], recipients: { quiet: [] } }],
    });
    expect(said()).toHaveLength(2);
  });

  test('tells of a check in the style of the Watchtower family alone', async () => {
    const hear = async ({ notifier }: Scene) => {
      const runId = 'c';
      notifier.handleEvent({ kind: 'scan_started', runId, purpose: 'check', trigger: 'http', atMs: 0 });
      for (const [container, status] of [
        ['web', 'stale'],
        ['db', 'fresh'],
        ['tv', 'unknown'],
      ] as const)
        notifier.handleEvent({ kind: 'container_checked', runId, container, image: 'i', status, reason: 'r' });
      const counts = { scanned: 2, updated: 0, failed: 0, restarted: 0, skipped: 0 };
      notifier.handleEvent({ kind: 'scan_completed', runId, purpose: 'check', ...counts, session: undefined, atMs: 1 });
      await notifier.flush();
    };
    const [own, family] = [scene(), scene({ style: 'watchtower', repeat: true })];
    await hear(own);
    await hear(family);
    expect(own.posts).toEqual([]);
    expect(family.said()).toEqual(['ops: web tv', 'mail: web tv']);
  });

  test('gives services that watch runs each begin and each end, with what they are about', async () => {
    const watching: Target = { ...createTestTarget('hc'), wantsRunStart: true };
    const { run, posts } = scene({ digest: () => 5e12 }, { targets: [watching] });
    await run([containerOutcome('db')]);
    await run([containerOutcome('db', { outcome: 'failed', reason: 'no' })]);
    expect(posts.map(({ message }) => message.run)).toMatchObject([
      { kind: 'start', id: 'run-1' },
      { kind: 'success', id: 'run-1' },
      { kind: 'start', id: 'run-2' },
      { kind: 'failure', id: 'run-2' },
    ]);
    expect(posts.every(({ hold }) => hold === undefined)).toBe(true);
  });

  test('gives a signed webhook the event itself, and nobody else', async () => {
    const { run, posts } = scene(
      {},
      { targets: [createTestTarget('ops'), { ...createTestTarget('hook'), service: 'webhook' }] },
    );
    await run([updated('web')]);
    expect(posts.map(({ message }) => message.event)).toEqual([
      undefined,
      { type: 'session.completed', data: { runId: 'run-1' } },
    ]);
  });

  test('says at the start what was set up, unless that is not wanted', () => {
    const start = {
      version: '1',
      engineApiVersion: '',
      services: [],
      scope: '',
      schedule: 'Updates every 24h',
      nextRunAtMs: undefined,
      runOnce: false,
      updateOnStart: false,
      servesApi: false,
      atMs: 0,
    };
    const [told, quiet] = [scene(), scene({ startupMessage: false })];
    told.notifier.started(start);
    quiet.notifier.started(start);
    expect(told.said()).toEqual(['ops: Updates every 24h', 'mail: Updates every 24h']);
    expect(quiet.posts).toEqual([]);
  });

  test('loses no later message to a composer that fails', async () => {
    let isBroken = true;
    const log = createTestLog();
    const broken: Composer = {
      ...composer,
      run: (...args) => {
        if (isBroken) throw new Error('a bug');
        return composer.run(...args);
      },
    };
    const { run, said } = scene({}, { composer: broken, log });
    await run([updated('web')]);
    isBroken = false;
    await run([updated('db')]);
    expect(said()).toEqual(['ops: db', 'mail: db']);
    expect(log.lines).toMatchObject([{ level: 'error', fields: { runId: 'run-1' } }]);
  });
});

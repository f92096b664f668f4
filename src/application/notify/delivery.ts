import type { Message, Target, TargetStatus, SendOutcome, TargetCounts } from '../../domain/notification/message.ts';
import {
  nextAttemptAtMs,
  merge,
  nextStep,
  applyRecords,
  emptyOutbox,
  recordsOf,
  outboxBounds,
  overflowOf,
  type MessageHold,
  type OutboxRecord,
  type OutboxEntry,
  type QueueStep,
  type Outbox,
  type OutboxBounds,
  type OutboxStore,
} from '../../domain/notification/outbox.ts';
import type { Clock, Log, Outside } from '../../domain/outside/outside.ts';
import { describeError } from '../../domain/text/errors.ts';

/** Queues messages for targets, sends them one after another, and keeps them until they have arrived. */
export type Delivery = {
  /** Queues a message and returns at once. No caller waits for a service. */
  readonly put: (post: MessageToQueue) => void;
  /** When a finding was last reported; undefined: never. */
  readonly foundAtMs: (key: string) => number | undefined;
  readonly noteFound: (keys: readonly string[]) => void;
  readonly status: () => readonly TargetStatus[];
  /** Sends messages for up to 4.5 s, 3 s when the process is asked to end. The rest stays in the file, if there is one. */
  readonly close: () => Promise<void>;
};

type MessageToQueue = {
  readonly target: string;
  readonly message: Message;
  /** Unix milliseconds; undefined: now. */
  readonly dueAtMs?: number;
  readonly hold?: MessageHold;
};

export type DeliveryParts = StoredOutboxParts &
  Pick<SenderParts, 'retryMs' | 'clock' | 'log' | 'chance'> & { readonly targets: readonly Target[] } & Pick<
    Outside,
    'ending'
  >;

export async function openDelivery(parts: DeliveryParts): Promise<Delivery> {
  const { targets, clock, log, ending } = parts;
  const outbox = await openOutbox(parts);
  const counts = createDeliveryCounts();
  dropUnknownTargets();
  const senders = new Map<string, Sender>(
    targets.map((target) => [target.name, startSender({ ...parts, target, outbox, counts })]),
  );

  /** Drops messages for targets that are no longer configured. */
  function dropUnknownTargets(): void {
    const orphans = [...outbox.read().entries.values()].filter(
      (entry) => !targets.some(({ name }) => name === entry.target),
    );
    if (orphans.length === 0) return;
    outbox.change(orphans.map(({ target, message: { id } }) => ({ kind: 'end', target, id, end: 'lost' })));
    const names = [...new Set(orphans.map(({ target }) => target))];
    log.warn('Notifications are given up: their targets are no longer configured', {
      targets: names,
      messages: orphans.length,
    });
  }

  function reportLost(lost: readonly OutboxRecord[]): void {
    for (const record of lost) {
      if (record.kind !== 'end') continue;
      counts.noteLost(record.target);
      log.error(`A notification for ${record.target} is given up: too many wait`, { id: record.id });
    }
  }

  return {
    put({ target, message, dueAtMs = clock.nowMs(), hold }) {
      reportLost(outbox.change([{ kind: 'put', target, message, dueAtMs, ...(hold && { hold }) }]));
      senders.get(target)?.wake();
    },
    foundAtMs: (key) => outbox.read().found.get(key),
    noteFound: (keys) => void outbox.change(keys.map((key) => ({ kind: 'found', key, atMs: clock.nowMs() }))),
    status() {
      const entries = [...outbox.read().entries.values()];
      return targets.map((target) => ({
        name: target.name,
        service: target.service,
        shown: target.shown,
        pending: entries.filter((entry) => entry.target === target.name).length,
        ...counts.of(target.name),
      }));
    },
    async close() {
      const isDone = new AbortController();
      const all = [...senders.values()];
      const late = clock.sleep(ending?.aborted ? hurriedDrainMs : drainMs, isDone.signal).then(
        () => all.forEach((sender) => sender.stop()),
        () => undefined,
      );
      await Promise.all(all.map((sender) => sender.drain()));
      const unsent = outbox.read().entries.size;
      if (unsent > 0)
        log.warn(
          outbox.outlivesProcess
            ? 'Notifications stay in --state-dir for the next start, because they could not be sent'
            : 'Notifications that could not be sent before the end are lost; --state-dir would keep them',
          { messages: unsent },
        );
      // A disk that hangs must not delay the end.
      await Promise.race([outbox.close(), late]);
      isDone.abort();
    },
  };
}

/** Together with the other steps at the end of notifications, at most 5 s. */
const drainMs = 4500;

/** `docker stop` kills a process after 10 s, and a health check before may have taken 4 of them. */
const hurriedDrainMs = 3000;

type SenderParts = {
  readonly target: Target;
  readonly outbox: StoredOutbox;
  readonly counts: DeliveryCounts;
  /** The pause before the second attempt. */
  readonly retryMs: number;
  readonly clock: Clock;
  readonly log: Log;
  /** A random number from 0 up to 1. */
  readonly chance: () => number;
};

/** Sends the messages of one target, one after another, until it is stopped. */
type Sender = {
  /** Called when the outbox has something new. */
  readonly wake: () => void;
  /** Tries each waiting message once without delay, then ends. */
  readonly drain: () => Promise<void>;
  /** Stops at once. */
  readonly stop: () => void;
};

function startSender({ target, outbox, counts, retryMs, clock, log, chance }: SenderParts): Sender {
  const pause = createWakeableWait(clock);
  const ending = new AbortController();
  const sending = new AbortController();
  const stopped = new Promise<SendOutcome>((resolve) => {
    sending.signal.addEventListener('abort', () => resolve(unanswered), { once: true });
  });
  const loop = serve();

  async function serve(): Promise<void> {
    while (!ending.signal.aborted) {
      const step = nextStep(outbox.read(), target.name, clock.nowMs());
      if (step.kind === 'wait') await pause.wait(step.ms);
      else await take(step);
    }
  }

  /** Resolves to whether the step succeeded. */
  async function take(step: Exclude<QueueStep, { kind: 'wait' }>): Promise<boolean> {
    if (step.kind === 'send') return attempt(step.entry);
    outbox.change(merge(step.entries, clock.nowMs()));
    return true;
  }

  async function attempt(entry: OutboxEntry): Promise<boolean> {
    const { id } = entry.message;
    const which = { target: target.name, id };
    outbox.change([{ kind: 'try', ...which }]);
    await outbox.written();
    const outcome = await send(entry.message);
    outbox.change([afterAttempt(entry, outcome)]);
    return outcome.kind === 'sent';
  }

  /** A target that neither answers nor fails in its promised time counts as unreachable. */
  async function send(message: OutboxEntry['message']): Promise<SendOutcome> {
    const answered = new AbortController();
    const tooLate = clock.sleep(maxAttemptMs, answered.signal).then(
      () => unanswered,
      () => unanswered,
    );
    try {
      return await Promise.race([target.send(message, sending.signal), tooLate, stopped]);
    } catch (error) {
      log.error('A notification failed because of an internal error', { target: target.name, error });
      return { kind: 'failed', failure: 'rejected', reason: 'an internal error, which is in the log' };
    } finally {
      answered.abort();
    }
  }

  function afterAttempt(entry: OutboxEntry, outcome: SendOutcome): OutboxRecord {
    const nowMs = clock.nowMs();
    const { id, createdAtMs } = entry.message;
    const which = { target: target.name, id };
    if (outcome.kind === 'sent') {
      counts.noteSent(target.name, nowMs);
      log.debug('Notification sent', { ...which, answer: outcome.answer });
      return { kind: 'end', ...which, end: 'sent' };
    }
    const { failure, reason, retryAfterMs } = outcome;
    const attempts = entry.attempts + 1;
    const dueAtMs = nextAttemptAtMs({ failure, retryAfterMs, attempts, createdAtMs, nowMs, chance: chance() }, retryMs);
    if (dueAtMs === undefined) {
      counts.noteFailed(target.name, nowMs, reason, 'failed');
      log.error(`Cannot notify ${target.name}: ${reason}; the message is given up`, { ...which, failure, attempts });
      return { kind: 'end', ...which, end: 'failed' };
    }
    counts.noteFailed(target.name, nowMs, reason, 'retry');
    const again = { ...which, failure, attempts, nextAttemptInMs: Math.max(0, dueAtMs - nowMs) };
    log[attempts === 1 ? 'warn' : 'debug'](`Cannot notify ${target.name}: ${reason}; it is tried again`, again);
    return { kind: 'retry', ...which, attempts, dueAtMs, reason };
  }

  return {
    wake: pause.wake,
    async drain() {
      ending.abort();
      pause.wake();
      await loop;
      await sendTheRest();
    },
    stop: () => sending.abort(),
  };

  async function sendTheRest(): Promise<void> {
    const own = () => [...outbox.read().entries.values()].filter((entry) => entry.target === target.name);
    const held = own().filter(({ hold }) => hold !== undefined);
    if (!outbox.outlivesProcess) outbox.change(merge(held, clock.nowMs()));
    for (;;) {
      const next = own().find(({ hold }) => hold === undefined);
      if (sending.signal.aborted || next === undefined || !(await attempt(next))) return;
    }
  }
}

/** The longest time that a target promises to need, with a margin. */
const maxAttemptMs = 15_000;

const unanswered: SendOutcome = { kind: 'failed', failure: 'network', reason: 'there was no answer in time' };

/** A wait that other code can end. */
type WakeableWait = {
  /** Resolves at a `wake`, or after `ms`; undefined means no limit. A `wake` before a wait ends the next one. */
  readonly wait: (ms: number | undefined) => Promise<void>;
  readonly wake: () => void;
};

function createWakeableWait({ sleep }: Pick<Clock, 'sleep'>): WakeableWait {
  let isWoken = false;
  let endWait: () => void = () => undefined;
  return {
    async wait(ms) {
      if (!isWoken) {
        const woken = new AbortController();
        const atWake = new Promise<void>((resolve) => {
          endWait = () => {
            woken.abort();
            resolve();
          };
        });
        const late = ms === undefined ? atWake : sleep(Math.max(1, ms), woken.signal).catch(() => undefined);
        await Promise.race([atWake, late]);
        endWait = () => undefined;
      }
      isWoken = false;
    },
    wake() {
      isWoken = true;
      endWait();
    },
  };
}

/** The outbox in memory, and in a file if there is one. */
type StoredOutbox = {
  readonly read: () => Outbox;
  /** Changes the outbox at once; `written` waits for the file. Returns the messages that were dropped to make room. */
  readonly change: (records: readonly OutboxRecord[]) => readonly OutboxRecord[];
  /** Resolves when all changes so far are on the disk, or have failed to be written, which is logged. */
  readonly written: () => Promise<void>;
  /** Whether unsent messages survive the end of this process. */
  readonly outlivesProcess: boolean;
  readonly close: () => Promise<void>;
};

type StoredOutboxParts = {
  /** Undefined: in memory only. */
  readonly store: OutboxStore | undefined;
  /** Smaller in tests. */
  readonly bounds?: OutboxBounds;
  readonly log: Pick<Log, 'warn'>;
};

async function openOutbox({ store, bounds = outboxBounds, log }: StoredOutboxParts): Promise<StoredOutbox> {
  const loaded = (await store?.load()) ?? [];
  let outbox = applyRecords(emptyOutbox, loaded);
  let written = loaded.length;
  let writing: Promise<void> = Promise.resolve();
  let isBroken = false;

  /** After a failed write the end of the file is unknown, so the whole file is written again. */
  async function write(to: OutboxStore, records: readonly OutboxRecord[]): Promise<void> {
    const { entries, found } = outbox;
    if (isBroken || written > compactAfter + 4 * (entries.size + found.size)) {
      const fewest = recordsOf(outbox);
      await to.replace(fewest);
      written = fewest.length;
    } else {
      await to.append(records);
      written += records.length;
    }
  }

  function save(records: readonly OutboxRecord[]): void {
    if (store === undefined || records.length === 0) return;
    writing = writing
      .then(() => write(store, records))
      .then(
        () => void (isBroken = false),
        (error: unknown) => {
          if (!isBroken) log.warn('Notifications are kept in memory only for now', { error: describeError(error) });
          isBroken = true;
        },
      );
  }

  return {
    read: () => outbox,
    change(records) {
      outbox = applyRecords(outbox, records);
      const lost = overflowOf(outbox, bounds).map(({ target, message: { id } }): OutboxRecord => ({
        kind: 'end',
        target,
        id,
        end: 'lost',
      }));
      outbox = applyRecords(outbox, lost);
      save([...records, ...lost]);
      return lost;
    },
    written: () => writing,
    outlivesProcess: store !== undefined,
    close: async () => {
      await writing;
      await store?.close();
    },
  };
}

/** A record has a few hundred bytes, so the file stays below a megabyte while few messages wait. */
const compactAfter = 1000;

/** The counts of all targets, by their names. */
type DeliveryCounts = {
  readonly noteSent: (name: string, atMs: number) => void;
  readonly noteFailed: (name: string, atMs: number, reason: string, then: 'retry' | 'failed') => void;
  readonly noteLost: (name: string) => void;
  readonly of: (name: string) => TargetCounts;
};

function createDeliveryCounts(): DeliveryCounts {
  const all = new Map<string, TargetCounts>();
  const of = (name: string) => all.get(name) ?? none;
  const note = (name: string, change: Partial<TargetCounts>) => void all.set(name, { ...of(name), ...change });
  return {
    noteSent: (name, atMs) => note(name, { sent: of(name).sent + 1, lastSentAtMs: atMs, lastFailure: undefined }),
    noteFailed(name, atMs, reason, then) {
      const { retried, failed } = of(name);
      const counted = then === 'retry' ? { retried: retried + 1 } : { failed: failed + 1 };
      note(name, { ...counted, lastFailure: { atMs, reason } });
    },
    noteLost: (name) => note(name, { lost: of(name).lost + 1 }),
    of,
  };
}

const none: TargetCounts = {
  sent: 0,
  retried: 0,
  failed: 0,
  lost: 0,
  lastSentAtMs: undefined,
  lastFailure: undefined,
};

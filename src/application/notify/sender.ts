import {
  nextAttemptAtMs,
  merge,
  nextStep,
  type OutboxEntry,
  type QueueStep,
  type OutboxRecord,
} from '../../domain/notification/outbox.ts';
import type { SendOutcome, Target } from '../../domain/notification/message.ts';
import type { Clock, Log } from '../../domain/outside/outside.ts';
import type { DeliveryCounts } from './delivery-counts.ts';
import type { StoredOutbox } from './stored-outbox.ts';

export type SenderParts = {
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
export type Sender = {
  /** Called when the outbox has something new. */
  readonly wake: () => void;
  /** Tries each waiting message once without delay, then ends. */
  readonly drain: () => Promise<void>;
  /** Stops at once. */
  readonly stop: () => void;
};

export function startSender({ target, outbox, counts, retryMs, clock, log, chance }: SenderParts): Sender {
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
    const tooLate = clock.sleep(longestAttemptMs, answered.signal).then(
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
const longestAttemptMs = 15_000;

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

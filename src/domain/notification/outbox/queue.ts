import type { Outbox, OutboxEntry } from './outbox.ts';

/** The next action for a target's queue: send its first message, merge held messages, or wait. */
export type QueueStep =
  | { readonly kind: 'send'; readonly entry: OutboxEntry }
  | { readonly kind: 'merge'; readonly entries: readonly OutboxEntry[] }
  /** Undefined: until something new arrives. */
  | { readonly kind: 'wait'; readonly ms: number | undefined };

/**
 * Messages are sent in order; those on hold do not block others. The wall clock
 * may have been set, so no attempt waits longer than `longestDelayMs`.
 */
export function nextStep({ entries }: Outbox, target: string, nowMs: number): QueueStep {
  const own = [...entries.values()].filter((entry) => entry.target === target);
  const held = own.filter(({ hold }) => hold !== undefined);
  const dueHeld = held.filter(({ dueAtMs }) => dueAtMs <= nowMs || dueAtMs - nowMs > longestHoldMs);
  if (dueHeld.length > 0) return { kind: 'merge', entries: dueHeld };
  const head = own.find(({ hold }) => hold === undefined);
  const waits = held.map(({ dueAtMs }) => Math.min(recheckMs, dueAtMs - nowMs));
  if (head !== undefined) {
    const waitMs = head.dueAtMs - nowMs;
    if (waitMs <= 0 || waitMs > longestDelayMs) return { kind: 'send', entry: head };
    waits.push(waitMs);
  }
  return { kind: 'wait', ms: waits.length === 0 ? undefined : Math.min(...waits) };
}

/** A digest is daily, and quiet hours at its time end within a day. A day may have 25 hours. */
const longestHoldMs = 2 * 25 * 3_600_000;

/** The wall clock may be set, and messages on hold wait for a time of the day. */
const recheckMs = 60_000;

/** The limit of `--notifications-delay`. */
const longestDelayMs = 86_400_000;

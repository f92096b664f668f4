import type { SendFailure } from '../message.ts';

export type FailedAttempt = {
  readonly failure: SendFailure;
  /** Undefined: the service gave no time. */
  readonly retryAfterMs: number | undefined;
  /** Answered attempts, this one included. */
  readonly attempts: number;
  readonly createdAtMs: number;
  readonly nowMs: number;
  /** From 0 up to 1; spreads the attempts of many instances. */
  readonly chance: number;
};

/**
 * When to try again, in Unix milliseconds; undefined: never. The second attempt comes after `retryMs`, and this pause
 * doubles with each further one.
 */
export function nextAttemptAtMs(attempt: FailedAttempt, retryMs: number): number | undefined {
  const { failure, retryAfterMs, attempts, createdAtMs, nowMs, chance } = attempt;
  if (attempts >= mostAttempts[failure] || nowMs - createdAtMs >= giveUpAfterMs) return undefined;
  if (retryAfterMs !== undefined) return nowMs + Math.min(longestPauseMs, Math.max(0, retryAfterMs));
  const doubled = Math.min(longestPauseMs, retryMs * 2 ** Math.min(attempts - 1, 20));
  return nowMs + Math.round(doubled * (0.9 + 0.2 * chance));
}

/** The longest pause between two attempts, whatever the service asks for. After an outage, messages arrive soon. */
const longestPauseMs = 30 * 60_000;

/** An older message is given up. A service that is down over a weekend still gets its messages. */
const giveUpAfterMs = 3 * 86_400_000;

/**
 * A refusal is repeated by every attempt. A wrong token may be a temporary problem of the service. A target that is
 * gone is not tried again.
 */
const mostAttempts: Readonly<Record<SendFailure, number>> = {
  gone: 1,
  rejected: 2,
  auth: 4,
  rate: Number.POSITIVE_INFINITY,
  network: Number.POSITIVE_INFINITY,
};

import type { SendFailure } from '../message.ts';

/** The times of attempts. */
export type BackOff = {
  /** The pause before the second attempt. It doubles with each further one. */
  readonly firstMs: number;
  /** The longest pause between two attempts, whatever the service asks for. */
  readonly mostMs: number;
  /** An older message is given up. */
  readonly giveUpAfterMs: number;
};

/** A service that is down over a weekend still gets its messages. After a short outage they arrive soon. */
export const defaultBackOff: BackOff = { firstMs: 30_000, mostMs: 30 * 60_000, giveUpAfterMs: 3 * 86_400_000 };

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

/** When to try again, in Unix milliseconds; undefined: never. */
export function nextAttemptAtMs(
  attempt: FailedAttempt,
  { firstMs, mostMs, giveUpAfterMs }: BackOff,
): number | undefined {
  const { failure, retryAfterMs, attempts, createdAtMs, nowMs, chance } = attempt;
  if (attempts >= mostAttempts[failure] || nowMs - createdAtMs >= giveUpAfterMs) return undefined;
  if (retryAfterMs !== undefined) return nowMs + Math.min(mostMs, Math.max(0, retryAfterMs));
  const doubled = Math.min(mostMs, firstMs * 2 ** Math.min(attempts - 1, 20));
  return nowMs + Math.round(doubled * (0.9 + 0.2 * chance));
}

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

import type { Clock } from '../../../domain/outside/outside.ts';

/** A rate limit (429), or an outage whose end the host names (503). */
export type PauseReason = { readonly code: 'rate-limited' | 'unreachable'; readonly why: string };

/** Pauses that a host requests with its 429 and 503 answers. */
export type RequestedPauses = {
  /** Remaining time; 0 or less: requests are allowed. */
  readonly leftMs: () => number;
  /** Of the last pause. */
  readonly reason: () => PauseReason;
  /** `requestedMs` is undefined if the host named no time. */
  readonly begin: (requestedMs: number | undefined, reason: PauseReason) => void;
  /** Call it after an answer. It ends the row of pauses. */
  readonly answered: () => void;
  /** True if the host has paused requests for so long that a new request fails at once. */
  readonly areTooMany: () => boolean;
};

/**
 * Requests that are refused during a pause extend it and do not start a new one. Pauses of up to `bearableMs` are
 * summed for `areTooMany`.
 */
export function createRequestedPauses(clock: Clock, bearableMs: number): RequestedPauses {
  let pause = noPause;
  let paused = { ms: 0, untilMs: -Infinity };

  return {
    leftMs,
    reason: () => pause.reason,
    begin(requestedMs, reason) {
      const nowMs = clock.monotonicMs();
      const inRow = leftMs() > 0 ? pause.inRow : pause.inRow + 1;
      const defaultMs = Math.min(defaultPauseMs * 2 ** (inRow - 1), longestDefaultPauseMs);
      const waitMs = Math.max(requestedMs ?? defaultMs, shortestPauseMs);
      const untilMs = Math.max(pause.untilMs, nowMs + waitMs);
      const addedMs = waitMs > bearableMs ? 0 : untilMs - Math.max(pause.untilMs, nowMs);
      const isReset = nowMs - paused.untilMs > resetAfterMs;
      paused = { ms: (isReset ? 0 : paused.ms) + addedMs, untilMs };
      pause = { untilMs, inRow, reason };
    },
    answered() {
      if (leftMs() <= 0) pause = noPause;
    },
    areTooMany: () => paused.ms > longestPausedMs,
  };

  function leftMs(): number {
    return pause.untilMs - clock.monotonicMs();
  }
}

const noPause = {
  untilMs: -Infinity,
  inRow: 0,
  reason: { code: 'rate-limited', why: '' } satisfies PauseReason as PauseReason,
};

/** ghcr.io asks for pauses of microseconds. */
const shortestPauseMs = 50;

/** The pause for a 429 without a time. Doubled for each pause in a row. */
const defaultPauseMs = 1000;
const longestDefaultPauseMs = 60_000;

/** One caller has its own limit, but many callers in a row could wait longer. */
const longestPausedMs = 120_000;
const resetAfterMs = 60_000;

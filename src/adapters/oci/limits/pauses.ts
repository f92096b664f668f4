import type { Clock } from '../../../domain/outside/outside.ts';

/** Pauses that a host requests with its 429 and 503 answers. */
export type RateLimitPauses = {
  /** Not positive: requests are allowed. */
  readonly leftMs: () => number;
  /** Reason of the last pause. */
  readonly why: () => string;
  /** `askedMs` is undefined if the host named no time. */
  readonly begin: (askedMs: number | undefined, why: string) => void;
  /** Called after an answer, so that the next pause is the first in a row again. */
  readonly answered: () => void;
  /** True if the host has paused requests for so long that a new one should fail at once. */
  readonly areTooMany: () => boolean;
};

/**
 * Several requests that are refused at once count as one pause, and the longest time counts. Waits of up to
 * `bearableMs` add up.
 */
export function createRateLimitPauses(clock: Clock, bearableMs: number): RateLimitPauses {
  let pause = noPause;
  let keptAway = { ms: 0, untilMs: -Infinity };

  return {
    leftMs,
    why: () => pause.why,
    begin(askedMs, why) {
      const nowMs = clock.monotonicMs();
      const inRow = leftMs() > 0 ? pause.inRow : pause.inRow + 1;
      const unaskedMs = Math.min(unaskedPauseMs * 2 ** (inRow - 1), longestUnaskedPauseMs);
      const waitMs = Math.max(askedMs ?? unaskedMs, shortestPauseMs);
      const untilMs = Math.max(pause.untilMs, nowMs + waitMs);
      const addedMs = waitMs > bearableMs ? 0 : untilMs - Math.max(pause.untilMs, nowMs);
      const isForgiven = nowMs - keptAway.untilMs > resetAfterMs;
      keptAway = { ms: (isForgiven ? 0 : keptAway.ms) + addedMs, untilMs };
      pause = { untilMs, inRow, why: why === '' ? 'it limits requests' : `it limits requests: ${why}` };
    },
    answered() {
      if (leftMs() <= 0) pause = noPause;
    },
    areTooMany: () => keptAway.ms > longestPausedMs,
  };

  function leftMs(): number {
    return pause.untilMs - clock.monotonicMs();
  }
}

const noPause = { untilMs: -Infinity, inRow: 0, why: '' };

/** ghcr.io asks for pauses of microseconds. */
const shortestPauseMs = 50;

/** For a 429 without a time. Doubled for each one in a row. */
const unaskedPauseMs = 1000;
const longestUnaskedPauseMs = 60_000;

/** A single caller does not wait too long, but many callers in a row might. */
const longestPausedMs = 120_000;
const resetAfterMs = 60_000;

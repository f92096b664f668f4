import type { Clock } from '../../../domain/outside/outside.ts';

/** Pauses that a host requests with its 429 and 503 answers. */
export type Pauses = {
  /** Not positive: it may be asked. */
  readonly leftMs: () => number;
  /** Reason of the last pause. */
  readonly why: () => string;
  /** `askedMs`: undefined where it named no time. */
  readonly begin: (askedMs: number | undefined, why: string) => void;
  /** It has answered, so the next pause is the first in a row again. */
  readonly answered: () => void;
  /** True if the host has paused us for so long that a new request should fail at once. */
  readonly areTooMany: () => boolean;
};

/**
 * Many requests may be sent away at once: together they are one reason to wait, and the longest wait
 * counts. Waits of up to `bearableMs` add up; nobody waits for others.
 */
export function createPauses(clock: Clock, bearableMs: number): Pauses {
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
      const isForgiven = nowMs - keptAway.untilMs > forgivenAfterMs;
      keptAway = { ms: (isForgiven ? 0 : keptAway.ms) + addedMs, untilMs };
      pause = { untilMs, inRow, why: why === '' ? 'it limits requests' : `it limits requests: ${why}` };
    },
    answered() {
      if (leftMs() <= 0) pause = noPause;
    },
    areTooMany: () => keptAway.ms > longestKeptAwayMs,
  };

  function leftMs(): number {
    return pause.untilMs - clock.monotonicMs();
  }
}

const noPause = { untilMs: -Infinity, inRow: 0, why: '' };

/** ghcr.io asks for microseconds. */
const shortestPauseMs = 50;

/** Where a 429 names no time; doubled each time in a row. */
const unaskedPauseMs = 1000;
const longestUnaskedPauseMs = 60_000;

/** Of many callers none waits too long by itself; all of them one after another might. */
const longestKeptAwayMs = 120_000;
const forgivenAfterMs = 60_000;

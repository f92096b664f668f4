import type { Clock } from '../../../domain/outside/outside.ts';

/** A limit on a wait. */
export type Deadline = {
  /** Restarts the time, for a limit on silence instead of the whole exchange. */
  readonly extend: () => void;
  readonly end: () => void;
  readonly passed: () => boolean;
};

/**
 * Calls `onPassed` once when `ms` have passed since the start or the last `extend()`, unless `end()` was called before.
 */
export function startDeadline(clock: Clock, ms: number, onPassed: () => void): Deadline {
  const ended = new AbortController();
  let sinceMs = clock.monotonicMs();
  let passed = false;

  async function run(): Promise<void> {
    for (let remainingMs = ms; remainingMs > 0; remainingMs = sinceMs + ms - clock.monotonicMs()) {
      await clock.sleep(remainingMs, ended.signal);
    }
    passed = true;
    onPassed();
  }

  run().catch(ignoreEnd);
  return {
    extend: () => {
      sinceMs = clock.monotonicMs();
    },
    end: () => ended.abort(theEnd),
    passed: () => passed,
  };
}

/** Shared by all deadlines: each new error costs a stack trace. */
const theEnd = new Error('the deadline was ended');

/** Only the end of a deadline rejects its sleep. */
function ignoreEnd(): void {}

/** Time limits for answers of the engine, in milliseconds. */
export type Deadlines = {
  /** For a whole answer to a read. A list of 3,000 containers takes 0.2 s on a slow machine. */
  readonly readMs: number;
  /**
   * For create, start, rename and similar calls. A volume driver or a full disk can make them slow. A shorter limit
   * would only cause more "unknown" outcomes.
   */
  readonly changeMs: number;
  /** Time after a container's own stop timeout, for the kill and the engine's cleanup. */
  readonly stopMarginMs: number;
  /** For a removal that another client began. */
  readonly removalMs: number;
  /** Silence during a pull. The engine reports progress several times a second. */
  readonly pullSilenceMs: number;
};

export const defaultDeadlines: Deadlines = {
  readMs: 30_000,
  changeMs: 120_000,
  stopMarginMs: 15_000,
  removalMs: 60_000,
  pullSilenceMs: 600_000,
};

import type { Clock } from '../../../domain/outside/outside.ts';

/** A limit on a wait. */
export type Deadline = {
  /** Restarts the time, for a limit on silence instead of on the whole. */
  readonly extend: () => void;
  readonly end: () => void;
  readonly passed: () => boolean;
};

/**
 * Calls `onPassed` once when `ms` have passed since the start or the last `extend()`, unless the deadline was ended
 * first.
 */
export function startDeadline(clock: Clock, ms: number, onPassed: () => void): Deadline {
  const ended = new AbortController();
  let sinceMs = clock.monotonicMs();
  let passed = false;

  async function run(): Promise<void> {
    for (let leftMs = ms; leftMs > 0; leftMs = sinceMs + ms - clock.monotonicMs()) {
      await clock.sleep(leftMs, ended.signal);
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

/** One for all: each new error costs a stack trace. */
const theEnd = new Error('the deadline was ended');

/** Only the end of a deadline rejects its sleep. */
function ignoreEnd(): void {}

import type { Clock } from '../../../domain/outside/outside.ts';

/** A limit on a wait. */
export type Deadline = {
  /** Starts it anew, where the limit is on silence and not on the whole. */
  readonly extend: () => void;
  readonly end: () => void;
  readonly passed: () => boolean;
};

/** Calls `onPassed` once when `ms` have gone by since the start or the last `extend()`, unless it was ended first. */
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
    end: () => ended.abort(overAndDone),
    passed: () => passed,
  };
}

/** A reason of our own, because the default one costs an exception with its stack: a tenth of a whole call. */
const overAndDone = 'ended';

/** Ending a deadline rejects its sleep, and nothing else can. */
function ignoreEnd(): void {}

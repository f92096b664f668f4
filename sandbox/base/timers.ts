import type { Clock } from '../../src/domain/outside/outside.ts';

/** Scheduled actions, which can be cancelled. */
export type Timers = {
  /** Returns a function that cancels the action. */
  readonly in: (ms: number, act: () => void) => () => void;
  readonly callOffAll: () => void;
};

export function createTimers(clock: Clock): Timers {
  const pending = new Set<AbortController>();

  function schedule(ms: number, act: () => void): () => void {
    const abort = new AbortController();
    pending.add(abort);
    clock.sleep(ms, abort.signal).then(
      () => {
        if (pending.delete(abort)) act();
      },
      () => pending.delete(abort),
    );
    return () => {
      if (pending.delete(abort)) abort.abort();
    };
  }

  return {
    in: schedule,
    callOffAll: () => {
      for (const abort of pending) abort.abort();
      pending.clear();
    },
  };
}

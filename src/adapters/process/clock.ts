import type { Clock } from '../../domain/outside/outside.ts';

/** The machine's clock. A sleep may have any length, and an aborted one leaves no timer. */
export function createSystemClock(): Clock {
  return {
    nowMs: () => Date.now(),
    monotonicMs: () => performance.now(),
    async sleep(ms, signal) {
      const untilMs = performance.now() + ms;
      for (let leftMs = ms; leftMs > 0; leftMs = untilMs - performance.now()) {
        await timer(Math.min(leftMs, maxTimerMs), signal);
      }
      signal?.throwIfAborted();
    },
  };
}

/** Node turns a longer timer into one of 1 ms: https://nodejs.org/api/timers.html#settimeoutcallback-delay-args */
const maxTimerMs = 2 ** 31 - 1;

function timer(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timeout);
      reject(signal?.reason as Error);
    };
    const timeout = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, Math.ceil(ms));
    if (signal?.aborted) onAbort();
    else signal?.addEventListener('abort', onAbort, { once: true });
  });
}

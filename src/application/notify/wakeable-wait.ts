import type { Clock } from '../../domain/outside/outside.ts';

/** A wait that other code can end. */
type WakeableWait = {
  /** Resolves at a `wake`, or after `ms`; undefined means no limit. A `wake` before a wait ends the next one. */
  readonly wait: (ms: number | undefined) => Promise<void>;
  readonly wake: () => void;
};

export function createWakeableWait({ sleep }: Pick<Clock, 'sleep'>): WakeableWait {
  let isWoken = false;
  let endWait: () => void = () => undefined;
  return {
    async wait(ms) {
      if (!isWoken) {
        const woken = new AbortController();
        const atWake = new Promise<void>((resolve) => {
          endWait = () => {
            woken.abort();
            resolve();
          };
        });
        const late = ms === undefined ? atWake : sleep(Math.max(1, ms), woken.signal).catch(() => undefined);
        await Promise.race([atWake, late]);
        endWait = () => undefined;
      }
      isWoken = false;
    },
    wake() {
      isWoken = true;
      endWait();
    },
  };
}

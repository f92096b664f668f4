import type { Clock } from '../../domain/outside/outside.ts';

/** A wait that other code can end. */
export type Bell = {
  /** Resolves at a ring, or after `ms`; undefined means no limit. A ring without a waiter ends the next wait. */
  readonly wait: (ms: number | undefined) => Promise<void>;
  readonly ring: () => void;
};

export function createBell({ sleep }: Pick<Clock, 'sleep'>): Bell {
  let hasRung = false;
  let wake: () => void = () => undefined;
  return {
    async wait(ms) {
      if (!hasRung) {
        const rung = new AbortController();
        const heard = new Promise<void>((resolve) => {
          wake = () => {
            rung.abort();
            resolve();
          };
        });
        const late = ms === undefined ? heard : sleep(Math.max(1, ms), rung.signal).catch(() => undefined);
        await Promise.race([heard, late]);
        wake = () => undefined;
      }
      hasRung = false;
    },
    ring() {
      hasRung = true;
      wake();
    },
  };
}

import { reasonOf } from './until.ts';

/** At most so many at once; the others wait in the order in which they came. */
export type Slots = {
  readonly use: <Value>(work: () => Promise<Value>, signal?: AbortSignal) => Promise<Value>;
};

/** With `maxWaiting` in the queue already, `full` says what to throw. */
export function createSlots(size: number, maxWaiting: number, full: () => Error): Slots {
  let free = size;
  const queue = new Set<() => void>();

  return {
    async use(work, signal) {
      await enter(signal);
      try {
        return await work();
      } finally {
        leave();
      }
    },
  };

  async function enter(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    if (free > 0) {
      free -= 1;
      return;
    }
    if (queue.size >= maxWaiting) throw full();
    await new Promise<void>((resolve, reject) => {
      const begin = (): void => {
        signal?.removeEventListener('abort', abort);
        resolve();
      };
      const abort = (): void => {
        queue.delete(begin);
        reject(reasonOf(signal));
      };
      queue.add(begin);
      signal?.addEventListener('abort', abort, { once: true });
    });
  }

  /** Hands the place to the next in line, or back. */
  function leave(): void {
    const [next] = queue;
    if (next === undefined) {
      free += 1;
      return;
    }
    queue.delete(next);
    next();
  }
}

import { abortReasonOf } from './or-aborted.ts';

/** Bounds concurrent work. Others wait in the order of arrival. */
export type Slots = {
  readonly use: <Value>(work: () => Promise<Value>, signal?: AbortSignal) => Promise<Value>;
  /** Sets the bound until the next call: at least one, never more than at first. */
  readonly limit: (most: number) => void;
};

/** With `maxWaiting` requests in the queue, another one fails with the error of `full`. */
export function createSlots(size: number, maxWaiting: number, full: () => Error): Slots {
  let most = size;
  let taken = 0;
  const queue = new Set<() => void>();

  return {
    async use(work, signal) {
      signal?.throwIfAborted();
      if (taken < most) taken += 1;
      else await aPlace(signal);
      try {
        return await work();
      } finally {
        taken -= 1;
        letIn();
      }
    },
    limit(wanted) {
      most = Math.min(size, Math.max(1, wanted));
      letIn();
    },
  };

  function aPlace(signal: AbortSignal | undefined): Promise<void> {
    if (queue.size >= maxWaiting) throw full();
    return new Promise<void>((resolve, reject) => {
      const begin = (): void => {
        signal?.removeEventListener('abort', abort);
        resolve();
      };
      const abort = (): void => {
        queue.delete(begin);
        reject(abortReasonOf(signal));
      };
      queue.add(begin);
      signal?.addEventListener('abort', abort, { once: true });
    });
  }

  function letIn(): void {
    for (const next of queue) {
      if (taken >= most) return;
      taken += 1;
      queue.delete(next);
      next();
    }
  }
}

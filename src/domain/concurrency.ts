/** Limits concurrent work. Further callers wait in the order of arrival. */
type Slots = {
  readonly use: <Value>(work: () => Promise<Value>, signal?: AbortSignal) => Promise<Value>;
  /** Sets the limit until the next call: at least one, at most the initial size. */
  readonly limit: (most: number) => void;
};

/** `onWait` is called with the number of waiting callers before another one waits; it may throw. */
export function createSlots(size: number, onWait: (waiting: number) => void = () => {}): Slots {
  let most = size;
  let inUse = 0;
  const queue = new Set<() => void>();

  return {
    async use(work, signal) {
      signal?.throwIfAborted();
      if (inUse < most) inUse += 1;
      else await waitForSlot(signal);
      try {
        return await work();
      } finally {
        inUse -= 1;
        startWaiting();
      }
    },
    limit(wanted) {
      most = Math.min(size, Math.max(1, wanted));
      startWaiting();
    },
  };

  function waitForSlot(signal: AbortSignal | undefined): Promise<void> {
    onWait(queue.size);
    return new Promise<void>((resolve, reject) => {
      const start = (): void => {
        signal?.removeEventListener('abort', abort);
        resolve();
      };
      const abort = (): void => {
        queue.delete(start);
        reject(abortReasonOf(signal));
      };
      queue.add(start);
      signal?.addEventListener('abort', abort, { once: true });
    });
  }

  function startWaiting(): void {
    for (const next of queue) {
      if (inUse >= most) return;
      inUse += 1;
      queue.delete(next);
      next();
    }
  }
}

/** Waits for a promise until the signal aborts, then rejects with the signal's reason, or with the error of `why`. */
export function orAborted<Value>(
  promise: Promise<Value>,
  signal: AbortSignal | undefined,
  why: (signal: AbortSignal) => Error = abortReasonOf,
): Promise<Value> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(why(signal));
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
  });
}

/** The reason given to `abort()`. */
export function abortReasonOf(signal: AbortSignal | undefined): Error {
  return signal?.reason as Error;
}

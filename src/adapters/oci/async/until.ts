/** Waits for a promise, but not longer than the signal: then rejects with the signal's reason. */
export function until<Value>(promise: Promise<Value>, signal: AbortSignal | undefined): Promise<Value> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(reasonOf(signal));
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave, { once: true });
    promise.then(
      (value) => {
        signal.removeEventListener('abort', leave);
        resolve(value);
      },
      (error: unknown) => {
        signal.removeEventListener('abort', leave);
        reject(error);
      },
    );
  });
}

/** Whatever `abort()` was given; an error unless someone chose otherwise. */
export function reasonOf(signal: AbortSignal | undefined): Error {
  return signal?.reason as Error;
}

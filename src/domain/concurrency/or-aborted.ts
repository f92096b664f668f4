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

type Deferred<Value> = {
  readonly promise: Promise<Value>;
  readonly resolve: (value: Value) => void;
  readonly reject: (error: Error) => void;
};

/** A promise with its resolve and reject functions. An unhandled rejection is ignored. */
export function createDeferred<Value>(): Deferred<Value> {
  let [resolve, reject]: [Deferred<Value>['resolve'], Deferred<Value>['reject']] = [() => undefined, () => undefined];
  const promise = new Promise<Value>((...both) => {
    [resolve, reject] = both;
  });
  promise.catch(() => undefined);
  return { promise, resolve, reject };
}

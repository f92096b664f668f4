import { type ErrorCode, ServiceError } from '../../domain/errors.ts';

/** `timeout` if time ran out (`AbortSignal.timeout`, or a `ServiceError` with that code), else `cancelled`. */
export function stopCode(signal: AbortSignal): Extract<ErrorCode, 'timeout' | 'cancelled'> {
  const reason: unknown = signal.reason;
  if (reason instanceof ServiceError) return reason.code === 'timeout' ? 'timeout' : 'cancelled';
  return reason instanceof Error && reason.name === 'TimeoutError' ? 'timeout' : 'cancelled';
}

/** `what` is the failed action as the message words it: `check containers`. */
export function stoppedError(signal: AbortSignal, what: string): ServiceError {
  const code = stopCode(signal);
  const why = code === 'timeout' ? 'it did not end in time' : 'it was cancelled';
  return new ServiceError(code, `Cannot ${what}: ${why}`, { cause: signal.reason });
}

/** Stops waiting when the signal aborts. The work itself continues. */
export function orStopped<Result>(
  work: Promise<Result>,
  what: string,
  signal: AbortSignal | undefined,
): Promise<Result> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const stop = () => reject(stoppedError(signal, what));
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}

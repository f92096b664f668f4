import { orAborted } from '../../domain/concurrency.ts';
import { type ErrorCode, ServiceError } from '../../domain/text/errors.ts';
import type { Clock } from '../../domain/outside/outside.ts';

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
  return orAborted(work, signal, (aborted) => stoppedError(aborted, what));
}

/** Waits until the work ends, the time is over or the signal aborts. It rejects only if the work does. */
export async function waitAtMost(
  ms: number,
  work: Promise<unknown>,
  clock: Pick<Clock, 'sleep'>,
  signal: AbortSignal | undefined,
): Promise<void> {
  const ended = new AbortController();
  const either = signal === undefined ? ended.signal : AbortSignal.any([signal, ended.signal]);
  const late = clock.sleep(ms, either).catch(() => undefined);
  try {
    await Promise.race([work, late]);
  } finally {
    ended.abort();
  }
}

import { type ErrorCode, ServiceError } from '../domain/errors.ts';

/** Whether time ran out (`AbortSignal.timeout`, or a `ServiceError` that says so) or somebody wanted it to end. */
export function stopCode(signal: AbortSignal): Extract<ErrorCode, 'timeout' | 'cancelled'> {
  const reason: unknown = signal.reason;
  if (reason instanceof ServiceError) return reason.code === 'timeout' ? 'timeout' : 'cancelled';
  return reason instanceof Error && reason.name === 'TimeoutError' ? 'timeout' : 'cancelled';
}

/** `what` is what could not be done: `check containers`. */
export function stoppedError(signal: AbortSignal, what: string): ServiceError {
  const code = stopCode(signal);
  const why = code === 'timeout' ? 'it did not end in time' : 'it was cancelled';
  return new ServiceError(code, `Cannot ${what}: ${why}`, { cause: signal.reason });
}

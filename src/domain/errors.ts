import { sentence } from './text/sentence.ts';

/**
 * The closed list of causes outside our code. An error that is not a `ServiceError` is a bug: users read
 * "internal error", operators its full text.
 */
export type ErrorCode =
  | 'invalid-input'
  | 'not-found'
  | 'unconfirmed'
  | 'busy'
  | 'cancelled'
  | 'timeout'
  | 'engine-unreachable'
  | 'engine-denied'
  | 'engine-refused'
  | 'pull-failed'
  | 'registry-unreachable'
  | 'registry-denied'
  | 'registry-not-found'
  | 'registry-rate-limited'
  | 'registry-invalid'
  | 'state-unreadable'
  | 'service-unreachable'
  | 'service-denied'
  | 'service-refused'
  | 'service-invalid';

export type ServiceErrorDetails = {
  /** Remedy; a sentence without a final period. */
  readonly remedy?: string | undefined;
  /** The pause that the other side asked for, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
};

/** An expected failure: a code for machines, "Cannot <do what> to <which>: <why>" for people. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly code: ErrorCode;
  readonly remedy: string | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(code: ErrorCode, message: string, details: ServiceErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.remedy = details.remedy;
    this.retryAfterMs = details.retryAfterMs;
  }
}

/** Whether another run holds the lock, so that the work can be skipped or tried later. */
export function isBusy(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'busy';
}

/** One line for people: the message of an expected failure, "internal error" with the message for a bug. */
export function describeError(error: unknown): string {
  if (error instanceof ServiceError) return error.message;
  return error instanceof Error ? `internal error: ${error.message}` : `internal error: ${String(error)}`;
}

/** The same text with the remedy, for places with room for one text. */
export function describeWithRemedy(error: unknown): string {
  const remedy = error instanceof ServiceError ? (error.remedy ?? '') : '';
  return describeError(error) + (remedy === '' ? '' : `. ${sentence(remedy)}`);
}

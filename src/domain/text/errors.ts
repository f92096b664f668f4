import { sentence } from './words.ts';

/**
 * The closed list of causes outside our code. An error that is not a `ServiceError` is a bug: users read
 * "internal error", operators its full text.
 */
export type ErrorCode =
  | 'invalid-input'
  | 'not-found'
  | 'unconfirmed'
  | 'undecided'
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

type ServiceErrorDetails = {
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

/**
 * The meaning of error codes of connections: https://nodejs.org/api/errors.html#common-system-errors and
 * https://nodejs.org/api/tls.html#x509-certificate-error-codes
 */
export function connectionFault(code: string): string | undefined {
  return unknownAuthorityCodes.has(code) ? unknownAuthority : connectionFaults[code];
}

export const unknownAuthority = 'its certificate is signed by an unknown authority';

const unknownAuthorityCodes: ReadonlySet<string> = new Set([
  ...['DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
  ...['UNABLE_TO_GET_ISSUER_CERT', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY'],
]);

const connectionFaults: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was closed before the answer was complete',
  ETIMEDOUT: 'the connection timed out',
  EHOSTUNREACH: 'there is no route to the host',
  ENETUNREACH: 'there is no route to its network',
  ENOTFOUND: 'there is no host of that name',
  EAI_AGAIN: 'its name could not be looked up',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
};

/** The system's code of an error, such as `ENOENT`: https://nodejs.org/api/errors.html#errorcode. Empty without one. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/** The message of an error, without the call and the path that Node appends to that of a file. */
export function messageWithoutPath(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return codeOf(error) === '' ? message : message.replace(/, \w+(?: '.*)?$/s, '');
}

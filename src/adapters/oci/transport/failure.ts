import { printable } from '../../../domain/text/printable.ts';

/** A server did not answer as it should. The message has only the reason; who asked adds the object and the action. */
export class RegistryFailure extends Error {
  override readonly name = 'RegistryFailure';
  readonly code: FailureCode;
  /** The host that failed; undefined: the host of the request. */
  readonly host: string | undefined;
  readonly remedy: string | undefined;
  readonly retryAfterMs: number | undefined;
  /** True if the same request is likely to succeed soon. */
  readonly isTransient: boolean;

  constructor(code: FailureCode, why: string, details: FailureDetails = {}) {
    super(why, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.host = details.host;
    this.remedy = details.remedy;
    this.retryAfterMs = details.retryAfterMs;
    this.isTransient = details.isTransient ?? false;
  }
}

export type FailureCode = 'unreachable' | 'timeout' | 'denied' | 'not-found' | 'rate-limited' | 'invalid';

type FailureDetails = {
  readonly host?: string | undefined;
  readonly remedy?: string | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly isTransient?: boolean;
  readonly cause?: unknown;
};

/** Untrusted text for a message: at most 200 printable characters. */
export function cut(text: string): string {
  return printable(text.trim(), 200);
}

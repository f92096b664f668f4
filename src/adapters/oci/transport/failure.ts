import { ServiceError, type ErrorCode } from '../../../domain/text/errors.ts';
import { familiarReference, type ImageReference } from '../../../domain/image/image-reference.ts';
import { printable, quoted } from '../../../domain/text/printable.ts';

/** A registry's failure, without the image. `explain` adds the image for the user. */
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

export type FailureCode = Extract<ErrorCode, `registry-${string}` | 'timeout'>;

type FailureDetails = {
  readonly host?: string | undefined;
  readonly remedy?: string | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly isTransient?: boolean;
  readonly cause?: unknown;
};

/** The failure as a message: the action, the image, the host. */
export function explain(
  failure: RegistryFailure,
  doing: string,
  reference: ImageReference,
  { asked, showable }: { readonly asked: string; readonly showable: (words: string) => string },
): ServiceError {
  const { code, host = asked, message, retryAfterMs, cause } = failure;
  // The registry chooses the hosts of its tokens and blobs, so their names are untrusted text.
  const isShown = host === asked || showable(host) === host;
  const remedy = isShown ? failure.remedy : undefined;
  const where = isShown ? quoted(host) : `a host that ${quoted(asked)} named`;
  const what = `Cannot ${doing} ${quoted(familiarReference(reference), 300)} at ${where}: ${message}`;
  return new ServiceError(code, what, { remedy, retryAfterMs, cause });
}

/** Untrusted text for a message: at most 200 printable characters. */
export function cut(text: string): string {
  return printable(text.trim(), 200);
}

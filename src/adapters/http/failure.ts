import { printable } from '../../domain/text/printable.ts';
import { codeOf, connectionFault, unknownAuthority } from '../../domain/text/errors.ts';

/** A server did not answer as it should. The message has only the reason; who asked adds the object and the action. */
export class HttpFailure extends Error {
  override readonly name = 'HttpFailure';
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

type FailureCode = 'unreachable' | 'timeout' | 'denied' | 'not-found' | 'rate-limited' | 'invalid';

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

/** Translates Node's connection error into a message with a remedy. */
export function readNetworkError(error: unknown, host: string): HttpFailure {
  if (error instanceof HttpFailure) return error;
  const code = codeOf(error);
  const { why, remedy } = meaningOf(code, error);
  return new HttpFailure(isForeign(code) ? 'invalid' : 'unreachable', why, {
    host,
    remedy: remedy?.replace('HOST', host),
    isTransient: ['ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EAI_AGAIN'].includes(code),
    cause: error,
  });
}

/** True if the failure concerns TLS. Certificates may change while the service runs. */
export function isTlsError(failure: HttpFailure): boolean {
  return /CERT|SSL|TLS|EPROTO|ISSUER|SIGNATURE/.test(codeOf(failure.cause));
}

/** True if a TLS handshake failed because the server does not speak TLS. */
export function isTlsMismatch(error: unknown): boolean {
  const cause = error instanceof HttpFailure ? error.cause : error;
  return cause instanceof Error && /wrong version number|packet length too long/i.test(cause.message);
}

type Meaning = { readonly why: string; readonly remedy?: string | undefined };

function meaningOf(code: string, error: unknown): Meaning {
  const why = connectionFault(code === 'EPIPE' ? 'ECONNRESET' : code);
  if (why === unknownAuthority) return { why, remedy: trustIt };
  if (why !== undefined)
    return { why, remedy: code === 'CERT_NOT_YET_VALID' ? "check this machine's clock" : undefined };
  if (code === 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED')
    return {
      why: 'it requires a client certificate',
      remedy: 'put client.cert and client.key into /etc/docker/certs.d/HOST',
    };
  if (isForeign(code)) return { why: 'its answer is not HTTP' };
  if (isTlsMismatch(error)) return noTls;
  if (/SSL|TLS|EPROTO/.test(code)) return { why: `the TLS handshake failed (${cut(code)})` };
  return { why: `the connection failed (${cut(code === '' ? String(error) : code)})` };
}

/** The answer did not come from a registry. */
function isForeign(code: string): boolean {
  return code.startsWith('HPE_');
}

const trustIt =
  'put the certificate of its authority into /etc/docker/certs.d/HOST/ca.crt, or name it with --registry-ca';

const noTls: Meaning = {
  why: 'it does not speak TLS',
  remedy: "if it is meant to speak plain HTTP, add HOST to the engine's insecure-registries",
};

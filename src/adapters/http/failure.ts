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

/** Translates Node's connection error into a message with a remedy for a registry. */
export function readNetworkError(error: unknown, host: string): HttpFailure {
  if (error instanceof HttpFailure) return error;
  const { kind, why } = connectionFaultOf(error);
  return new HttpFailure(kind === 'not-http' ? 'invalid' : 'unreachable', why, {
    host,
    remedy: remedies[kind]?.replace('HOST', host),
    isTransient: ['ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EAI_AGAIN'].includes(codeOf(error)),
    cause: error,
  });
}

const remedies: Readonly<Record<ConnectionFault['kind'], string | undefined>> = {
  'unknown-authority':
    'put the certificate of its authority into /etc/docker/certs.d/HOST/ca.crt, or name it with --registry-ca',
  'wrong-clock': "check this machine's clock",
  'client-certificate': 'put client.cert and client.key into /etc/docker/certs.d/HOST',
  'not-http': undefined,
  'no-tls': "if it is meant to speak plain HTTP, add HOST to the engine's insecure-registries",
  other: undefined,
};

/** Why a connection failed. The words suit every server; the remedy depends on its kind and on who asked. */
export type ConnectionFault = {
  readonly kind: 'unknown-authority' | 'wrong-clock' | 'client-certificate' | 'not-http' | 'no-tls' | 'other';
  readonly why: string;
};

/** Reads an error of Node's client for HTTP. */
export function connectionFaultOf(error: unknown): ConnectionFault {
  const code = codeOf(error);
  const why = connectionFault(code === 'EPIPE' ? 'ECONNRESET' : code);
  if (why === unknownAuthority) return { kind: 'unknown-authority', why };
  if (why !== undefined) return { kind: code === 'CERT_NOT_YET_VALID' ? 'wrong-clock' : 'other', why };
  if (code === 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED')
    return { kind: 'client-certificate', why: 'it requires a client certificate' };
  if (code.startsWith('HPE_')) return { kind: 'not-http', why: 'its answer is not HTTP' };
  if (isTlsMismatch(error)) return { kind: 'no-tls', why: 'it does not speak TLS' };
  if (/SSL|TLS|EPROTO/.test(code)) return { kind: 'other', why: `the TLS handshake failed (${cut(code)})` };
  return { kind: 'other', why: `the connection failed (${cut(code === '' ? String(error) : code)})` };
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

/**
 * The pause that a field `Retry-After` requests, in milliseconds: in seconds, with a fraction from Discord, or as a
 * date; undefined without a readable one. https://www.rfc-editor.org/rfc/rfc9110.html#section-10.2.3
 */
export function readRetryAfter(field: string | undefined, nowMs: number): number | undefined {
  const text = field?.trim() ?? '';
  if (/^\d{1,12}(?:\.\d{1,9})?$/.test(text)) return Math.ceil(Number(text) * 1000);
  const dateMs = /[a-z]/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(dateMs) ? undefined : Math.max(0, dateMs - nowMs);
}

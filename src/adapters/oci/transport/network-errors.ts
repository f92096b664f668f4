import { codeOf } from '../../../domain/text/error-code.ts';
import { cut, RegistryFailure } from './failure.ts';

/** Translates Node's connection error into a message with a remedy. */
export function readNetworkError(error: unknown, host: string): RegistryFailure {
  if (error instanceof RegistryFailure) return error;
  const code = codeOf(error);
  const known = meanings[code] ?? meaningOfFamily(code, error);
  return new RegistryFailure(known.isForeign ? 'registry-invalid' : 'registry-unreachable', known.why, {
    host,
    remedy: known.remedy?.replace('HOST', host),
    isTransient: known.isTransient ?? false,
    cause: error,
  });
}

/** True if the failure concerns TLS. Certificates may change while the service runs. */
export function isTlsError(failure: RegistryFailure): boolean {
  return /CERT|SSL|TLS|EPROTO|ISSUER|SIGNATURE/.test(codeOf(failure.cause));
}

/** True if a TLS handshake failed because the server does not speak TLS. */
export function isTlsMismatch(error: unknown): boolean {
  const cause = error instanceof RegistryFailure ? error.cause : error;
  return cause instanceof Error && /wrong version number|packet length too long/i.test(cause.message);
}

type Meaning = {
  readonly why: string;
  readonly remedy?: string;
  readonly isTransient?: true;
  /** The answer did not come from a registry. */
  readonly isForeign?: true;
};

const trustIt =
  'put the certificate of its authority into /etc/docker/certs.d/HOST/ca.crt, or name it with --registry-ca';
const unknownAuthority: Meaning = { why: 'its certificate is signed by an unknown authority', remedy: trustIt };
const closed: Meaning = { why: 'the connection was closed before the answer was complete', isTransient: true };
const tooSlow: Meaning = { why: 'the connection timed out', isTransient: true };
const noTls: Meaning = {
  why: 'it does not speak TLS',
  remedy: "if it is meant to speak plain HTTP, add HOST to the engine's insecure-registries",
};

/** https://nodejs.org/api/errors.html#common-system-errors and https://nodejs.org/api/tls.html#x509-certificate-error-codes */
const meanings: Readonly<Record<string, Meaning>> = {
  ECONNREFUSED: { why: 'the connection was refused' },
  ECONNRESET: closed,
  EPIPE: closed,
  ETIMEDOUT: tooSlow,
  EHOSTUNREACH: { why: 'there is no route to the host' },
  ENETUNREACH: { why: 'there is no route to its network' },
  ENOTFOUND: { why: 'there is no host of that name' },
  EAI_AGAIN: { why: 'its name could not be looked up', isTransient: true },
  DEPTH_ZERO_SELF_SIGNED_CERT: unknownAuthority,
  SELF_SIGNED_CERT_IN_CHAIN: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownAuthority,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unknownAuthority,
  CERT_HAS_EXPIRED: { why: 'its certificate has expired' },
  CERT_NOT_YET_VALID: { why: 'its certificate is not valid yet', remedy: "check this machine's clock" },
  ERR_TLS_CERT_ALTNAME_INVALID: { why: 'its certificate is for another name' },
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: {
    why: 'it requires a client certificate',
    remedy: 'put client.cert and client.key into /etc/docker/certs.d/HOST',
  },
};

function meaningOfFamily(code: string, error: unknown): Meaning {
  if (code.startsWith('HPE_')) return { why: 'its answer is not HTTP', isForeign: true };
  if (isTlsMismatch(error)) return noTls;
  if (/SSL|TLS|EPROTO/.test(code)) return { why: `the TLS handshake failed (${cut(code)})` };
  return { why: `the connection failed (${cut(code === '' ? String(error) : code)})` };
}

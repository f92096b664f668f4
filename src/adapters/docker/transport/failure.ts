import { ServiceError, type ErrorCode } from '../../../domain/errors.ts';
import { codeOf } from '../../../domain/text/error-code.ts';
import { printable } from '../../../domain/text/printable.ts';

/**
 * A call without an answer of the engine. `sent` is false only if no byte of the request can have reached the engine;
 * the call then had no effect. `stale` is true when a kept connection was closed.
 */
export class EngineFailure extends ServiceError {
  /** The message without "Cannot reach …", for a message about another action. */
  readonly why: string;
  readonly sent: boolean;
  readonly stale: boolean;

  constructor(
    explained: Explained,
    state: { readonly host: string; readonly sent: boolean; readonly stale?: boolean; readonly cause?: unknown },
  ) {
    super(explained.code, `Cannot reach the container engine at "${state.host}": ${explained.why}`, {
      remedy: explained.remedy,
      cause: state.cause,
    });
    this.why = explained.why;
    this.sent = state.sent;
    this.stale = state.stale ?? false;
  }
}

export type Explained = { readonly code: ErrorCode; readonly why: string; readonly remedy: string };

/** The cause of a failed connection, with a remedy. */
export function explain(error: unknown): Explained {
  const code = codeOf(error);
  const errorText = printable(error instanceof Error ? error.message : String(error), 1_000);
  if (code === sshFailed) return { code: 'engine-unreachable', why: errorText, remedy: checkSsh };
  const known = explanations.find((row) => row.codes.test(code));
  if (!known) return { code: 'engine-unreachable', why: errorText, remedy: checkHost };
  return { code: known.code ?? 'engine-unreachable', why: `${known.why} (${code})`, remedy: known.remedy };
}

/** The `code` of an error whose message ends with the output of `ssh`. */
export const sshFailed = 'ERR_SSH';

const startOrMount =
  'Start the engine, mount its socket (-v /var/run/docker.sock:/var/run/docker.sock) when this runs in a container, or name another engine with --host';
const joinGroup =
  'Run as root, join the group that owns the socket (often "docker"), or mount the socket with the right owner; with userns-remap in the engine, give the container --userns host (userns_mode: host)';
const checkHost = 'Check --host (DOCKER_HOST) and that the engine runs';
const checkTls = 'Check --tlsverify and the certificates (ca.pem, cert.pem, key.pem) in --cert-path';
const omitTls = 'Leave --tlsverify out, or use the port that speaks TLS (usually 2376)';
const checkSsh = 'Make "ssh <host> docker version" work without a prompt, as the user of this process';

type Row = { readonly codes: RegExp; readonly code?: ErrorCode; readonly why: string; readonly remedy: string };

/** First match wins. Codes: https://nodejs.org/api/errors.html and https://nodejs.org/api/tls.html#x509-certificate-error-codes */
const explanations: readonly Row[] = [
  { codes: /^ENOENT$/, why: 'there is no such socket', remedy: startOrMount },
  { codes: /^ECONNREFUSED$/, why: 'nothing listens there', remedy: startOrMount },
  { codes: /^(EACCES|EPERM)$/, code: 'engine-denied', why: 'this user may not use the socket', remedy: joinGroup },
  { codes: /^(ENOTFOUND|EAI_AGAIN|EAI_NODATA)$/, why: 'the name of the host is not known', remedy: checkHost },
  { codes: /^(ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EHOSTDOWN)$/, why: 'the host does not answer', remedy: checkHost },
  { codes: /^ERR_TLS_CERT_ALTNAME_INVALID$/, why: 'its certificate is for another host', remedy: checkTls },
  { codes: /^CERT_HAS_EXPIRED$/, why: 'its certificate has expired', remedy: checkTls },
  { codes: /CERT|SIGNATURE|ISSUER/, why: 'the certificates do not fit', remedy: checkTls },
  {
    codes: /WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST|^EPROTO$/,
    why: 'it does not speak TLS there',
    remedy: omitTls,
  },
  { codes: /^ERR_(SSL|TLS|OSSL)_/, why: 'TLS failed', remedy: checkTls },
  { codes: /^HPE_/, why: 'the server there does not speak HTTP', remedy: checkHost },
  { codes: /^(ECONNRESET|EPIPE|ERR_STREAM_PREMATURE_CLOSE)$/, why: 'the connection broke off', remedy: checkHost },
];

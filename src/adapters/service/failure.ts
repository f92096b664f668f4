import { ServiceError, codeOf, connectionFault, unknownAuthority } from '../../domain/text/errors.ts';
import { formatDuration } from '../../domain/text/duration.ts';
import { printable, quoted } from '../../domain/text/printable.ts';

/** True if the same request is likely to succeed soon. */
export function isTransient(error: unknown): boolean {
  return error instanceof ServiceError && (error.code === 'service-unreachable' || error.code === 'busy');
}

/** Translates Node's connection error into a message with a remedy. */
export function connectionFailure(error: unknown, base: string): ServiceError {
  const code = codeOf(error);
  if (code.startsWith('HPE_')) return invalidAnswer(base, 'its answer is not HTTP');
  const { why, remedy } = meaningOf(code, error);
  return new ServiceError('service-unreachable', `Cannot reach the service at ${quoted(base)}: ${why}`, {
    cause: error,
    remedy: remedy ?? 'Check the address, and that the service runs with --http-api-endpoints',
  });
}

function meaningOf(code: string, error: unknown): { readonly why: string; readonly remedy?: string } {
  const why = connectionFault(code);
  if (why === unknownAuthority)
    return { why, remedy: 'Name the file of that authority in the variable NODE_EXTRA_CA_CERTS' };
  if (why !== undefined) return code === 'CERT_NOT_YET_VALID' ? { why, remedy: "Check this machine's clock" } : { why };
  if (error instanceof Error && error.cause === 'silence') return { why: 'it did not answer in time' };
  if (error instanceof Error && /wrong version number|packet length too long/i.test(error.message))
    return { why: 'it does not speak TLS', remedy: 'Write http:// where the service has no certificate' };
  return { why: `the connection failed (${printable(code === '' ? String(error) : code, 100)})` };
}

/** The error for an answer that is not from Upkeep. */
export function invalidAnswer(base: string, why: string): ServiceError {
  return new ServiceError('service-invalid', `Cannot use the answer of ${quoted(base)}: ${why}`, {
    remedy: 'Check the address: it does not look like that of an Upkeep',
  });
}

export type Refusal = {
  readonly base: string;
  /** `/v1/history` */
  readonly path: string;
  readonly status: number;
  /** The service's message; undefined if the answer is not in the API's format. */
  readonly said: string | undefined;
  readonly retryAfterMs: number | undefined;
};

/** The error for any answer but a success, with a remedy. */
export function refusal({ base, path, status, said, retryAfterMs }: Refusal): ServiceError {
  const cannot = `Cannot read ${path} of the service at ${quoted(base)}`;
  const group = path.split('/')[2] ?? '';
  // A rate limiter, of Upkeep or of a proxy, answers without a body: https://www.rfc-editor.org/rfc/rfc6585#section-4
  if (status === 429) {
    const wait = retryAfterMs === undefined ? '' : `; try again in ${formatDuration(retryAfterMs)}`;
    return new ServiceError('busy', `${cannot}: too many requests${wait}`, { retryAfterMs });
  }
  if (said === undefined && ![401, 403, 502, 503, 504].includes(status))
    return invalidAnswer(base, `${path} answers with status ${status}`);
  if (status === 401) {
    const which =
      group === 'events'
        ? "the events token (the service's --http-api-events-token)"
        : "the API token (the service's --http-api-token)";
    const remedy = `Give ${which} with --token or UPKEEP_TOKEN`;
    return new ServiceError('service-denied', `${cannot}: the token is missing or wrong`, { remedy });
  }
  if (status === 404) {
    const remedy = `Add ${group} to --http-api-endpoints of the service and start it again`;
    return new ServiceError('not-found', `${cannot}: it does not serve that`, { remedy });
  }
  if (status === 409 && said !== undefined) return new ServiceError('busy', printable(said, 300));
  const why = `status ${status}${said === undefined ? '' : `, ${printable(said, 300)}`}`;
  // A proxy also answers 502 to 504 while the service starts.
  const code = status >= 502 && status <= 504 ? 'service-unreachable' : 'service-refused';
  return new ServiceError(code, `${cannot}: ${why}`, { retryAfterMs });
}

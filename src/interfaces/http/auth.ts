import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Log } from '../../domain/outside.ts';
import { HttpError } from './errors.ts';
import type { TokenSource } from '../../domain/http-settings.ts';
import { watchFiles } from './watched-file.ts';

/** Throws 401 unless the request carries the credentials that a route asks for. */
export type Authenticate = (request: IncomingMessage, query: Readonly<Record<string, unknown>>) => void;

export type TokenParts = {
  readonly source: TokenSource;
  /** Whether the token may also come as `access_token`, for an `EventSource`, which cannot set headers. */
  readonly inQuery: boolean;
  readonly log: Log;
};

/**
 * Compares in constant time, over hashes, so that neither the time nor the length of a token can be
 * told. `Bearer` may be missing, because documentation pages send the bare value.
 */
export function createAuthentication({ source, inQuery, log }: TokenParts): Authenticate {
  const expected = readToken(source, log);
  return ({ headers: { authorization } }, query) => {
    const token = expected();
    // Headers come as one character for each byte.
    const given = authorization === undefined ? undefined : sha256(Buffer.from(bearerOf(authorization), 'latin1'));
    if (given !== undefined && timingSafeEqual(given, token)) return;
    const { access_token: inUrl } = query;
    if (inQuery && typeof inUrl === 'string' && timingSafeEqual(sha256(Buffer.from(inUrl)), token)) return;
    throw new HttpError(401, 'invalid or missing authentication token', { 'WWW-Authenticate': 'Bearer' });
  };
}

function readToken(source: TokenSource, log: Log): () => Buffer {
  if (source.kind === 'file') return watchFiles([source.path], { read: ([text = '']) => hashOfToken(text), log });
  const known = hashOfToken(source.value);
  return () => known;
}

function hashOfToken(text: string): Buffer {
  const token = text.trim();
  if (token === '') throw new Error('the file is empty');
  return sha256(Buffer.from(token));
}

function sha256(bytes: Buffer): Buffer {
  return hash('sha256', bytes, 'buffer');
}

/** https://www.rfc-editor.org/rfc/rfc6750#section-2.1 */
function bearerOf(authorization: string): string {
  return authorization.replace(/^bearer +/i, '').trim();
}

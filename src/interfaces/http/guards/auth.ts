import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Log } from '../../../domain/outside/outside.ts';
import { HttpError } from '../replies/errors.ts';
import type { TokenSource } from '../../../domain/settings/http-settings.ts';
import type { RawQuery } from '../requests/query.ts';
import { watchFiles } from './watched-file.ts';

/** Throws 401 unless the request carries the credentials that a route asks for. */
export type Authenticate = (request: IncomingMessage, query: RawQuery) => void;

export type TokenParts = {
  readonly source: TokenSource;
  /** Whether the token may also come as `access_token`, for an `EventSource`, which cannot set headers. */
  readonly inQuery: boolean;
  readonly log: Log;
};

/** Compares in constant time. `Bearer` may be missing, because documentation pages send the bare value. */
export function createAuthentication({ source, inQuery, log }: TokenParts): Authenticate {
  const expected = readToken(source, log);
  return ({ headers: { authorization } }, query) => {
    const isToken = expected();
    // Headers come as one character for each byte.
    if (authorization !== undefined && isToken(bearerOf(authorization), 'latin1')) return;
    const { access_token: inUrl } = query;
    if (inQuery && typeof inUrl === 'string' && isToken(inUrl, 'utf8')) return;
    throw new HttpError(401, 'invalid or missing authentication token', { 'WWW-Authenticate': 'Bearer' });
  };
}

function readToken(source: TokenSource, log: Log): () => TokenTest {
  if (source.kind === 'file') return watchFiles([source.path], { read: ([text = '']) => createTokenTest(text), log });
  const known = createTokenTest(source.value);
  return () => known;
}

type TokenTest = (given: string, encoding: 'latin1' | 'utf8') => boolean;

/** Takes as long for any token that is given, right or wrong: both are compared at a length that tells nothing. */
function createTokenTest(text: string): TokenTest {
  const token = Buffer.from(text.trim());
  if (token.length === 0) throw new Error('the file is empty');
  const expected = Buffer.alloc(Math.max(shortestRoom, token.length + 1));
  const seen = Buffer.alloc(expected.length);
  token.copy(expected);
  let dirty = 0;
  return (given, encoding) => {
    const length = seen.write(given, encoding);
    if (length < dirty) seen.fill(0, length, dirty);
    dirty = length;
    return timingSafeEqual(seen, expected) && length === token.length;
  };
}

/** Bytes; longer than any token in use. */
const shortestRoom = 256;

/** https://www.rfc-editor.org/rfc/rfc6750#section-2.1 */
function bearerOf(authorization: string): string {
  return authorization.replace(/^bearer +/i, '').trim();
}

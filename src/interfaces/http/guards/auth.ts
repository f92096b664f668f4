import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Log } from '../../../domain/outside/outside.ts';
import { HttpError } from '../replies/errors.ts';
import type { TokenSource } from '../../../domain/settings/http-settings.ts';
import { type NamedToken, readTokens } from '../../../domain/settings/named-tokens.ts';
import type { RawQuery } from '../requests/query.ts';
import { watchFiles } from './watched-file.ts';

/** Returns the name of the token, if it has one. Throws 401 unless the request has the required credentials. */
export type Authenticate = (request: IncomingMessage, query: RawQuery) => string | undefined;

/**
 * Compares in constant time. `Bearer` is optional, because documentation pages send the bare value. A request whose
 * `Authorization` is of another scheme, which is for its proxy, or absent may have the token in `X-Upkeep-Token`. With
 * `inQuery` the token may also be sent as `access_token`, for an `EventSource`, which cannot set headers.
 */
export function createAuthentication(tokens: KnownTokens, { inQuery }: { readonly inQuery: boolean }): Authenticate {
  return ({ headers: { authorization = '', 'x-upkeep-token': second } }, query) => {
    const find = tokens();
    // Node decodes headers with one character for each byte.
    const inHeader = authorization === '' ? undefined : find(bearerOf(authorization), 'latin1');
    if (inHeader !== undefined) return inHeader.name;
    const isForProxy = authorization === '' || otherScheme.test(authorization);
    const inSecond = isForProxy && typeof second === 'string' ? find(second.trim(), 'latin1') : undefined;
    if (inSecond !== undefined) return inSecond.name;
    const { access_token: inUrl } = query;
    const found = inQuery && typeof inUrl === 'string' ? find(inUrl, 'utf8') : undefined;
    if (found !== undefined) return found.name;
    throw new HttpError(401, 'invalid or missing authentication token', { 'WWW-Authenticate': 'Bearer' });
  };
}

/** Whether a request has a token, right or wrong, so that its cookie does not count. */
export function hasToken({ headers }: IncomingMessage, query: RawQuery): boolean {
  const { authorization = '', 'x-upkeep-token': second } = headers;
  return (
    (authorization !== '' && !otherScheme.test(authorization)) ||
    second !== undefined ||
    query['access_token'] !== undefined
  );
}

/** The tokens in effect at the moment of a request. */
export type KnownTokens = () => FindToken;

/** A token file that becomes unusable lets nobody in, so that a withdrawn token is not valid for longer. */
export function watchTokens(source: TokenSource, log: Log): KnownTokens {
  if (source.kind === 'file')
    return watchFiles([source.path], {
      read: ([text = '']) => createFindToken(tokensIn(text)),
      log,
      instead: {
        content: Object.assign(() => undefined, { known: [] }),
        message: 'The token file cannot be used: every request with a token is refused until it is corrected',
      },
    });
  const known = createFindToken([{ name: undefined, token: source.value.trim() }]);
  return () => known;
}

function tokensIn(text: string): readonly NamedToken[] {
  const read = readTokens(text);
  if (read.kind === 'refused') throw new Error(read.why);
  return read.tokens;
}

type FindToken = ((given: string, encoding: 'latin1' | 'utf8') => NamedToken | undefined) & {
  readonly known: readonly NamedToken[];
};

/** Compares with every token, so that the time does not reveal which one matches. */
function createFindToken(tokens: readonly NamedToken[]): FindToken {
  const tests = tokens.map((named) => ({ named, matches: createTokenTest(named.token) }));
  const find = (given: string, encoding: 'latin1' | 'utf8') =>
    tests.filter(({ matches }) => matches(given, encoding))[0]?.named;
  return Object.assign(find, { known: tokens });
}

type TokenTest = (given: string, encoding: 'latin1' | 'utf8') => boolean;

/** Takes the same time for every given token: both are compared at a fixed length. */
function createTokenTest(text: string): TokenTest {
  const token = Buffer.from(text);
  if (token.length === 0) throw new Error('an empty token');
  const expected = Buffer.alloc(Math.max(leastComparedBytes, token.length + 1));
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

/** In bytes; longer than any token in use. */
const leastComparedBytes = 256;

/** Credentials for somebody else, such as `Basic YW5uYTo=`: https://www.rfc-editor.org/rfc/rfc9110#section-11.4 */
const otherScheme = /^(?!bearer )[\w!#$%&'*+.^`|~-]+ +\S/i;

/** https://www.rfc-editor.org/rfc/rfc6750#section-2.1 */
function bearerOf(authorization: string): string {
  return authorization.replace(/^bearer +/i, '').trim();
}

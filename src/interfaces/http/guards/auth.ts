import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Log } from '../../../domain/outside/outside.ts';
import { HttpError } from '../replies/errors.ts';
import { readTokens, revokedIn, type TokenSource, type NamedToken } from '../../../domain/settings/http-settings.ts';
import type { SessionStorage } from '../service/parts.ts';
import { bufferedBytes, type RawQuery } from '../requests/request.ts';
import { readFileSync, statSync, type Stats } from 'node:fs';
import { describeError } from '../../../domain/text/errors.ts';

/** Returns the token; undefined where none is needed. Throws 401 unless the request has the required credentials. */
export type Authenticate = (request: IncomingMessage, query: RawQuery) => NamedToken | undefined;

/**
 * Compares in constant time. `Bearer` is optional, because documentation pages send the bare value. A request whose
 * `Authorization` is of another scheme, which is for its proxy, or absent may have the token in `X-Upkeep-Token`. With
 * `inQuery` the token may also be sent in that parameter, for clients that cannot set headers; with `asPassword` also
 * as the password of basic auth, of any user. A browser saves a password and sends it by itself, also for the page of
 * somebody else, so a changing request with one throws 403 where `isForeign` says that it is of such a page.
 */
export function createAuthentication(
  tokens: KnownTokens,
  { inQuery, asPassword = false, isForeign = () => false }: OtherWays = {},
): Authenticate {
  return (request, query) => {
    const { authorization = '', 'x-upkeep-token': second } = request.headers;
    const find = tokens();
    // Node decodes headers with one character for each byte.
    const inHeader = authorization === '' ? undefined : find(bearerOf(authorization), 'latin1');
    if (inHeader !== undefined) return inHeader;
    const password = asPassword ? passwordOf(authorization) : undefined;
    const inPassword = password === undefined ? undefined : find(password, 'latin1');
    if (inPassword !== undefined) {
      if (isChanging(request) && isForeign(request)) throw new HttpError(403, foreignPassword);
      return inPassword;
    }
    const isForProxy = authorization === '' || otherScheme.test(authorization);
    const inSecond = isForProxy && typeof second === 'string' ? find(second.trim(), 'latin1') : undefined;
    if (inSecond !== undefined) return inSecond;
    const inUrl = inQuery && query[inQuery];
    const found = typeof inUrl === 'string' ? find(inUrl, 'utf8') : undefined;
    if (found !== undefined) return found;
    throw new HttpError(401, 'invalid or missing authentication token', { 'WWW-Authenticate': 'Bearer' });
  };
}

type OtherWays = {
  readonly inQuery?: 'access_token' | 'token';
  readonly asPassword?: boolean;
  readonly isForeign?: (request: IncomingMessage) => boolean;
};

function isChanging({ method }: IncomingMessage): boolean {
  return method !== 'GET' && method !== 'HEAD';
}

const foreignPassword =
  'this request is of a page elsewhere, which may not change anything with a saved password: send the token as Authorization: Bearer TOKEN, or list the origin of the page in --http-api-cors-origins';

/** https://www.rfc-editor.org/rfc/rfc7617#section-2 */
function passwordOf(authorization: string): string | undefined {
  const [, encoded] = /^basic +([\w+/=-]{1,4096})$/i.exec(authorization) ?? [];
  if (encoded === undefined) return undefined;
  const decoded = Buffer.from(encoded, 'base64').toString('latin1');
  return decoded.includes(':') ? decoded.slice(decoded.indexOf(':') + 1) : undefined;
}

/**
 * The proof that a registry sent a webhook: the secret itself, as a token, in the parameter `token` of the URL or in the
 * header of the registry, or a signature of the body with it. A signature is as good as the body, so it is computed for
 * every known secret. Call it when the body has been read.
 */
export function createWebhookAuthentication(secrets: KnownTokens): Authenticate {
  const asToken = createAuthentication(secrets, { inQuery: 'token', asPassword: true });
  return (request, query) => {
    const find = secrets();
    for (const header of secretHeaders) {
      const given = request.headers[header];
      const found = typeof given === 'string' ? find(given.trim(), 'latin1') : undefined;
      if (found !== undefined) return found;
    }
    for (const [header, { prefix = '', hash }] of Object.entries(signatureHeaders)) {
      const given = request.headers[header];
      if (typeof given !== 'string' || !given.startsWith(prefix)) continue;
      const body = bufferedBytes(request);
      const signed = find.known.find(({ token }) => isSignature(given.slice(prefix.length), { hash, token, body }));
      if (signed !== undefined) return signed;
    }
    return asToken(request, query);
  };
}

/** GitLab and Artifactory send the secret as it is. */
const secretHeaders = ['x-gitlab-token', 'x-jfrog-event-auth'] as const;

/**
 * Hexadecimal HMACs of the body, by header. GitHub:
 * https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries. Nexus has SHA-1 only, whose HMAC
 * nobody has forged.
 */
const signatureHeaders: Readonly<Record<string, { readonly prefix?: string; readonly hash: 'sha1' | 'sha256' }>> = {
  'x-hub-signature-256': { prefix: 'sha256=', hash: 'sha256' },
  'x-forgejo-signature': { hash: 'sha256' },
  'x-gitea-signature': { hash: 'sha256' },
  'x-jfrog-event-auth': { hash: 'sha256' },
  'x-nexus-webhook-signature': { hash: 'sha1' },
};

function isSignature(
  given: string,
  { hash, token, body }: { readonly hash: string; readonly token: string; readonly body: Buffer },
): boolean {
  const expected = createHmac(hash, token).update(body).digest();
  const sent = Buffer.from(given.trim(), 'hex');
  return sent.length === expected.length && timingSafeEqual(sent, expected);
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

/** Tokens that a person has revoked, although their file may still have them. */
export type Revocations = {
  /** The same tokens without the revoked ones. */
  readonly apply: (known: KnownTokens) => KnownTokens;
  readonly revoke: (tokens: readonly NamedToken[]) => Promise<'kept' | 'not-kept'>;
};

/** The store has only hashes of the tokens. Without one, a revocation ends with the process. */
export function createRevocations(kept: SessionStorage['kept']): Revocations {
  const revoked = new Set(revokedIn(kept?.changes ?? []));
  return {
    apply(known) {
      let made: { readonly from: FindToken; readonly count: number; readonly find: FindToken } | undefined;
      return () => {
        const from = known();
        if (revoked.size === 0) return from;
        if (made?.from !== from || made.count !== revoked.size) {
          const valid = from.known.filter(({ token }) => !revoked.has(hashOf(token)));
          made = { from, count: revoked.size, find: createFindToken(valid) };
        }
        return made.find;
      };
    },
    async revoke(tokens) {
      const changes = tokens.map(({ token }) => ({ kind: 'revoked', token: hashOf(token) }) as const);
      for (const { token } of changes) revoked.add(token);
      return (await kept?.store.append(changes)) ?? 'not-kept';
    },
  };
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
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

/**
 * Credentials for someone else, such as `Basic YW5uYTo=`: https://www.rfc-editor.org/rfc/rfc9110#section-11.4. A sign-on
 * may pass its own id token on as `Bearer` (oauth2-proxy's `--pass-authorization-header`), which is a JSON Web Token:
 * https://www.rfc-editor.org/rfc/rfc7519#section-3.1
 */
const otherScheme = /^(?!bearer )[\w!#$%&'*+.^`|~-]+ +\S|^bearer +eyJ[\w-]*\.eyJ[\w-]*\.[\w-]*$/i;

/** https://www.rfc-editor.org/rfc/rfc6750#section-2.1 */
function bearerOf(authorization: string): string {
  return authorization.replace(/^bearer +/i, '').trim();
}

/**
 * Content of one or more files, read again when one of them changes. Each call compares the files, which
 * costs microseconds, so a rotated secret applies from the next request. While the new content is unusable,
 * `instead` is in effect, with an error line at its begin, or the last good content with warnings.
 * Throws when the first reading fails.
 */
export function watchFiles<Content>(paths: readonly string[], { read, log, instead }: Watched<Content>): () => Content {
  let seen = versionOf(paths);
  let content = read(paths.map(readText));
  let isUnusable = false;

  return () => {
    const version = versionOf(paths);
    if (version === seen) return content;
    seen = version;
    try {
      content = read(paths.map(readText));
      isUnusable = false;
      log.info('A changed file was read again', { files: paths });
    } catch (error) {
      const fields = { files: paths, error: describeError(error) };
      if (instead === undefined) log.warn('A changed file cannot be used; its former content stays in effect', fields);
      else if (!isUnusable) log.error(instead.message, fields);
      if (instead !== undefined) content = instead.content;
      isUnusable = true;
    }
    return content;
  };
}

type Watched<Content> = {
  readonly read: (texts: readonly string[]) => Content;
  readonly log: Log;
  readonly instead?: { readonly content: Content; readonly message: string };
};

/** A pipe in place of the file would block the process, and `/dev/zero` would fill its memory. */
function readText(path: string): string {
  const stat = statSync(path);
  if (!stat.isFile()) throw new Error('it is not a file');
  if (stat.size > maxBytes) throw new Error('the file is larger than 1 MiB');
  return readFileSync(path, 'utf8');
}

/** As for the files that the settings name. */
const maxBytes = 1024 * 1024;

/** Changes when a file, or the target of a link, is written or replaced. */
function versionOf(paths: readonly string[]): string {
  return paths
    .map((path) => {
      const stat = statOf(path);
      return stat === undefined ? 'none' : `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeMs}:${stat.ctimeMs}`;
    })
    .join(' ');
}

/** Undefined also for a file that may not be looked at: its reading then fails, which is handled. */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

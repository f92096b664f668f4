import { createHash } from 'node:crypto';
import type { Digest } from '../../domain/image/image-reference.ts';
import { cut, HttpFailure, type WireAnswer } from '../http/exchange.ts';
import { arrayOf, objectOf, parseJsonObject, stringOf } from '../../domain/text/json.ts';
import type { Login } from './credentials.ts';
import type { Endpoint } from './hosts.ts';

/** Throws for every status but 200; `missing` completes the message of a 404. */
export function requireFound(answer: WireAnswer, missing: string): void {
  const { status } = answer;
  if (status === 200) return;
  const said = errorTextOf(answer);
  const words = said === '' ? '' : ` (${said})`;
  if (status === 404) throw new HttpFailure('not-found', `${missing}${words}`);
  throw new HttpFailure(status >= 500 ? 'unreachable' : 'invalid', `it answered with status ${status}${words}`);
}

/** Throws `invalid` unless the content has the requested digest. */
export function verify({ body, headers }: WireAnswer, digest: Digest): void {
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity') throw new HttpFailure('invalid', 'it sent compressed content, which was not requested');
  if (digestOf(body, digest) !== digest)
    throw new HttpFailure('invalid', `its content does not have the digest ${digest}`);
}

/** The digest of content, by the algorithm of another digest, or sha256 without one. */
export function digestOf(content: Buffer, like?: Digest): Digest {
  const algorithm = like?.startsWith('sha512:') === true ? 'sha512' : 'sha256';
  return `${algorithm}:${createHash(algorithm).update(content).digest('hex')}`;
}

/**
 * Error text of an answer, cut for a message; empty without one. Registries send a list
 * (https://github.com/opencontainers/distribution-spec/blob/main/spec.md#error-codes). Token servers send the same, or
 * a field `details`, `error_description` or `message`.
 */
export function errorTextOf(answer: Pick<WireAnswer, 'body' | 'showable'>): string {
  return answer.showable(rawErrorTextOf(answer));
}

/** The same text unchanged, for parsing and not for display. */
export function rawErrorTextOf({ body }: Pick<WireAnswer, 'body'>): string {
  const parsed = hasAtMost(maxParts, body) ? parseJsonObject(body) : undefined;
  if (parsed === undefined) return '';
  const listed = arrayOf(parsed['errors']).map((error) => messageOf(objectOf(error)));
  return cut([...listed, messageOf(parsed)].filter((text) => text !== '').join('; '));
}

/** An error has some fields. */
const maxParts = 10_000;

function messageOf(error: Readonly<Record<string, unknown>> | undefined): string {
  for (const field of ['message', 'error_description', 'details', 'error', 'code']) {
    const text = stringOf(error?.[field])?.trim();
    if (text !== undefined && text !== '') return text;
  }
  return '';
}

/**
 * The failure of a denied request. Registries do not distinguish a private repository from a missing one, so the
 * message names both.
 */
export function denied(host: string, login: Login, said: string): HttpFailure {
  const what = login.credential === undefined ? login.origin : `${login.origin} does not give access`;
  const words = said === '' ? '' : ` (${said})`;
  return new HttpFailure('denied', `access is denied, or there is no such repository${words}; ${what}`, {
    host,
    remedy: remedyFor(login),
  });
}

/** The failure when the token server refuses the login. */
export function loginRefused(host: string, login: Login, said: string): HttpFailure {
  if (login.credential === undefined) return denied(host, login, said);
  const words = said === '' ? '' : `: ${said}`;
  return new HttpFailure('denied', `${login.origin} is refused${words}`, {
    host,
    remedy: remedyFor(login),
  });
}

/** The failure when the registry requires a login, but uses plain HTTP. */
export function loginWithheld(host: string, login: Login): HttpFailure {
  return new HttpFailure('denied', `${login.origin} is not sent, because the registry uses plain HTTP`, {
    host,
    remedy: `if the login may travel unencrypted, add ${host} to the engine's insecure-registries`,
  });
}

function remedyFor({ registry }: Login): string {
  const [server, host] = registry === 'docker.io' ? ['', ''] : [` ${registry}`, `, and REPO_HOST to ${registry}`];
  return `run "docker login${server}" and give Upkeep its config.json, or set REPO_USER and REPO_PASS${host}`;
}

/** The query of the page after this one of a repository's list: of its tags, or of referrers. Undefined on the last page. */
export function nextQuery(
  { headers, elsewhere }: WireAnswer,
  { endpoint, repository }: { readonly endpoint: Endpoint; readonly repository: string },
  list: string,
): string | undefined {
  const link: unknown = headers['link'];
  const url = new URL(`https://${endpoint.host}${endpoint.prefix}/v2/${repository}/${list}`);
  return nextPage(typeof link === 'string' ? link : undefined, { url, behind: elsewhere });
}

type ListingPlace = {
  readonly url: URL;
  /** The target of the registry's redirect, e.g. from lscr.io to ghcr.io. */
  readonly behind?: Pick<URL, 'host' | 'pathname'> | undefined;
};

/**
 * The query of the next page, `?last=1.27&n=1000`, from a `Link` header (RFC 8288,
 * https://github.com/opencontainers/distribution-spec/blob/main/spec.md#listing-tags). Undefined on the last page. A
 * link to another host or path is refused, and only its query is used.
 */
export function nextPage(link: string | undefined, { url, behind }: ListingPlace): string | undefined {
  if (link === undefined) return undefined;
  const target = targetIn(link.slice(0, maxLink));
  if (target === undefined && link.length > maxLink) throw refused('at a URL that is too long');
  if (target === undefined) return undefined;
  if (!URL.canParse(target, url.href)) throw refused('at an invalid URL');
  const next = new URL(target, url.href);
  const isSameHost = next.host === url.host || withPort(next) === withPort(url);
  if (!isSameHost && next.host !== behind?.host) throw refused('on another host');
  const isSame = next.pathname.endsWith(url.pathname) || url.pathname.endsWith(next.pathname);
  if (!isSame && next.pathname !== behind?.pathname) throw refused('at another path');
  return next.search === '' ? undefined : next.search;
}

const maxLink = 2000;

/** `http://registry:80` writes links to `http://registry`, and the URL of its list here has the scheme `https`. */
function withPort({ hostname, port, protocol }: URL): string {
  return `${hostname}:${port || (protocol === 'http:' ? 80 : 443)}`;
}

/** The target of the first link with the relation `next`. */
function targetIn(link: string): string | undefined {
  for (const [, target, parameters = ''] of link.matchAll(/<([^<>]*)>([^<]*)/g)) {
    if (/;\s*rel\s*=\s*"?(?:[^";,]*\s)?next(?=["\s;,]|$)/i.test(parameters)) return target;
  }
  return undefined;
}

function refused(where: string): HttpFailure {
  return new HttpFailure('invalid', `its list continues ${where}`);
}

/**
 * Whether the bytes of a JSON text have at most so many lists, objects and commas, those in strings too. A hundred
 * thousand are parsed in some 50 ms, and 8 MiB of nothing else in more than a second, in which nothing else is done.
 */
export function hasAtMost(parts: number, body: Uint8Array): boolean {
  let count = 0;
  for (const byte of body) if ((byte === 0x2c || byte === 0x5b || byte === 0x7b) && (count += 1) > parts) return false;
  return true;
}

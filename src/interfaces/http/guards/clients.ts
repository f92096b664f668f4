import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { BlockList } from 'node:net';
import {
  formatIpAddress,
  parseIpAddress,
  parseOriginPattern,
  readAddressList,
  isAllowedOrigin,
  type AddressList,
  type HttpSettings,
} from '../../../domain/settings/http-settings.ts';
import type { Person } from '../../../domain/access/rights.ts';
import type { Log } from '../../../domain/outside/outside.ts';
import { printable } from '../../../domain/text/printable.ts';
import { HttpError } from '../replies/errors.ts';

/** Client of a request, direct or behind trusted proxies. */
export type Client = {
  /** Its IP address in canonical form; empty for a socket without one. */
  readonly address: string;
  readonly scheme: 'http' | 'https';
};

/**
 * The socket's peer, or behind a trusted proxy the last address in its header that is not a trusted proxy, and the
 * scheme that the proxy reports. Headers of other clients are ignored, and so are unreadable values.
 */
export function createClientReader(
  settings: Pick<HttpSettings, 'trustedProxies' | 'proxyHeader'>,
): (request: IncomingMessage) => Client {
  const trusted = readAddressList(settings.trustedProxies, new BlockList());
  const header = settings.proxyHeader.toLowerCase();
  if (trusted.isEmpty) return (request) => ({ address: peerOf(request), scheme: ownScheme(request) });

  return (request) => {
    const peer = peerOf(request);
    if (!trusted.contains(peer)) return { address: peer, scheme: ownScheme(request) };
    return {
      address: firstUntrusted(textOf(request.headers[header]), trusted) ?? peer,
      scheme: forwardedScheme(textOf(request.headers['x-forwarded-proto'])) ?? ownScheme(request),
    };
  };
}

/**
 * The person whom a trusted proxy names in its header. Nobody else is believed, and neither is a header that comes twice:
 * a proxy that adds its own to the client's must not make the client someone.
 */
export function createPersonReader({
  trustedProxies,
  authHeader,
}: Pick<HttpSettings, 'trustedProxies' | 'authHeader'>): (request: IncomingMessage) => Person | undefined {
  const trusted = readAddressList(trustedProxies, new BlockList());
  if (authHeader === undefined || trusted.isEmpty) return () => undefined;
  return (request) => {
    if (request.headers[authHeader.user] === undefined || !trusted.contains(peerOf(request))) return undefined;
    const name = onlyValue(request, authHeader.user);
    if (name === undefined) return undefined;
    const groups = (onlyValue(request, authHeader.groups) ?? '').split(/[,|;]/).map((group) => group.trim());
    return {
      name,
      ...(name.includes('@') && { email: name }),
      groups: groups.filter((group) => group !== ''),
      from: 'header',
    };
  };
}

/**
 * The address of this service as the browser knows it: the `Host` of the request, or what a trusted proxy reports.
 * Undefined for an unreadable one. A trusted proxy that removes a sub-path may report it as `X-Forwarded-Prefix`.
 */
export function createOriginReader(
  settings: Pick<HttpSettings, 'trustedProxies' | 'proxyHeader'>,
): (request: IncomingMessage) => string | undefined {
  const readClient = createClientReader(settings);
  const trusted = readAddressList(settings.trustedProxies, new BlockList());
  return (request) => {
    const { host: own = '', 'x-forwarded-host': reported, 'x-forwarded-prefix': prefixes } = request.headers;
    const isByProxy = trusted.contains(peerOf(request));
    const [host = ''] = (isByProxy && textOf(reported) !== '' ? textOf(reported) : own).split(',', 1);
    const prefix = (isByProxy ? textOf(prefixes) : '').replace(/\/+$/, '');
    const origin = `${readClient(request).scheme}://${host.trim()}`;
    if (parseOriginPattern(origin)?.kind !== 'exact' || !/^(?:\/[\w.~-]+)*$/.test(prefix)) return undefined;
    return origin + prefix;
  };
}

/** Node decodes headers with one character for each byte. */
function onlyValue({ headersDistinct }: IncomingMessage, name: string): string | undefined {
  const [value, ...others] = headersDistinct[name] ?? [];
  const text = Buffer.from(value ?? '', 'latin1')
    .toString()
    .trim();
  return others.length > 0 || text === '' || text.length > maxName ? undefined : printable(text, maxName);
}

const maxName = 2000;

/**
 * Warns, once for each, of a proxy that is not trusted, or that names its clients in another header than the one that is
 * read: its clients share one rate limit, and the scheme may not be known. Anyone can send these headers, so the number
 * of warnings is bounded, and the remedy is for the own proxy only.
 */
export function createProxyWarning(
  settings: Pick<HttpSettings, 'trustedProxies' | 'proxyHeader'>,
  log: Log,
): (request: IncomingMessage) => void {
  const { trustedProxies, proxyHeader } = settings;
  const trusted = readAddressList(trustedProxies, new BlockList());
  const own = proxyHeader.toLowerCase();
  const told = new Set<string>();

  function warn(proxy: string, header: string, message: string, remedy: string): void {
    told.add(proxy);
    log.warn(`${message}: all its clients share one rate limit`, { proxy, header, remedy });
  }

  return (request) => {
    if (told.size >= maxWarnings) return;
    const { headers } = request;
    const isSent = (name: string): boolean => headers[name] !== undefined;
    const header = isSent(own) ? own : [...clientHeaders, ...otherHeaders].find(isSent);
    const peer = peerOf(request);
    if (header === undefined || peer === '' || told.has(peer)) return;
    if (!trusted.contains(peer))
      warn(
        peer,
        header,
        'Requests come through a proxy that is not trusted',
        `if it is yours, add --http-api-trusted-proxies ${[...trustedProxies, peer].join(',')}`,
      );
    else if (header !== own && clientHeaders.includes(header))
      warn(peer, header, `A proxy does not send the header ${proxyHeader}`, `add --http-api-proxy-header ${header}`);
  };
}

const maxWarnings = 10;

/** The value is the address of the client. */
const clientHeaders = ['x-forwarded-for', 'x-real-ip', 'cf-connecting-ip', 'true-client-ip', 'x-client-ip'];
/** https://www.rfc-editor.org/rfc/rfc7239, and what proxies add beside it. */
const otherHeaders = ['forwarded', 'x-forwarded-host', 'x-forwarded-proto', 'x-forwarded-server', 'via'];

function peerOf({ socket }: IncomingMessage): string {
  const { remoteAddress = '' } = socket;
  if (!remoteAddress.includes(':')) return remoteAddress;
  const address = parseIpAddress(remoteAddress);
  return address === undefined ? remoteAddress : formatIpAddress(address);
}

function ownScheme({ socket }: IncomingMessage): Client['scheme'] {
  return 'encrypted' in socket && socket.encrypted === true ? 'https' : 'http';
}

function textOf(value: string | readonly string[] | undefined): string {
  return typeof value === 'string' ? value : (value ?? []).join(',');
}

/**
 * Read from the right, because each proxy appends the address of its client. If all are trusted, the first one counts.
 */
function firstUntrusted(chain: string, trusted: AddressList): string | undefined {
  let last: string | undefined;
  for (const hop of chain.split(',').toReversed()) {
    const address = parseIpAddress(withoutPort(hop.trim()));
    if (address === undefined) return undefined;
    last = formatIpAddress(address);
    if (!trusted.contains(last)) return last;
  }
  return last;
}

/** Some proxies write `192.0.2.1:4711` or `[2001:db8::1]:4711`. */
function withoutPort(hop: string): string {
  return /^\[([^\]]*)\](?::\d+)?$/.exec(hop)?.[1] ?? /^([^:]*):\d+$/.exec(hop)?.[1] ?? hop;
}

function forwardedScheme(value: string): Client['scheme'] | undefined {
  const scheme = value.split(',')[0]?.trim().toLowerCase();
  return scheme === 'http' || scheme === 'https' ? scheme : undefined;
}

/** Access to the API for web pages of other origins. */
export type Cors = {
  /** Sets the headers of a reply. Returns `preflight` for a preflight, which needs no other reply. */
  readonly apply: (request: IncomingMessage, response: ServerResponse) => 'preflight' | 'request';
  /** Whether a page of this origin may follow the events. Pages of the request's own host always may. */
  readonly admits: (request: IncomingMessage) => boolean;
  /**
   * Whether a browser says that the request is of a page that may not use saved passwords: one of another host whose
   * origin is not listed. `*` lists none. Other programs send neither `Sec-Fetch-Site` nor `Origin`.
   */
  readonly isForeign: (request: IncomingMessage) => boolean;
};

/**
 * An allowed origin is echoed, with credentials. `*` allows every origin, without credentials.
 * https://fetch.spec.whatwg.org/#http-cors-protocol
 */
export function createCors(origins: readonly string[]): Cors {
  const patterns = origins.flatMap((origin) => parseOriginPattern(origin) ?? []);
  const listed = patterns.filter(({ kind }) => kind !== 'any');
  const allowsAny = listed.length < patterns.length;

  return {
    apply(request, response) {
      if (patterns.length === 0) return 'request';
      const { origin } = request.headers;
      if (!allowsAny) response.setHeader('Vary', 'Origin');
      const allowed = origin !== undefined && isAllowedOrigin(origin, patterns);
      const preflight = isPreflight(request);
      if (!allowed) return preflight ? 'preflight' : 'request';
      response.setHeader('Access-Control-Allow-Origin', allowsAny ? '*' : origin);
      if (!allowsAny) response.setHeader('Access-Control-Allow-Credentials', 'true');
      if (!preflight) {
        response.setHeader('Access-Control-Expose-Headers', readableHeaders);
        return 'request';
      }
      response.setHeader('Access-Control-Allow-Methods', 'GET, HEAD, POST, DELETE');
      response.setHeader('Access-Control-Allow-Headers', sendableHeaders);
      response.setHeader('Access-Control-Max-Age', '3600');
      return 'preflight';
    },
    admits: (request) => {
      const { origin } = request.headers;
      return origin === undefined || isOwn(origin, request.headers.host ?? '') || isAllowedOrigin(origin, patterns);
    },
    isForeign: ({ headers }) => {
      const { origin, 'sec-fetch-site': site } = headers;
      if (site === 'same-origin' || site === 'none') return false;
      if (origin === undefined) return site !== undefined;
      return !isOfOwnHost(origin, headers) && !isAllowedOrigin(origin, listed);
    },
  };
}

const sendableHeaders = 'Authorization, Content-Type, Accept, Cache-Control, Last-Event-ID, X-Request-Id';
const readableHeaders = 'X-Request-Id, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After';

function isPreflight({ method, headers }: IncomingMessage): boolean {
  return method === 'OPTIONS' && headers.origin !== undefined && headers['access-control-request-method'] !== undefined;
}

/** Whether a page of this service sent the request. Browsers name the origin of a changing request. */
export function isFromOwnPage({ headers }: IncomingMessage): boolean {
  const { origin } = headers;
  return origin !== undefined && headers[pageHeader] !== undefined && isOfOwnHost(origin, headers);
}

/** A proxy may have replaced the host; a page of another origin cannot set the header with the one before it. */
function isOfOwnHost(origin: string, { host = '', 'x-forwarded-host': forwarded = '' }: IncomingHttpHeaders): boolean {
  return [host, ...String(forwarded).split(',')].some((each) => isOwn(origin, each.trim()));
}

/** Reason of a refusal. */
export const foreignPage =
  'this request is not from the page of this service: if it is, its proxy has to pass on the Host of the request';

/** Only scripts can set it, and those of other origins need a permission that CORS never gives. */
const pageHeader = 'x-upkeep-page';

/** Whether the origin has the request's host. The scheme may differ, because TLS may end at a proxy. */
function isOwn(origin: string, host: string): boolean {
  const [scheme = ''] = origin.split('://', 1);
  const own = parseOriginPattern(`${scheme}://${host}`);
  return own?.kind === 'exact' && isAllowedOrigin(origin, [own]);
}

/** Limits the requests of each client. */
export type RateLimiter = {
  /** Counts a request, unless it exceeds the limit. A refused request is not counted. */
  readonly take: (client: string) => RateVerdict;
  /** The number of remembered clients. */
  readonly clients: () => number;
};

export type RateVerdict = {
  readonly allowed: boolean;
  /** The number of further requests allowed now. */
  readonly remaining: number;
  /** Time until the oldest counted request leaves the window: the wait of a refused client. */
  readonly resetMs: number;
};

type RateLimiterOptions = {
  /** Requests in any window of `windowMs`. */
  readonly limit: number;
  readonly windowMs: number;
  readonly monotonicMs: () => number;
  readonly maxClients?: number;
  readonly maxRequests?: number;
};

/**
 * A sliding window per client. Of a client's allowed requests, no more than `limit` lie within any `windowMs`. The
 * times of its requests are in a ring, so the cost of a request does not depend on the limit. At a bound, the clients
 * that have been silent for longest are forgotten: an attacker with many addresses gains nothing, and others are not
 * locked out.
 */
export function createRateLimiter(options: RateLimiterOptions): RateLimiter {
  const { limit, windowMs, monotonicMs, maxClients = 65_536, maxRequests = 1_000_000 } = options;
  const clients = new Map<string, CountedClient>();
  const byRecency = createRecencyList<CountedClient>();
  let requests = 0;

  function newClient(name: string): CountedClient {
    const client = { name, times: [0], first: 0, count: 0, lastMs: 0, before: undefined, after: undefined };
    clients.set(name, client);
    return client;
  }

  /** Forgets at most two silent clients in each call, which keeps pace with new ones; above a limit, also active ones. */
  function forgetSilent(sinceMs: number): void {
    for (let forgotten = 0; ; forgotten += 1) {
      const oldest = byRecency.oldest();
      if (oldest === undefined) return;
      const isOver = clients.size > maxClients || (requests > maxRequests && clients.size > 1);
      if (!isOver && (forgotten === 2 || oldest.lastMs > sinceMs)) return;
      byRecency.remove(oldest);
      clients.delete(oldest.name);
      requests -= oldest.count;
    }
  }

  return {
    take(name) {
      const nowMs = monotonicMs();
      const sinceMs = nowMs - windowMs;
      const client = clients.get(name) ?? newClient(name);
      client.lastMs = nowMs;
      byRecency.moveToEnd(client);
      requests -= dropUntil(client, sinceMs);
      const allowed = client.count < limit;
      if (allowed) {
        push(client, nowMs, limit);
        requests += 1;
      }
      forgetSilent(sinceMs);
      const oldestMs = client.times[client.first] ?? nowMs;
      return { allowed, remaining: limit - client.count, resetMs: oldestMs - sinceMs };
    },
    clients: () => clients.size,
  };
}

/**
 * Limits attempts to sign in, of each client and of all together, in a minute. A client that is refused already does
 * not use up the attempts of others.
 */
export function createAttemptLimiter({
  ofClient,
  ofAll,
  monotonicMs,
}: AttemptLimits): (client: string) => Pick<RateVerdict, 'allowed' | 'resetMs'> {
  const windowMs = 60_000;
  const own = createRateLimiter({ limit: ofClient, windowMs, monotonicMs });
  const all = createRateLimiter({ limit: ofAll, windowMs, monotonicMs });
  return (client) => {
    const verdict = own.take(client);
    return verdict.allowed ? all.take('') : verdict;
  };
}

/** The reply to an attempt to sign in above a limit. */
export function tooManyAttempts(resetMs: number): HttpError {
  const seconds = Math.max(1, Math.ceil(resetMs / 1000));
  const message = `too many attempts to sign in; try again in ${seconds}s`;
  return new HttpError(429, message, { 'Retry-After': String(seconds) });
}

type AttemptLimits = {
  readonly ofClient: number;
  readonly ofAll: number;
  readonly monotonicMs: () => number;
};

/** `times` is a ring with `count` requests in the window, beginning at `first`. */
type CountedClient = Used & { readonly name: string; times: number[]; first: number; count: number; lastMs: number };

/** Drops the requests before the window, and returns their number. A request exactly one window old is dropped. */
function dropUntil(client: CountedClient, sinceMs: number): number {
  const before = client.count;
  while (client.count > 0 && (client.times[client.first] ?? 0) <= sinceMs) {
    client.first = (client.first + 1) % client.times.length;
    client.count -= 1;
  }
  return before - client.count;
}

function push(client: CountedClient, atMs: number, limit: number): void {
  if (client.count === client.times.length) grow(client, limit);
  client.times[(client.first + client.count) % client.times.length] = atMs;
  client.count += 1;
}

/** Most clients send one or two requests, so room for the limit is allocated when needed. */
function grow(client: CountedClient, limit: number): void {
  const { times, first, count } = client;
  const room = Math.min(limit, times.length * 4);
  client.times = Array.from({ length: room }, (_, at) => (at < count ? (times[(first + at) % count] ?? 0) : 0));
  client.first = 0;
}

/** An entry of a list in the order of last use; `before` was used earlier. */
export type Used = { before: Used | undefined; after: Used | undefined };

/**
 * Every operation takes constant time. A `Map` with deletions at its front does not: test/bench/clients.bench.ts has
 * the difference.
 */
type RecencyList<Entry extends Used> = {
  /** Adds the entry, or moves it, to the end. */
  readonly moveToEnd: (entry: Entry) => void;
  readonly remove: (entry: Entry) => void;
  readonly oldest: () => Entry | undefined;
};

export function createRecencyList<Entry extends Used>(): RecencyList<Entry> {
  const ends: Used = { before: undefined, after: undefined };
  ends.before = ends;
  ends.after = ends;

  function unlink(entry: Used): void {
    if (entry.before !== undefined) entry.before.after = entry.after;
    if (entry.after !== undefined) entry.after.before = entry.before;
    entry.before = undefined;
    entry.after = undefined;
  }

  return {
    moveToEnd(entry) {
      unlink(entry);
      entry.before = ends.before;
      entry.after = ends;
      if (ends.before !== undefined) ends.before.after = entry;
      ends.before = entry;
    },
    remove: unlink,
    // Only entries and the ends themselves are linked.
    oldest: () => (ends.after === ends ? undefined : (ends.after as Entry)),
  };
}

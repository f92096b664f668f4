import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  allRights,
  formatRights,
  hasRole,
  rightsOfPerson,
  type AccessFilter,
  type Person,
  type Rights,
} from '../../../domain/access/rights.ts';
import type { Clock, Log } from '../../../domain/outside/outside.ts';
import type { HttpSettings, NamedToken } from '../../../domain/settings/http-settings.ts';
import { quoted } from '../../../domain/text/printable.ts';
import type { AccessLog } from '../guards/access-log.ts';
import {
  passBody,
  bufferBody,
  hostProblemOf,
  meantBy,
  parseQuery,
  rehearsalIn,
  type RawQuery,
} from '../requests/request.ts';
import {
  createAuthentication,
  createWebhookAuthentication,
  hasToken,
  type Authenticate,
  type KnownTokens,
} from '../guards/auth.ts';
import {
  createClientReader,
  createPersonReader,
  createProxyWarning,
  foreignPage,
  isFromOwnPage,
  createRateLimiter,
  type Cors,
  type RateLimiter,
  type RateVerdict,
} from '../guards/clients.ts';
import type { Recognised, Sessions } from '../guards/sessions.ts';
import { HttpError, internalError, problemOf, writeProblem, type HttpResponse } from '../replies/errors.ts';
import type { LimitedService } from '../service/limited-service.ts';
import type { Service } from '../service/parts.ts';
import { RouteReply, type Route, type Found, type Refused, type RouteTable } from '../service/route.ts';
import type { Connections } from './connections.ts';

type DoorParts = {
  readonly settings: HttpSettings;
  readonly service: Service;
  readonly tokens: ServerTokens;
  readonly sessions: Sessions;
  readonly routes: RouteTable;
  readonly clock: Clock;
  readonly log: Log;
  readonly accessLog: AccessLog;
  readonly cors: Cors;
  /** Available after the server was created. */
  readonly connections: () => Connections;
};

/** The tokens of each kind; undefined if there is none. */
type ServerTokens = {
  readonly api: KnownTokens | undefined;
  readonly events: KnownTokens | undefined;
  readonly webhooks: KnownTokens | undefined;
};

/** The listener of every request of a server. */
export type Door = (request: IncomingMessage, response: HttpResponse) => void;

/**
 * Handles every request, also a malformed one, in the order of docs/http-api.md: CORS, request id and access log,
 * preflight, rate limit, host, body, path and method, then token, query and the route's answer. A session is looked up
 * before the rate limit, because it has a limit of its own; files of the page have one, too.
 */
export function createDoor(parts: DoorParts): Door {
  const { settings, routes, clock, accessLog, cors, connections } = parts;
  const readCaller = createClientReader(settings);
  const readPerson = createPersonReader(settings);
  const warnOfProxy = createProxyWarning(settings, parts.log);
  const limits = {
    client: limitOf(settings.rateLimit),
    session: limitOf(settings.sessionRateLimit),
    pageFiles: limitOf(maxPageFiles),
  };
  const ignoredInput = createIgnoredInput(parts.log);
  const answer = createAnswer(parts, ignoredInput);

  return (request, response) => {
    // Ignores further requests on a connection that is being closed.
    if (connections().isRefused(request.socket)) return;
    const isPreflight = cors.apply(request, response) === 'preflight';
    const { address } = readCaller(request);
    register(request, response, address);
    warnOfProxy(request);
    if (isPreflight) return end(response, 204);
    const session = parts.sessions.recognise(request);
    const person = readPerson(request);
    const found = routes.find(request.method ?? '', request.url ?? '');
    if (!passesRateLimit(response, limitFor(found, session, person, address))) return;
    const hostProblem = hostProblemOf(request);
    if (hostProblem !== undefined) return writeProblem(response, hostProblem, clock.nowMs());
    if (found.kind === 'route') keepBody(found.route, request, response);
    const next = (bodyBytes: number) => answerFound({ request, response, found, bodyBytes, address, session, person });
    passBody(request, response, { nowMs: clock.nowMs, next });
  };

  function limitOf(limit: number): Limit {
    return { limit, limiter: createRateLimiter({ limit, windowMs: 60_000, monotonicMs: clock.monotonicMs }) };
  }

  function limitFor(
    found: Found | Refused,
    session: Recognised | undefined,
    person: Person | undefined,
    address: string,
  ): Limit & Whose {
    if (found.kind === 'route' && found.route.isPageFile === true) return { ...limits.pageFiles, whose: address };
    if (session !== undefined) return { ...limits.session, whose: session.id };
    if (person !== undefined) return { ...limits.session, whose: `person ${person.name}` };
    return { ...limits.client, whose: address };
  }

  /** Gives the request an id, and logs its end. */
  function register(request: IncomingMessage, response: HttpResponse, address: string): void {
    const requestId = requestIdOf(request.headers['x-request-id']);
    response.commonHeaders.push('X-Request-Id', requestId);
    const { method = '', url: target = '' } = request;
    const access = { response, requestId, address, method, target, beganMs: clock.monotonicMs() };
    connections().addReply(response);
    response.on('close', () => {
      connections().end(response);
      accessLog.add(access);
    });
  }

  /**
   * Answers a request above the limit with 429 and closes its connection, so that each further attempt needs a new one.
   */
  function passesRateLimit(response: HttpResponse, { limit, limiter, whose }: Limit & Whose): boolean {
    const verdict = limiter.take(whose);
    addRateHeaders(response.commonHeaders, limit, verdict);
    if (verdict.allowed) return true;
    connections().refuse(response);
    response.setHeader('Retry-After', Math.max(1, Math.ceil(verdict.resetMs / 1000)));
    response.setHeader('Connection', 'close');
    end(response, 429);
    return false;
  }

  function answerFound({ request, response, found, bodyBytes, address, session, person }: Received): void {
    connections().markBusy(response);
    if (found.kind === 'problem') {
      const { problem, remedy } = found;
      if (remedy !== undefined)
        ignoredInput.refusedMethod(`${request.method ?? ''} ${remedy.path}`, remedy.text, address);
      return writeProblem(response, problem, clock.nowMs());
    }
    ignoredInput.inBody(found.route, bodyBytes, response);
    void answer({ request, response, found, address, session, person });
  }
}

function keepBody({ body, maxForeignBytes }: Route, request: IncomingMessage, response: ServerResponse): void {
  if (body !== undefined || maxForeignBytes !== undefined) bufferBody(request, response, maxForeignBytes);
}

/** The caller's own id if it is short and printable, so that both logs can be matched. Otherwise a new one. */
export function requestIdOf(given: string | readonly string[] | undefined): string {
  return typeof given === 'string' && /^[\x20-\x7e]{1,256}$/.test(given) ? given : randomUUID();
}

function addRateHeaders(headers: string[], limit: number, { remaining, resetMs }: RateVerdict): void {
  headers.push('X-RateLimit-Limit', String(limit));
  headers.push('X-RateLimit-Remaining', String(remaining));
  headers.push('X-RateLimit-Reset', String(Math.ceil(resetMs / 1000)));
}

function end(response: ServerResponse, status: number): void {
  response.statusCode = status;
  if (status !== 204) response.setHeader('Content-Length', 0);
  response.end();
}

/** In a minute, for each client: a browser loads five files for each page. */
const maxPageFiles = 3000;

type Limit = { readonly limit: number; readonly limiter: RateLimiter };

/** The client or session that a request counts for. */
type Whose = { readonly whose: string };

type Received = {
  readonly request: IncomingMessage;
  readonly response: HttpResponse;
  readonly found: Found | Refused;
  readonly bodyBytes: number;
  readonly address: string;
  readonly session: Recognised | undefined;
  /** The person whom a trusted proxy names. */
  readonly person: Person | undefined;
};

/** The sender of a request, with their rights. Without rights, nobody needs to be known. */
type Caller = {
  readonly name?: string | undefined;
  /** `anna`, `browser session (admin)`, `token backup`, `API token` */
  readonly words: string;
  readonly rights?: Rights;
};

type Answer = (received: Omit<Received, 'bodyBytes' | 'found'> & { readonly found: Found }) => Promise<void>;

/** Answers a request by its route: checks token, role and query, calls the route, and replies to its errors. */
function createAnswer({ settings, service, tokens, cors, clock, log }: DoorParts, ignoredInput: IgnoredInput): Answer {
  const authenticate = createAuthenticators(tokens, cors);
  const limitedFor = new WeakMap<AccessFilter, LimitedService>();

  return async ({ request: raw, response, found: { route, rest }, address, session, person }) => {
    let limited: LimitedService | undefined;
    try {
      const query = parseQuery(raw.url ?? '');
      const mayBeKnown = route.access !== 'webhook secret' && !hasToken(raw, query);
      const signedIn = mayBeKnown ? session : undefined;
      const caller = mayBeKnown ? (sessionCaller(signedIn) ?? personCaller(person, route)) : undefined;
      const byToken = (): Caller => tokenCaller(authenticate[route.access](raw, query));
      const known = caller ?? byToken();
      if (caller !== undefined) refuseForeign(raw, route);
      if (signedIn !== undefined) renewCookie(raw, response, signedIn);
      limited = await admit(known, route);
      ignoredInput.inQuery(route, query, response);
      const reply = new RouteReply(response, route.path);
      const result = await route.answer(
        {
          ...{ raw, query, rest, address, name: known.name, caller: known.words, rights: known.rights },
          service: limited?.service ?? service,
          sessionId: signedIn?.id,
          isStillAllowed: () =>
            hasSameRights(known, () => (signedIn === undefined ? (caller ?? byToken()).rights : signedIn.rightsNow())),
          ...(limited && { limited }),
        },
        reply,
      );
      if (!(result instanceof RouteReply)) reply.send(result);
    } catch (error) {
      fail(error, response, limited);
    }
  };

  /** The part of the service that a caller with a filter may see. Throws 403 without the role that the route needs. */
  async function admit({ words, rights }: Caller, { needs, filter }: Route): Promise<LimitedService | undefined> {
    if (rights === undefined) {
      if (needs !== 'nothing') throw new HttpError(403, 'nobody has a role here without signing in');
      return undefined;
    }
    if (!hasRole(rights, needs)) throw new HttpError(403, `${words} is ${rights.role}, and this needs ${needs}`);
    const { within } = rights;
    if (within === undefined || filter === 'not concerned') return undefined;
    if (filter === 'refuses') throw new HttpError(403, `${words} is limited to some containers, and this is about all`);
    // Nobody has a filter in most installations.
    const { limitService } = await import('../service/limited-service.ts');
    const made = limitedFor.get(within) ?? limitService(service, within);
    limitedFor.set(within, made);
    return made;
  }

  /** Throws 403 for a person without a role, who could not find out otherwise why nothing works. */
  function personCaller(person: Person | undefined, { needs }: Route): Caller | undefined {
    if (person === undefined) return undefined;
    const rights = rightsOfPerson(person, settings.people);
    if (rights !== undefined) return callerOf(person.name, rights);
    if (needs === 'nothing') return undefined;
    throw new HttpError(
      403,
      `${quoted(person.name, 100)} has no role here: --auth-viewers and its like list who has one`,
    );
  }

  function fail(error: unknown, response: ServerResponse, limited: LimitedService | undefined): void {
    const problem = problemOf(error);
    if (problem === undefined)
      log.error('A request failed because of an internal error', { error, stack: stackOf(error) });
    // A reply that has begun can only be aborted.
    if (response.headersSent) return void response.destroy();
    const { message, ...rest } = problem ?? internalError;
    writeProblem(response, { ...rest, message: limited?.redact(message) ?? message }, clock.nowMs());
  }
}

/** The lists of people change at a start only. `rightsNow` may throw. */
function hasSameRights({ rights }: Caller, rightsNow: () => Rights | undefined): boolean {
  try {
    const now = rightsNow();
    return rights === undefined || (now !== undefined && formatRights(now) === formatRights(rights));
  } catch {
    return false;
  }
}

function sessionCaller(session: Recognised | undefined): Caller | undefined {
  if (session === undefined) return undefined;
  const { by: name, rights, isPerson } = session;
  if (isPerson && name !== undefined) return callerOf(name, rights);
  return { name, words: name === undefined ? 'browser session' : `browser session (${name})`, rights };
}

/** A person may be called `API token` or `token ci`: such a name is quoted, so that it reads as no other caller. */
function callerOf(person: string, rights: Rights): Caller {
  const words = /[\s"]/.test(person) ? quoted(person, maxPerson) : person;
  return { name: words, words, rights };
}

const maxPerson = 200;

function tokenCaller(token: NamedToken | undefined): Caller {
  if (token === undefined) return { words: 'API token' };
  const { name, rights = allRights } = token;
  return { name, words: name === undefined ? 'API token' : `token ${name}`, rights };
}

/**
 * A browser sends cookies, and its proxy the header, with every request, so a changing one has to be of the own page.
 */
function refuseForeign(raw: IncomingMessage, { methods, access }: Route): void {
  const isChanging = access !== 'open' && methods.some((method) => method !== 'GET');
  if (isChanging && !isFromOwnPage(raw)) throw new HttpError(403, foreignPage);
}

/** A cookie belongs to the folder of the request: `/v1/`, of which the page asks these often. */
function renewCookie({ url = '' }: IncomingMessage, response: HttpResponse, session: Recognised): void {
  if (!/\/v1\/[\w-]+(?:\?|$)/.test(url)) return;
  const cookie = session.renew();
  if (cookie !== undefined) response.commonHeaders.push('Set-Cookie', cookie);
}

/** Without a configured token, every request that needs it is refused. */
function createAuthenticators(
  { api, events, webhooks }: ServerTokens,
  { isForeign }: Cors,
): Readonly<Record<Route['access'], Authenticate>> {
  const refuse = (option: string): Authenticate => {
    const message = `no token is configured: ${option} sets one`;
    return () => {
      throw new HttpError(401, message, { 'WWW-Authenticate': 'Bearer' });
    };
  };
  const noToken = refuse('--http-api-token');
  return {
    'api token': api === undefined ? noToken : createAuthentication(api),
    'api token or password': api === undefined ? noToken : createAuthentication(api, { asPassword: true, isForeign }),
    'events token':
      events === undefined
        ? refuse('--http-api-events-token')
        : createAuthentication(events, { inQuery: 'access_token' }),
    'webhook secret':
      webhooks === undefined ? refuse('--http-api-webhook-secret') : createWebhookAuthentication(webhooks),
    open: () => undefined,
  };
}

function stackOf(error: unknown): string | undefined {
  return error instanceof Error ? error.stack : undefined;
}

/** Tells clients, in the header `X-Upkeep-Warning`, and once each in the log, of input that Upkeep does not use. */
type IgnoredInput = {
  /**
   * Names the parameters that a route does not have. On a route that changes something, a name that looks like one of
   * the route's own throws 400 and names the right one: ignoring it would do more than the client asked for.
   */
  readonly inQuery: (route: Route, query: RawQuery, response: HttpResponse) => void;
  /** Bodies are not used, except by routes that describe one. */
  readonly inBody: (route: Route, bodyBytes: number, response: HttpResponse) => void;
  /** A method that a route refuses with a remedy, such as `GET /v1/update` of the first Watchtower. */
  readonly refusedMethod: (refused: string, remedy: string, address: string) => void;
};

function createIgnoredInput(log: Log): IgnoredInput {
  const logged = new Set<string>();

  /** At the bound no further line is written, so that no client can fill the disk. */
  function logOnce(key: string, message: string, fields: Readonly<Record<string, string>>): void {
    if (logged.has(key) || logged.size >= maxLogged) return;
    logged.add(key);
    log.warn(message, fields);
  }

  function warn(path: string, text: string, response: HttpResponse): void {
    response.commonHeaders.push('X-Upkeep-Warning', text);
    logOnce(`${path} ${text}`, 'A request has input that is not used', { path, warning: text });
  }

  return {
    inQuery(route, query, response) {
      const names = ignoredParameters(route, query);
      if (names.length > 0) warn(route.path, describeIgnored(names), response);
    },
    inBody({ path, body, maxForeignBytes }, bodyBytes, response) {
      if (bodyBytes > 0 && body === undefined && maxForeignBytes === undefined && path.startsWith('/v1/'))
        warn(path, 'the request body is not used: parameters belong in the query of the URL', response);
    },
    refusedMethod: (refused, remedy, address) =>
      logOnce(`${refused} ${address}`, `A client sends ${refused}, which is refused: ${remedy}`, { client: address }),
  };
}

const maxLogged = 100;

function ignoredParameters(route: Route, raw: RawQuery): readonly string[] {
  const { path, methods, query: own, access } = route;
  const unknown = Object.keys(raw).filter((name) => name !== '' && !Object.hasOwn(own, name));
  if (access === 'events token') return unknown.filter((name) => name !== 'access_token');
  const isChanging = methods.some((method) => method !== 'GET');
  for (const name of isChanging ? unknown : []) {
    const hint = hintFor(name, raw[name], route);
    if (hint !== undefined) throw new HttpError(400, `unknown query parameter ${quoted(name, maxShown)}: ${hint}`);
  }
  if (isChanging && access !== 'webhook secret') refuseSwallowed(route, raw);
  return path.startsWith('/v1/') ? unknown : [];
}

/** How to ask for the meaning of an unknown parameter; undefined if the request means the same without it. */
function hintFor(name: string, value: RawQuery[string], { path, query: own, body, access }: Route): string | undefined {
  const fields = Object.keys(body?.properties ?? {});
  const right = meantBy(name, [...Object.keys(own), ...fields]) ?? rehearsalIn(name, value);
  if (right === 'dry_run' && path === '/v1/check') return undefined;
  if (right === undefined) {
    const isNarrower = access !== 'webhook secret' && meantBy(name, narrowing) !== undefined;
    return isNarrower ? 'this request cannot be limited by it' : undefined;
  }
  if (Object.hasOwn(own, right)) return `did you mean "${right}"?`;
  return fields.includes(right) ? `"${right}" belongs in the JSON body` : 'this request cannot be rehearsed';
}

/** The parameters that limit a request, where a route has them. */
const narrowing = ['container', 'image', 'engine'];

/** A wrong separator (`timeout=5m;dry_run=true`, `async=true?dry_run`) hides a parameter in the value before it. */
function refuseSwallowed(route: Route, raw: RawQuery): void {
  for (const [name, values] of Object.entries(raw))
    for (const piece of [values ?? []].flat().flatMap((value) => value.split(separators).slice(1))) {
      const [hidden = '', value] = piece.split('=', 2);
      const isParameter = Object.hasOwn(route.query, hidden);
      const isMeant = value !== undefined && hintFor(hidden, value, route) !== undefined;
      if (isParameter || isMeant)
        throw new HttpError(
          400,
          `invalid query parameter ${quoted(name, maxShown)}: its value has ${quoted(hidden, maxShown)} in it; separate parameters with &`,
        );
    }
}

const separators = /[;?&]/;

/** Printable ASCII, as a header needs it. */
function describeIgnored(names: readonly string[]): string {
  const shown = names.slice(0, maxNames).map((name) => quoted(name, maxShown));
  const more = names.length > maxNames ? ` and ${names.length - maxNames} more` : '';
  const text = `unknown query parameter${names.length === 1 ? '' : 's'} ignored: ${shown.join(', ')}${more}`;
  return text.replaceAll(/[^\x20-\x7e]/g, '?');
}

const maxNames = 5;

const maxShown = 40;

import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock, Log } from '../../../domain/outside/outside.ts';
import type { HttpSettings } from '../../../domain/settings/http-settings.ts';
import type { AccessLog } from '../guards/access-log.ts';
import { passBody, bufferBody } from '../requests/body.ts';
import {
  type Authenticate,
  createAuthentication,
  createWebhookAuthentication,
  hasToken,
  type KnownTokens,
} from '../guards/auth.ts';
import { createClientReader, createProxyWarning } from '../guards/client-address.ts';
import { type Cors, foreignPage, isFromOwnPage } from '../guards/cors.ts';
import type { Recognised, Sessions } from '../guards/sessions.ts';
import { createRateLimiter, type RateLimiter, type RateVerdict } from '../guards/rate-limit.ts';
import { HttpError, internalError, problemOf, writeProblem, type HttpResponse } from '../replies/errors.ts';
import { RouteReply, type Route } from '../service/route.ts';
import { createIgnoredInput, type IgnoredInput } from './ignored-input.ts';
import { hostProblemOf, parseQuery } from '../requests/query.ts';
import type { Connections } from './connections.ts';
import type { Found, Refused, RouteTable } from './route-table.ts';

export type DoorParts = {
  readonly settings: HttpSettings;
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
export type ServerTokens = {
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
    const found = routes.find(request.method ?? '', request.url ?? '');
    if (!passesRateLimit(response, limitFor(found, session, address))) return;
    const hostProblem = hostProblemOf(request);
    if (hostProblem !== undefined) return writeProblem(response, hostProblem, clock.nowMs());
    if (found.kind === 'route') keepBody(found.route, request, response);
    const next = (bodyBytes: number) => answerFound({ request, response, found, bodyBytes, address, session });
    passBody(request, response, { nowMs: clock.nowMs, next });
  };

  function limitOf(limit: number): Limit {
    return { limit, limiter: createRateLimiter({ limit, windowMs: 60_000, monotonicMs: clock.monotonicMs }) };
  }

  function limitFor(found: Found | Refused, session: Recognised | undefined, address: string): Limit & Whose {
    if (found.kind === 'route' && found.route.isPageFile === true) return { ...limits.pageFiles, whose: address };
    if (session !== undefined) return { ...limits.session, whose: session.id };
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

  function answerFound({ request, response, found, bodyBytes, address, session }: Received): void {
    connections().markBusy(response);
    if (found.kind === 'problem') {
      const { problem, remedy } = found;
      if (remedy !== undefined)
        ignoredInput.refusedMethod(`${request.method ?? ''} ${remedy.path}`, remedy.text, address);
      return writeProblem(response, problem, clock.nowMs());
    }
    ignoredInput.inBody(found.route, bodyBytes, response);
    void answer({ request, response, found, address, session });
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
};

/** `browser session (admin)`, `token backup`, `API token` */
function callerOf(name: string | undefined, isSession: boolean): string {
  if (isSession) return name === undefined ? 'browser session' : `browser session (${name})`;
  return name === undefined ? 'API token' : `token ${name}`;
}

type Answer = (
  received: Pick<Received, 'request' | 'response' | 'address' | 'session'> & { readonly found: Found },
) => Promise<void>;

/** Answers a request by its route: checks token and query, calls the route, and replies to its errors. */
function createAnswer({ tokens, clock, log }: DoorParts, ignoredInput: IgnoredInput): Answer {
  const authenticate = createAuthenticators(tokens);

  return async ({ request: raw, response, found: { route, rest }, address, session }) => {
    try {
      const query = parseQuery(raw.url ?? '');
      const mayBeSignedIn = route.access !== 'webhook secret' && !hasToken(raw, query);
      const signedIn = mayBeSignedIn ? session : undefined;
      const tokenName = signedIn === undefined ? authenticate[route.access](raw, query) : admit(raw, route, signedIn);
      if (signedIn !== undefined) renewCookie(raw, response, signedIn);
      ignoredInput.inQuery(route, query, response);
      const reply = new RouteReply(response, route.path);
      const caller = callerOf(tokenName, signedIn !== undefined);
      const result = await route.answer(
        { raw, query, rest, tokenName, caller, sessionId: signedIn?.id, address },
        reply,
      );
      if (!(result instanceof RouteReply)) reply.send(result);
    } catch (error) {
      fail(error, response);
    }
  };

  function fail(error: unknown, response: ServerResponse): void {
    const problem = problemOf(error);
    if (problem === undefined)
      log.error('A request failed because of an internal error', { error, stack: stackOf(error) });
    // A reply that has begun can only be aborted.
    if (response.headersSent) response.destroy();
    else writeProblem(response, problem ?? internalError, clock.nowMs());
  }
}

/** The name of the session's token. Cookies are sent with every request, so a changing one has to be of the own page. */
function admit(raw: IncomingMessage, { methods, access }: Route, { by }: Recognised): string | undefined {
  const isChanging = access !== 'open' && methods.some((method) => method !== 'GET');
  if (isChanging && !isFromOwnPage(raw)) throw new HttpError(403, foreignPage);
  return by;
}

/** A cookie belongs to the folder of the request: `/v1/`, of which the page asks these often. */
function renewCookie({ url = '' }: IncomingMessage, response: HttpResponse, session: Recognised): void {
  if (!/\/v1\/[\w-]+(?:\?|$)/.test(url)) return;
  const cookie = session.renew();
  if (cookie !== undefined) response.commonHeaders.push('Set-Cookie', cookie);
}

/** Without a configured token, every request that needs it is refused. */
function createAuthenticators({
  api,
  events,
  webhooks,
}: ServerTokens): Readonly<Record<Route['access'], Authenticate>> {
  const refuse: Authenticate = () => {
    throw new HttpError(401, 'no token is configured', { 'WWW-Authenticate': 'Bearer' });
  };
  return {
    'api token': api === undefined ? refuse : createAuthentication(api),
    'api token or password': api === undefined ? refuse : createAuthentication(api, { asPassword: true }),
    'events token': events === undefined ? refuse : createAuthentication(events, { inQuery: 'access_token' }),
    'webhook secret': webhooks === undefined ? refuse : createWebhookAuthentication(webhooks),
    open: () => undefined,
  };
}

function stackOf(error: unknown): string | undefined {
  return error instanceof Error ? error.stack : undefined;
}

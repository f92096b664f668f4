import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Clock } from '../../../domain/outside/outside.ts';
import type { AccessLog } from '../guards/access-log.ts';
import { announcesTooMuch, bodyLimitBytes, drainBriefly, hasBody, skipBody } from '../guards/body-limit.ts';
import { createCallerReader } from '../guards/client-address.ts';
import type { Connections } from './connections.ts';
import type { Cors } from '../guards/cors.ts';
import { errorBody, jsonType, type Problem } from '../replies/errors.ts';
import type { HttpSettings } from '../../../domain/settings/http-settings.ts';
import { createRateLimiter, type RateVerdict } from '../guards/rate-limit.ts';
import type { FrontResponse } from '../replies/front-response.ts';
import { keepBody } from '../requests/kept-body.ts';
import { normalTarget, pathOf } from '../requests/request-target.ts';
import { requestIdOf } from '../requests/request-id.ts';
import { writeProblem } from '../replies/write-problem.ts';

export type FrontParts = {
  readonly clock: Clock;
  readonly accessLog: AccessLog;
  readonly cors: Cors;
  /** There once the server is. */
  readonly connections: () => Connections;
};

/** Stands in front of a server's requests. */
export type Front = (request: IncomingMessage, response: FrontResponse) => void;

/**
 * Stages of every request before routing: security headers, CORS, request id, access log, rate limit, body
 * size. They run before the framework, so that malformed paths, unknown methods and hooks in another order
 * cannot bypass them.
 */
export function createFront(
  settings: HttpSettings,
  { clock, accessLog, cors, connections }: FrontParts,
  route: RequestListener,
): Front {
  const readCaller = createCallerReader(settings);
  const limiter = createRateLimiter({
    limit: settings.rateLimit,
    windowMs: 60_000,
    monotonicMs: clock.monotonicMs,
  });

  return (request, response) => {
    // Ignores further requests on a connection that is about to be closed.
    if (connections().isRefused(request.socket)) return;
    const preflight = cors.apply(request, response) === 'preflight';
    const requestId = requestIdOf(request.headers['x-request-id']);
    response.frontHeaders.push('X-Request-Id', requestId);
    const { address } = readCaller(request);
    const { method = '', url: target = '' } = request;
    const access = { response, requestId, address, method, target, beganMs: clock.monotonicMs() };
    connections().begin(response);
    response.on('close', () => {
      connections().end(response);
      accessLog.add(access);
    });
    if (preflight) return end(response, 204);

    const verdict = limiter.take(address);
    addRateHeaders(response.frontHeaders, settings.rateLimit, verdict);
    if (!verdict.allowed) {
      connections().refuse(response);
      return refuse(response, verdict);
    }

    if (request.headers.host === undefined && request.httpVersion === '1.1') {
      return writeProblem(response, noHost, clock.nowMs());
    }
    if (!hasBody(request)) {
      withoutBody(request);
      return answer(request, response);
    }
    if (announcesTooMuch(request)) return void refuseBody(request, response);
    if (method === 'POST' && pathOf(normalTarget(target)) === '/v1/decisions') keepBody(request);
    if (expectsToBeAsked(request)) response.writeContinue();
    skipBody(request, (outcome) => {
      if (outcome === 'too large') return void refuseBody(request, response);
      withoutBody(request);
      answer(request, response);
    });
  };

  function answer(request: IncomingMessage, response: FrontResponse): void {
    connections().work(response);
    route(request, response);
  }

  async function refuseBody(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = errorBody(`the request body is larger than ${bodyLimitBytes} bytes`, clock.nowMs());
    const headers = { 'Content-Type': jsonType, 'Content-Length': Buffer.byteLength(body), Connection: 'close' };
    response.writeHead(413, headers);
    if (request.method !== 'HEAD') response.write(body);
    else response.flushHeaders();
    await drainBriefly(request);
    response.end();
  }
}

/** https://www.rfc-editor.org/rfc/rfc9112#section-3.2: Node would answer by itself, without a body. */
const noHost: Problem = { status: 400, message: 'the request names no host' };

function addRateHeaders(headers: string[], limit: number, { remaining, resetMs }: RateVerdict): void {
  headers.push('X-RateLimit-Limit', String(limit));
  headers.push('X-RateLimit-Remaining', String(remaining));
  headers.push('X-RateLimit-Reset', String(Math.ceil(resetMs / 1000)));
}

/** Closes the connection: a client that continues must reconnect for each attempt. */
function refuse(response: ServerResponse, { resetMs }: RateVerdict): void {
  response.setHeader('Retry-After', Math.max(1, Math.ceil(resetMs / 1000)));
  response.setHeader('Connection', 'close');
  end(response, 429);
}

function end(response: ServerResponse, status: number): void {
  response.statusCode = status;
  if (status !== 204) response.setHeader('Content-Length', 0);
  response.end();
}

/** Our listener for `checkContinue` keeps Node from answering by itself. */
function expectsToBeAsked({ headers }: IncomingMessage): boolean {
  return headers.expect?.toLowerCase() === '100-continue';
}

/** The framework would wait for a body that has been read, and refuse content types that it does not know. */
function withoutBody({ headers }: IncomingMessage): void {
  for (const name of bodyHeaders) if (headers[name] !== undefined) delete headers[name];
}

const bodyHeaders = ['content-type', 'content-length', 'transfer-encoding'] as const;

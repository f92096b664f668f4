import { ServerResponse, type IncomingMessage, type OutgoingHttpHeader, type OutgoingHttpHeaders } from 'node:http';
import { ServiceError, type ErrorCode } from '../../../domain/text/errors.ts';
import { toWholeSeconds } from '../../json/timestamps.ts';

/** A reply other than success. Its message is for the client and names nothing internal. */
export type Problem = {
  readonly status: number;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
};

/** A request that cannot be answered; thrown by routes. */
export class HttpError extends Error {
  override readonly name = 'HttpError';
  readonly problem: Problem;

  constructor(status: number, message: string, headers?: Problem['headers']) {
    super(message);
    this.problem = { status, message, headers };
  }
}

/** The reply for an error. Undefined for a bug, which the caller logs in full. */
export function problemOf(error: unknown): Problem | undefined {
  if (error instanceof HttpError) return error.problem;
  return error instanceof ServiceError ? problems[error.code] : undefined;
}

export const notFound: Problem = { status: 404, message: 'not found' };

/** Reply for a bug. */
export const internalError: Problem = { status: 500, message: 'internal error' };

/** Answers with a problem, which caches must not store. */
export function writeProblem(
  response: ServerResponse,
  { status, message, headers = {} }: Problem,
  nowMs: number,
): void {
  const body = errorBody(message, nowMs);
  const own = { 'Content-Type': jsonType, 'Content-Length': Buffer.byteLength(body), 'Cache-Control': 'no-store' };
  response.writeHead(status, { ...headers, ...own });
  response.end(body);
}

/** The body of every reply other than success, except the rate limiter's. */
export function errorBody(message: string, nowMs: number): string {
  return JSON.stringify({ error: message, api_version: 'v1', timestamp: toWholeSeconds(nowMs) });
}

export const jsonType = 'application/json; charset=utf-8';

/** Only commands send requests to other services. */
const elsewhere: Problem = { status: 500, message: 'another service cannot be asked' };

/** Fixed texts, because the message of a `ServiceError` may name sockets, hosts and paths. */
const problems: Readonly<Record<ErrorCode, Problem>> = {
  'invalid-input': { status: 400, message: 'the request is invalid, or asks for too much' },
  'not-found': { status: 404, message: 'not found' },
  unconfirmed: { status: 409, message: 'this needs a confirmation' },
  undecided: { status: 409, message: 'this needs a decision about the data' },
  busy: { status: 429, message: 'another update is already running', headers: { 'Retry-After': '30' } },
  cancelled: { status: 503, message: 'the request was cancelled' },
  timeout: { status: 500, message: 'the container engine did not answer in time' },
  'engine-unreachable': { status: 500, message: 'the container engine cannot be reached' },
  'engine-denied': { status: 500, message: 'the container engine denies access' },
  'engine-refused': { status: 500, message: 'the container engine refused the request' },
  'pull-failed': { status: 500, message: 'an image could not be pulled' },
  'registry-unreachable': { status: 500, message: 'a registry cannot be reached' },
  'registry-denied': { status: 500, message: 'a registry denies access' },
  'registry-not-found': { status: 500, message: 'a registry does not have the image' },
  'registry-rate-limited': { status: 500, message: 'a registry limits requests' },
  'registry-invalid': { status: 500, message: 'a registry sent an invalid answer' },
  'state-unreadable': { status: 500, message: 'the stored decisions cannot be read; the log has the reason' },
  'service-unreachable': elsewhere,
  'service-denied': elsewhere,
  'service-refused': elsewhere,
  'service-invalid': elsewhere,
};

type Given = OutgoingHttpHeaders | OutgoingHttpHeader[];

/**
 * Adds the security headers and the guards' headers to those of the route. They are only added to the head, because
 * Node checks a header when it is set and again when the head is written.
 */
export class HttpResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  /** Names and values alternate. */
  readonly commonHeaders: string[] = [];

  override writeHead(status: number, reason?: string | Given, given?: Given): this {
    const own = (typeof reason === 'string' ? given : reason) ?? {};
    if (Array.isArray(own)) return super.writeHead(status, [...securityHeaders({}), ...this.commonHeaders, ...own]);
    const head = [...securityHeaders(own), ...this.commonHeaders];
    for (const name in own) head.push(name, String(own[name]));
    return super.writeHead(status, head);
  }

  /**
   * Ends a reply that waits behind another one, when their connection has closed. Node closes only the first:
   * https://nodejs.org/api/http.html#event-close_2
   */
  abandon(): void {
    if (this.socket !== null) return;
    this.destroy();
    this.emit('close');
  }
}

/**
 * Headers of every reply, names and values alternating. A page has its own content security policy.
 * https://owasp.org/www-project-secure-headers/
 */
function securityHeaders(own: OutgoingHttpHeaders): readonly string[] {
  return own['Content-Security-Policy'] === undefined ? withPolicy : withoutPolicy;
}

const withoutPolicy = [
  ...['X-Content-Type-Options', 'nosniff'],
  ...['X-Frame-Options', 'DENY'],
  ...['Referrer-Policy', 'no-referrer'],
  ...['Cross-Origin-Opener-Policy', 'same-origin'],
  ...['Cross-Origin-Embedder-Policy', 'require-corp'],
  ...['Cross-Origin-Resource-Policy', 'same-origin'],
];

const withPolicy = [...withoutPolicy, 'Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'"];

import type { ServerResponse } from 'node:http';
import { type ErrorCode, ServiceError } from '../../../domain/text/errors.ts';
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

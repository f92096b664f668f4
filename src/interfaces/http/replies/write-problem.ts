import type { ServerResponse } from 'node:http';
import { errorBody, jsonType, type Problem } from './errors.ts';

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

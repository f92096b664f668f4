import type { ServerResponse } from 'node:http';
import { errorBody, jsonType, type Problem } from './errors.ts';

/** Answers with a problem, where there is no framework yet to do so. */
export function writeProblem(
  response: ServerResponse,
  { status, message, headers = {} }: Problem,
  nowMs: number,
): void {
  const body = errorBody(message, nowMs);
  response.writeHead(status, { ...headers, 'Content-Type': jsonType, 'Content-Length': Buffer.byteLength(body) });
  response.end(body);
}

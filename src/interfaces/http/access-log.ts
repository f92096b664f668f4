import type { ServerResponse } from 'node:http';
import type { Clock, Log } from '../../domain/outside.ts';
import { pathOf } from './request-target.ts';

export type Access = {
  readonly response: ServerResponse;
  readonly requestId: string;
  readonly address: string;
  readonly method: string;
  /** As it was asked for, before anything is made of it. */
  readonly target: string;
  readonly beganMs: number;
};

/** Writes the one line of a request whose reply has ended, or whose reader has gone; the query stays out, since it may hold a token. */
export function logAccess(access: Access, clock: Clock, log: Log): void {
  // A route that notices that the client has gone decides on a status all the same.
  if (access.response.headersSent) write(access, clock, log);
  else setImmediate(write, access, clock, log);
}

function write({ response, requestId, address, method, target, beganMs }: Access, clock: Clock, log: Log): void {
  log.info('Request', {
    request_id: requestId,
    client: address,
    method,
    path: pathOf(target).slice(0, longestPath),
    status: response.headersSent ? response.statusCode : clientClosedRequest,
    duration_ms: Math.round((clock.monotonicMs() - beganMs) * 10) / 10,
  });
}

const longestPath = 300;

/** nginx's code for a reader that went before there was a reply. */
const clientClosedRequest = 499;

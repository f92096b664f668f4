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

/**
 * Writes one line for each request whose reply has ended, or whose reader has gone; the query stays out,
 * since it may hold a token. The lines wait for the end of the turn: replies go out first, and a route that
 * notices that its client has gone has decided on a status by then.
 */
export function createAccessLog(clock: Clock, log: Log): (access: Access) => void {
  let ended: Ended[] = [];
  function writeAll(): void {
    const due = ended;
    ended = [];
    for (const each of due) write(each, log);
  }
  return (access) => {
    if (ended.push({ access, tookMs: clock.monotonicMs() - access.beganMs }) === 1) setImmediate(writeAll);
  };
}

type Ended = { readonly access: Access; readonly tookMs: number };

function write({ access, tookMs }: Ended, log: Log): void {
  const { response, requestId, address, method, target } = access;
  log.info('Request', {
    request_id: requestId,
    client: address,
    method,
    path: pathOf(target).slice(0, longestPath),
    status: response.headersSent ? response.statusCode : clientClosedRequest,
    duration_ms: Math.round(tookMs * 10) / 10,
  });
}

const longestPath = 300;

/** nginx's code for a reader that went before there was a reply. */
const clientClosedRequest = 499;

import type { ServerResponse } from 'node:http';
import type { Clock, Log } from '../../../domain/outside/outside.ts';
import { createRefusals, type RefusalKind } from './refusals.ts';
import { pathOf } from '../requests/request-target.ts';

export type Access = {
  readonly response: ServerResponse;
  readonly requestId: string;
  readonly address: string;
  readonly method: string;
  /** Target of the request, unchanged. */
  readonly target: string;
  readonly beganMs: number;
};

/**
 * Writes one line for each request whose reply has ended, or whose reader has gone; the query stays out,
 * since it may hold a token. The lines wait for the end of the turn: replies go out first, and a route that
 * notices that its client has gone has decided on a status by then. Of what is refused, only a client's
 * first in a minute have lines of their own: nobody may fill the disk by asking.
 */
export function createAccessLog(clock: Clock, log: Log): AccessLog {
  const refusals = createRefusals(log);
  let ended: Ended[] = [];
  function writeAll(): void {
    const due = ended;
    ended = [];
    for (const each of due) {
      const { response, address, method } = each.access;
      const status = statusOf(response);
      const kind = refusalOf(status, method);
      if (kind === undefined || refusals.isTold(address, status, kind)) write(each, log);
    }
  }
  return {
    add(access) {
      if (ended.push({ access, tookMs: clock.monotonicMs() - access.beganMs }) === 1) setImmediate(writeAll);
    },
    close() {
      writeAll();
      refusals.flush();
    },
  };
}

export type AccessLog = {
  readonly add: (access: Access) => void;
  /** Tells what it has not told yet. */
  readonly close: () => void;
};

/**
 * Kind of an uninteresting reply, logged by count after the first: errors 4xx, and preflights, which the
 * rate limit does not count.
 */
function refusalOf(status: number, method: string): RefusalKind | undefined {
  if (mistakes.has(status)) return 'mistake';
  return (status >= 400 && status < 500) || (status === 204 && method === 'OPTIONS') ? 'refusal' : undefined;
}

const mistakes: ReadonlySet<number> = new Set([400, 404, 405, 408]);

type Ended = { readonly access: Access; readonly tookMs: number };

function write({ access, tookMs }: Ended, log: Log): void {
  const { response, requestId, address, method, target } = access;
  log[statusOf(response) >= 400 ? 'info' : 'debug']('Request', {
    request_id: requestId,
    client: address,
    method,
    path: pathOf(target).slice(0, longestPath),
    status: statusOf(response),
    duration_ms: Math.round(tookMs * 10) / 10,
  });
}

function statusOf({ headersSent, statusCode }: ServerResponse): number {
  return headersSent ? statusCode : clientClosedRequest;
}

const longestPath = 300;

/** nginx's code for a reader that went before there was a reply. */
const clientClosedRequest = 499;

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
 * Writes one line for each request whose reply has ended, or whose client has disconnected. The query is omitted,
 * because it may contain a token. Lines are written after the current tick: replies go first (test/bench/http.bench.ts),
 * and the status of a disconnected client's request is known then. Only the first refused requests of a client in a
 * minute get their own lines, so that nobody can fill the disk with requests.
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
      if (kind === undefined || refusals.isLogged(address, status, kind)) write(each, log);
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
  /** Writes the remaining counts. */
  readonly close: () => void;
};

/**
 * Kind of a reply that is counted after the first lines: 4xx errors, and preflights, which the rate limit does not
 * count.
 */
function refusalOf(status: number, method: string): RefusalKind | undefined {
  if (clientErrorStatuses.has(status)) return 'mistake';
  return (status >= 400 && status < 500) || (status === 204 && method === 'OPTIONS') ? 'refusal' : undefined;
}

const clientErrorStatuses: ReadonlySet<number> = new Set([400, 404, 405, 408]);

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

/** nginx's code for a client that disconnected before the reply. */
const clientClosedRequest = 499;

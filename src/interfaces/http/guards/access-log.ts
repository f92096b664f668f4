import type { ServerResponse } from 'node:http';
import type { Clock, Log } from '../../../domain/outside/outside.ts';
import { pathOf } from '../requests/request.ts';

type Access = {
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
    path: pathOf(target).slice(0, maxPath),
    status: statusOf(response),
    duration_ms: Math.round(tookMs * 10) / 10,
  });
}

function statusOf({ headersSent, statusCode }: ServerResponse): number {
  return headersSent ? statusCode : clientClosedRequest;
}

const maxPath = 300;

/** nginx's code for a client that disconnected before the reply. */
const clientClosedRequest = 499;

/** Keeps the log small when requests are refused repeatedly. */
type RefusalCounter = {
  /** Whether this request gets its own line; otherwise it is counted. */
  readonly isLogged: (client: string, status: number, kind: RefusalKind) => boolean;
  /** Logs the counts and resets them. */
  readonly flush: () => void;
};

/** `mistake`: an invalid request within the rate limit (400, 404, 405, 408). The log helps its sender. */
type RefusalKind = 'refusal' | 'mistake';

type RefusalBounds = {
  /** Lines about one client in a window. */
  readonly linesPerClient: Readonly<Record<RefusalKind, number>>;
  /** Limit for all clients together, because one sender may have many addresses. */
  readonly linesInTotal: number;
  /** Further clients are counted together. */
  readonly maxClients: number;
  readonly windowMs: number;
};

const refusalBounds: RefusalBounds = {
  linesPerClient: { refusal: 10, mistake: 500 },
  linesInTotal: 2000,
  maxClients: 1000,
  windowMs: 60_000,
};

/** Logs each client's first refusals in a window. At its end, one line for each client counts the others. */
export function createRefusals(log: Log, bounds: RefusalBounds = refusalBounds): RefusalCounter {
  let clients = new Map<string, Counted>();
  let others = newCount();
  let loggedLines = 0;
  let timer: NodeJS.Timeout | undefined;

  function counterOf(client: string): Counted {
    const known = clients.get(client);
    if (known !== undefined) return known;
    if (clients.size >= bounds.maxClients) return others;
    const fresh = newCount();
    clients.set(client, fresh);
    return fresh;
  }

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    const [counted, rest] = [clients, others];
    clients = new Map();
    others = newCount();
    loggedLines = 0;
    for (const [client, count] of counted) logCount({ client }, count);
    logCount({ clients: 'others' }, rest);
  }

  function logCount(whose: { readonly client: string } | { readonly clients: string }, { unlogged }: Counted): void {
    const total = [...unlogged.values()].reduce((sum, count) => sum + count, 0);
    if (total > 0) log.info('More requests were refused', { ...whose, refused: total, ...byStatus(unlogged) });
  }

  return {
    isLogged(client, status, kind) {
      timer ??= setTimeout(flush, bounds.windowMs).unref();
      const counter = counterOf(client);
      if (
        counter !== others &&
        counter.logged[kind] < bounds.linesPerClient[kind] &&
        loggedLines < bounds.linesInTotal
      ) {
        counter.logged[kind] += 1;
        loggedLines += 1;
        return true;
      }
      counter.unlogged.set(status, (counter.unlogged.get(status) ?? 0) + 1);
      return false;
    },
    flush,
  };
}

/** `unlogged`: by the status of the reply. */
type Counted = { readonly logged: Record<RefusalKind, number>; readonly unlogged: Map<number, number> };

function newCount(): Counted {
  return { logged: { refusal: 0, mistake: 0 }, unlogged: new Map() };
}

function byStatus(counts: ReadonlyMap<number, number>): Readonly<Record<string, number>> {
  return Object.fromEntries([...counts].map(([status, count]) => [`status_${status}`, count]));
}

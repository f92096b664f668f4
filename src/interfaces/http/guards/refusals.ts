import type { Log } from '../../../domain/outside/outside.ts';

/** Keeps the log small when requests are refused repeatedly. */
export type RefusalCounter = {
  /** Whether this request gets its own line; otherwise it is counted. */
  readonly isLogged: (client: string, status: number, kind: RefusalKind) => boolean;
  /** Logs the counts and resets them. */
  readonly flush: () => void;
};

/** `mistake`: an invalid request within the rate limit (400, 404, 405, 408). The log helps its sender. */
export type RefusalKind = 'refusal' | 'mistake';

export type RefusalBounds = {
  /** Lines about one client in a window. */
  readonly linesPerClient: Readonly<Record<RefusalKind, number>>;
  /** Limit for all clients together, because one sender may have many addresses. */
  readonly linesInTotal: number;
  /** Further clients are counted together. */
  readonly mostClients: number;
  readonly windowMs: number;
};

export const refusalBounds: RefusalBounds = {
  linesPerClient: { refusal: 10, mistake: 500 },
  linesInTotal: 2000,
  mostClients: 1000,
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
    if (clients.size >= bounds.mostClients) return others;
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

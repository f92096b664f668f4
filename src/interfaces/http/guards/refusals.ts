import type { Log } from '../../../domain/outside/outside.ts';

/** Keeps the log small when requests are refused repeatedly. */
export type RefusalCounter = {
  /** Whether this request gets its own line; otherwise it is counted. */
  readonly isLogged: (client: string, status: number, kind: RefusalKind) => boolean;
  /** Logs the counts and resets them. */
  readonly flush: () => void;
};

/**
 * `mistake`: a request within the rate limit for a path, method or value that does not exist. The log helps its sender.
 */
export type RefusalKind = 'refusal' | 'mistake';

export type RefusalBounds = {
  /** Lines about one client in a window. */
  readonly linesPerClient: Readonly<Record<RefusalKind, number>>;
  /** Limit for all clients together, against one with many addresses. */
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

/** Logs each client's first refusals in a window, and at its end the others in one line for each client. */
export function createRefusals(log: Log, bounds: RefusalBounds = refusalBounds): RefusalCounter {
  let clients = new Map<string, Counted>();
  let others = newCount();
  let told = 0;
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
    told = 0;
    for (const [client, count] of counted) tell({ client }, count);
    tell({ clients: 'others' }, rest);
  }

  function tell(whose: { readonly client: string } | { readonly clients: string }, { untold }: Counted): void {
    const total = [...untold.values()].reduce((sum, count) => sum + count, 0);
    if (total > 0) log.info('More requests were refused', { ...whose, refused: total, ...byStatus(untold) });
  }

  return {
    isLogged(client, status, kind) {
      timer ??= setTimeout(flush, bounds.windowMs).unref();
      const counter = counterOf(client);
      if (counter !== others && counter.told[kind] < bounds.linesPerClient[kind] && told < bounds.linesInTotal) {
        counter.told[kind] += 1;
        told += 1;
        return true;
      }
      counter.untold.set(status, (counter.untold.get(status) ?? 0) + 1);
      return false;
    },
    flush,
  };
}

/** `untold`: by the status of the reply. */
type Counted = { readonly told: Record<RefusalKind, number>; readonly untold: Map<number, number> };

function newCount(): Counted {
  return { told: { refusal: 0, mistake: 0 }, untold: new Map() };
}

function byStatus(counts: ReadonlyMap<number, number>): Readonly<Record<string, number>> {
  return Object.fromEntries([...counts].map(([status, count]) => [`status_${status}`, count]));
}

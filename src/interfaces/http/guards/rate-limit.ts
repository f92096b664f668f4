/** Limits the requests of each client. */
export type RateLimiter = {
  /** Counts a request, unless it exceeds the limit. A refused request is not counted. */
  readonly take: (client: string) => RateVerdict;
  /** The number of remembered clients. */
  readonly clients: () => number;
};

export type RateVerdict = {
  readonly allowed: boolean;
  /** The number of further requests allowed now. */
  readonly remaining: number;
  /** Time until the oldest counted request leaves the window: the wait of a refused client. */
  readonly resetMs: number;
};

type RateLimiterOptions = {
  /** Requests in any window of `windowMs`. */
  readonly limit: number;
  readonly windowMs: number;
  readonly monotonicMs: () => number;
  readonly maxClients?: number;
  readonly maxRequests?: number;
};

/**
 * A sliding window per client. Of a client's allowed requests, no more than `limit` lie within any `windowMs`. The
 * times of its requests are in a ring, so the cost of a request does not depend on the limit. At a bound, the clients
 * that have been silent for longest are forgotten: an attacker with many addresses gains nothing, and others are not
 * locked out.
 */
export function createRateLimiter(options: RateLimiterOptions): RateLimiter {
  const { limit, windowMs, monotonicMs, maxClients = 65_536, maxRequests = 1_000_000 } = options;
  const clients = new Map<string, Client>();
  const byRecency = createRecencyList<Client>();
  let requests = 0;

  function newClient(name: string): Client {
    const client = { name, times: [0], first: 0, count: 0, lastMs: 0, before: undefined, after: undefined };
    clients.set(name, client);
    return client;
  }

  /** Forgets at most two silent clients in each call, which keeps pace with new ones; above a limit, also active ones. */
  function forgetSilent(sinceMs: number): void {
    for (let forgotten = 0; ; forgotten += 1) {
      const oldest = byRecency.oldest();
      if (oldest === undefined) return;
      const isOver = clients.size > maxClients || (requests > maxRequests && clients.size > 1);
      if (!isOver && (forgotten === 2 || oldest.lastMs > sinceMs)) return;
      byRecency.remove(oldest);
      clients.delete(oldest.name);
      requests -= oldest.count;
    }
  }

  return {
    take(name) {
      const nowMs = monotonicMs();
      const sinceMs = nowMs - windowMs;
      const client = clients.get(name) ?? newClient(name);
      client.lastMs = nowMs;
      byRecency.moveToEnd(client);
      requests -= dropUntil(client, sinceMs);
      const allowed = client.count < limit;
      if (allowed) {
        push(client, nowMs, limit);
        requests += 1;
      }
      forgetSilent(sinceMs);
      const oldestMs = client.times[client.first] ?? nowMs;
      return { allowed, remaining: limit - client.count, resetMs: oldestMs - sinceMs };
    },
    clients: () => clients.size,
  };
}

/** `times` is a ring with `count` requests in the window, beginning at `first`. */
type Client = Used & { readonly name: string; times: number[]; first: number; count: number; lastMs: number };

/** Drops the requests before the window, and returns their number. A request exactly one window old is dropped. */
function dropUntil(client: Client, sinceMs: number): number {
  const before = client.count;
  while (client.count > 0 && (client.times[client.first] ?? 0) <= sinceMs) {
    client.first = (client.first + 1) % client.times.length;
    client.count -= 1;
  }
  return before - client.count;
}

function push(client: Client, atMs: number, limit: number): void {
  if (client.count === client.times.length) grow(client, limit);
  client.times[(client.first + client.count) % client.times.length] = atMs;
  client.count += 1;
}

/** Most clients send one or two requests, so room for the limit is allocated when needed. */
function grow(client: Client, limit: number): void {
  const { times, first, count } = client;
  const room = Math.min(limit, times.length * 4);
  client.times = Array.from({ length: room }, (_, at) => (at < count ? (times[(first + at) % count] ?? 0) : 0));
  client.first = 0;
}

/** An entry of a list in the order of last use; `before` was used earlier. */
export type Used = { before: Used | undefined; after: Used | undefined };

/**
 * Every operation takes constant time. A `Map` with deletions at its front does not: test/bench/clients.bench.ts has
 * the difference.
 */
type RecencyList<Entry extends Used> = {
  /** Adds the entry, or moves it, to the end. */
  readonly moveToEnd: (entry: Entry) => void;
  readonly remove: (entry: Entry) => void;
  readonly oldest: () => Entry | undefined;
};

export function createRecencyList<Entry extends Used>(): RecencyList<Entry> {
  const ends: Used = { before: undefined, after: undefined };
  ends.before = ends;
  ends.after = ends;

  function unlink(entry: Used): void {
    if (entry.before !== undefined) entry.before.after = entry.after;
    if (entry.after !== undefined) entry.after.before = entry.before;
    entry.before = undefined;
    entry.after = undefined;
  }

  return {
    moveToEnd(entry) {
      unlink(entry);
      entry.before = ends.before;
      entry.after = ends;
      if (ends.before !== undefined) ends.before.after = entry;
      ends.before = entry;
    },
    remove: unlink,
    // Only entries and the ends themselves are linked.
    oldest: () => (ends.after === ends ? undefined : (ends.after as Entry)),
  };
}

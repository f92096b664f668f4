import type { Clock } from '../../../domain/outside/outside.ts';
import { createLru } from '../async/lru.ts';

/** Which scopes one token may carry together. A realm or a scope that does not bear company stays alone for an hour. */
export type SharedScopes = {
  /** `scope` with those of `companions` that may come along. */
  readonly choose: (realm: URL, scope: string, companions: Iterable<string>) => readonly string[];
  /** The realm gave no usable token for several scopes. */
  readonly refusedBy: (realm: URL) => void;
  /** A registry did not take a token of several scopes for this one. */
  readonly refusedFor: (realm: URL, scope: string) => void;
};

export function createSharedScopes(clock: Pick<Clock, 'monotonicMs'>): SharedScopes {
  const loneRealms = createLru<number>(maxRealms);
  const refusals = createLru<{ readonly scopes: ReadonlySet<string>; readonly atMs: number }>(maxRealms);
  const isRecent = (atMs: number | undefined) => atMs !== undefined && clock.monotonicMs() - atMs < memoryMs;

  function refusedBy({ href }: URL): void {
    loneRealms.set(href, clock.monotonicMs());
  }

  return {
    choose({ href }, scope, companions) {
      const known = refusals.get(href);
      const lone = known !== undefined && isRecent(known.atMs) ? known.scopes : nobody;
      if (isRecent(loneRealms.get(href)) || lone.has(scope)) return [scope];
      const chosen = [scope];
      let length = scope.length;
      for (const companion of companions) {
        if (chosen.length >= mostScopes || length + companion.length > longestScopes) break;
        if (lone.has(companion) || companion === scope) continue;
        chosen.push(companion);
        length += companion.length;
      }
      return chosen;
    },
    refusedBy,
    refusedFor(realm, scope) {
      const known = refusals.get(realm.href);
      const scopes = new Set(known !== undefined && isRecent(known.atMs) ? known.scopes : []).add(scope);
      refusals.set(realm.href, { scopes, atMs: clock.monotonicMs() });
      if (scopes.size >= mostRefusals) refusedBy(realm);
    },
  };
}

/** A token lists what it gives access to, and travels in a header: servers take 8 kB of one. */
const mostScopes = 50;
const longestScopes = 2500;

/** Private repositories that a login does not open are few; more of them are a registry that takes no such tokens. */
const mostRefusals = 4;

const memoryMs = 3_600_000;

const maxRealms = 256;

const nobody: ReadonlySet<string> = new Set();

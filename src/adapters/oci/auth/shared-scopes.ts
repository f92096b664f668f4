import type { Clock } from '../../../domain/outside/outside.ts';
import { createLru } from '../../../domain/text/plain-data.ts';

/** Decides which scopes share one token. After a failure, a realm or scope does not share for an hour. */
export type SharedScopes = {
  /** `scope` with the `companions` that may share its token. */
  readonly choose: (realm: URL, scope: string, companions: Iterable<string>) => readonly string[];
  /** Records that the realm gave no usable token for several scopes. */
  readonly refusedBy: (realm: URL) => void;
  /** Records that a registry refused a shared token for this scope. */
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
      const lone = known !== undefined && isRecent(known.atMs) ? known.scopes : noScopes;
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

/** A token lists its scopes and is sent in a header. Servers accept headers of 8 kB. */
const mostScopes = 50;
const longestScopes = 2500;

/**
 * A login rarely lacks access to more repositories. More refusals mean that the registry does not accept shared tokens.
 */
const mostRefusals = 4;

const memoryMs = 3_600_000;

const maxRealms = 256;

const noScopes: ReadonlySet<string> = new Set();

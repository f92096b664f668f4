import { createHash } from 'node:crypto';
import type { Clock } from '../../../domain/outside/outside.ts';
import type { WireAnswer, WireRequest } from '../../http/exchange.ts';
import { HttpFailure } from '../../http/failure.ts';
import { createLru } from '../../../domain/text/plain-data.ts';
import { createSingleFlight } from '../async/single-flight.ts';
import { createSharedScopes } from './shared-scopes.ts';
import { readToken, type TokenRequest, wireRequest } from './token-request.ts';

export type Tokens = {
  /** Throws a `HttpFailure`: `denied` when the token server refuses the login. */
  readonly get: (request: TokenRequest, signal?: AbortSignal) => Promise<string>;
  /** Drops the token, so that the next `get` requests a new one. Ignored if a newer token is cached. */
  readonly forget: (request: TokenRequest, token: string) => void;
};

/**
 * Caches tokens until shortly before they expire. Concurrent callers share one request. A token also covers the scopes
 * of companions; if the server gives no token for several scopes, each scope gets its own.
 */
export function createTokens(clock: Clock, send: SendToTokenServer): Tokens {
  const kept = createLru<CachedToken>(maxTokens);
  const flight = createSingleFlight<string | undefined>();
  /** Keys of tokens that are requested together, each with the request for it. */
  const carriers = new Map<string, SharedTokenRequest>();
  const shared = createSharedScopes(clock);

  return {
    async get(request, signal) {
      const key = keyOf(request);
      const known = fresh(key);
      if (known !== undefined) return known;
      const flightKey = carriers.get(key)?.flightKey ?? key;
      const carried = await ask(request, flightKey, () => together(request), signal);
      const token = carried ?? (await ask(request, key, () => [], signal));
      if (token === undefined) throw new Error('a token request for one scope without a result');
      return token;
    },
    forget(request, token) {
      const key = keyOf(request);
      const known = kept.get(key);
      if (known?.token !== token) return;
      kept.delete(key);
      const [scope] = request.scopes;
      if (known.isShared && scope !== undefined) shared.refusedFor(request.realm, scope);
    },
  };

  function fresh(key: string): string | undefined {
    const known = kept.get(key);
    return known !== undefined && clock.monotonicMs() < known.untilMs ? known.token : undefined;
  }

  /** The scopes for a shared token; none if the request already has several scopes. */
  function together(request: TokenRequest): readonly string[] {
    const { realm, scopes, companions = [] } = request;
    const [scope] = scopes;
    if (scope === undefined || scopes.length > 1) return [];
    const wanting = function* () {
      for (const companion of companions) {
        const key = keyOf({ ...request, scopes: [companion] });
        if (!carriers.has(key) && fresh(key) === undefined) yield companion;
      }
    };
    return shared.choose(realm, scope, wanting());
  }

  /** Undefined if the server gave no usable token for several scopes. A caller that joins a request chooses no scopes. */
  function ask(
    request: TokenRequest,
    flightKey: string,
    chooseScopes: () => readonly string[],
    signal?: AbortSignal,
  ): Promise<string | undefined> {
    const work = async (stop: AbortSignal) => {
      const scopes = chooseScopes();
      if (scopes.length < 2) return fetchToken(request, [keyOf(request)], stop);
      const keys = scopes.map((scope) => keyOf({ ...request, scopes: [scope] }));
      const carrier: SharedTokenRequest = { flightKey };
      const land = () => keys.filter((key) => carriers.get(key) === carrier).forEach((key) => carriers.delete(key));
      for (const key of keys) carriers.set(key, carrier);
      stop.addEventListener('abort', land, { once: true });
      return fetchToken({ ...request, scopes }, keys, stop).finally(land);
    };
    return flight(flightKey, work, signal);
  }

  async function fetchToken(request: TokenRequest, keys: readonly string[], stop: AbortSignal) {
    const answer = await send(wireRequest(request), stop);
    const isShared = keys.length > 1;
    try {
      const { token, lifeMs } = readToken(request, answer);
      if (isShared && token.length > maxSharedTokenLength) throw new HttpFailure('invalid', 'it is too long');
      for (const key of keys) kept.set(key, { token, untilMs: clock.monotonicMs() + lifeMs, isShared });
      return token;
    } catch (error) {
      if (!isShared) throw error;
      shared.refusedBy(request.realm);
      return undefined;
    }
  }
}

type SharedTokenRequest = { readonly flightKey: string };

type CachedToken = { readonly token: string; readonly untilMs: number; readonly isShared: boolean };

export type SendToTokenServer = (request: WireRequest, signal: AbortSignal) => Promise<WireAnswer>;

/** A token is 2 to 4 kB. */
const maxTokens = 1000;

/** Servers refuse headers of more than 8 kB: https://nginx.org/en/docs/http/ngx_http_core_module.html#large_client_header_buffers */
const maxSharedTokenLength = 7500;

/** The secret is hashed, because keys live as long as the cache. */
function keyOf({ realm, service, scopes, login }: TokenRequest): string {
  const secret = createHash('sha256')
    .update(JSON.stringify(login.credential ?? null))
    .digest('base64');
  return JSON.stringify([realm.href, service, [...scopes].sort(), secret]);
}

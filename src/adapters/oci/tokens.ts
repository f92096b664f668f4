import { parseChallenges, type Challenge, type Scheme, type IsInsecure } from './hosts.ts';
import type { Login } from './credentials.ts';
import { cut, HttpFailure, type WireAnswer, type WireRequest } from '../http/exchange.ts';
import { createHash } from 'node:crypto';
import type { Clock } from '../../domain/outside/outside.ts';
import { createLru } from '../../domain/text/plain-data.ts';
import { createSingleFlight } from './throttle.ts';
import { loginRefused, errorTextOf } from './answer.ts';
import { parseJsonObject, stringOf } from '../../domain/text/json.ts';

/** Value of the `Authorization` header. */
export type Authorization = {
  readonly header: string;
  /** True if it contains a login or a token for a login. A token for anonymous users is not secret. */
  readonly isSecret: boolean;
  /** True for a token that is for other repositories too. */
  readonly isShared: boolean;
  /** Call it after a refusal, so that the next request gets a new token. */
  readonly refused: () => void;
};

type AuthorizationRequest = {
  readonly challenge: Challenge;
  readonly host: string;
  readonly scheme: Scheme;
  readonly scopes: readonly string[];
  readonly login: Login;
  readonly companions?: Iterable<string>;
};

/** Answers a challenge. Undefined if no known scheme or login fits. */
export type Authorize = (request: AuthorizationRequest, signal?: AbortSignal) => Promise<Authorization | undefined>;

/** The challenge to answer: `Bearer` before `Basic`, as in an engine. */
export function chooseChallenge(field: string | undefined): Challenge | undefined {
  const challenges = parseChallenges(field ?? '');
  return (
    challenges.find(({ scheme, parameters }) => scheme === 'bearer' && parameters.has('realm')) ??
    challenges.find(({ scheme }) => scheme === 'basic')
  );
}

type Rules = {
  readonly isInsecure: IsInsecure;
  readonly maySendPlainLogin: IsInsecure;
  /** Texts of a registry that are safe to show. */
  readonly showable: (words: string) => string;
};

export function createAuthorize(tokens: Tokens, { isInsecure, maySendPlainLogin, showable }: Rules): Authorize {
  return async function authorize(request, signal) {
    const { challenge, scopes, login, companions = [] } = request;
    const { credential } = login;
    if (challenge.scheme === 'basic')
      return credential?.kind === 'password'
        ? { header: basic(credential), isSecret: true, isShared: false, refused }
        : undefined;
    if (credential?.kind === 'registry-token')
      return { header: `Bearer ${credential.registryToken}`, isSecret: true, isShared: false, refused };
    const realm = await realmOf(request, signal);
    const wanted: TokenRequest = { realm, service: challenge.parameters.get('service'), scopes, login, companions };
    const token = await tokens.get(wanted, signal);
    return {
      header: `Bearer ${token}`,
      isSecret: credential !== undefined,
      isShared: tokens.isShared(wanted, token),
      refused: () => tokens.forget(wanted, token),
    };
  };

  /** The realm receives the login, so its connection must be as secure as the registry's. */
  async function realmOf(request: AuthorizationRequest, signal?: AbortSignal): Promise<URL> {
    const { challenge, host, scheme, login } = request;
    const text = challenge.parameters.get('realm') ?? '';
    const realm = URL.canParse(text) ? new URL(text) : undefined;
    if (realm?.protocol === 'https:') return realm;
    const mayBePlain = login.credential === undefined ? isInsecure : maySendPlainLogin;
    if (realm?.protocol === 'http:' && (scheme === 'http' || (await mayBePlain(realm.host, signal)))) return realm;
    const why = realm?.protocol === 'http:' ? 'is not encrypted' : 'is not an HTTP URL';
    throw new HttpFailure('invalid', `the URL of its token server, "${showable(cut(text))}", ${why}`, {
      host,
    });
  }
}

/** Credentials of the configuration are not cached here. */
function refused(): void {}

type Tokens = {
  /** Throws a `HttpFailure`: `denied` when the token server refuses the login. */
  readonly get: (request: TokenRequest, signal?: AbortSignal) => Promise<string>;
  /** Whether the token, as the last `get` returned it, was requested for several scopes. */
  readonly isShared: (request: TokenRequest, token: string) => boolean;
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
    isShared(request, token) {
      const known = kept.get(keyOf(request));
      return known?.token === token && known.isShared;
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

type SendToTokenServer = (request: WireRequest, signal: AbortSignal) => Promise<WireAnswer>;

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

/** Parameters of a `Bearer` challenge. */
type TokenRequest = {
  readonly realm: URL;
  readonly service: string | undefined;
  /** E.g. `repository:library/nginx:pull`. */
  readonly scopes: readonly string[];
  readonly login: Login;
  /** Scopes that will be requested soon with the same login. */
  readonly companions?: Iterable<string>;
};

/**
 * A GET with the password (https://distribution.github.io/distribution/spec/auth/token/), or a POST
 * with the identity token (https://distribution.github.io/distribution/spec/auth/oauth/).
 */
function wireRequest({ realm, service, scopes, login }: TokenRequest): WireRequest {
  const { credential } = login;
  const common = { maxBytes: maxAnswerBytes, headers: { accept: 'application/json' } };
  if (credential?.kind === 'identity-token') {
    const form = new URLSearchParams({
      grant_type: 'refresh_token',
      service: service ?? realm.host,
      client_id: clientId,
      refresh_token: credential.identityToken,
      scope: scopes.join(' '),
    });
    const headers = { ...common.headers, 'content-type': 'application/x-www-form-urlencoded' };
    return { ...common, method: 'POST', url: realm, headers, body: form.toString() };
  }
  const url = new URL(realm.href);
  if (service !== undefined) url.searchParams.set('service', service);
  for (const scope of scopes) url.searchParams.append('scope', scope);
  if (credential?.kind !== 'password') return { ...common, method: 'GET', url };
  url.searchParams.set('account', credential.username);
  return { ...common, method: 'GET', url, headers: { ...common.headers, authorization: basic(credential) } };
}

/** https://www.rfc-editor.org/rfc/rfc7617.html */
function basic({ username, password }: { readonly username: string; readonly password: string }): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

/** Reads the answer of a token server. Throws a `HttpFailure` for an answer without a usable token. */
function readToken({ realm, login }: TokenRequest, answer: WireAnswer): { token: string; lifeMs: number } {
  const { host } = realm;
  const { status, body } = answer;
  if (status === 401 || status === 403) throw loginRefused(host, login, errorTextOf(answer));
  if (status >= 500) throw new HttpFailure('unreachable', `its token server answered with status ${status}`, { host });
  const fields = status === 200 ? parseJsonObject(body) : undefined;
  const token = [fields?.['token'], fields?.['access_token']]
    .map(stringOf)
    .find((text) => text !== undefined && text !== '');
  if (token === undefined || !fitsHeader(token))
    throw new HttpFailure('invalid', `its token server answered with status ${status} and no token`, {
      host,
    });
  return { token, lifeMs: lifeOf(fields?.['expires_in']) };
}

/** True if a header can carry the token. */
function fitsHeader(token: string): boolean {
  return token.length <= maxTokenLength && /^[\x21-\x7e]+$/.test(token);
}

function lifeOf(expiresIn: unknown): number {
  const seconds = typeof expiresIn === 'number' && expiresIn > 0 ? expiresIn : defaultLifeSeconds;
  const ms = seconds * 1000;
  return Math.max(ms - skewMs, ms / 2);
}

const maxTokenLength = 32 * 1024;

const maxAnswerBytes = 1024 * 1024;

/** https://distribution.github.io/distribution/spec/auth/token/#token-response-fields */
const defaultLifeSeconds = 60;

/** Margin for the transfer and for different clocks. A short lifetime is halved instead. */
const skewMs = 10_000;

const clientId = 'upkeep';

/** Decides which scopes share one token. After a failure, a realm or scope does not share for an hour. */
type SharedScopes = {
  /** `scope` with the `companions` that may share its token. */
  readonly choose: (realm: URL, scope: string, companions: Iterable<string>) => readonly string[];
  /** Records that the realm gave no usable token for several scopes. */
  readonly refusedBy: (realm: URL) => void;
  /** Records that a registry refused a shared token for this scope. */
  readonly refusedFor: (realm: URL, scope: string) => void;
};

function createSharedScopes(clock: Pick<Clock, 'monotonicMs'>): SharedScopes {
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
        if (chosen.length >= maxScopes || length + companion.length > maxScopesLength) break;
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
      if (scopes.size >= maxRefusals) refusedBy(realm);
    },
  };
}

/** A token lists its scopes and is sent in a header. Servers accept headers of 8 kB. */
const maxScopes = 50;
const maxScopesLength = 2500;

/**
 * A login rarely lacks access to more repositories. More refusals mean that the registry does not accept shared tokens.
 */
const maxRefusals = 4;

const memoryMs = 3_600_000;

const maxRealms = 256;

const noScopes: ReadonlySet<string> = new Set();

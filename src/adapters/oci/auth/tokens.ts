import { createHash } from 'node:crypto';
import type { Clock } from '../../../domain/outside/outside.ts';
import type { Login } from './credentials.ts';
import { loginRefused } from './denied.ts';
import { whyOf } from '../transport/error-body.ts';
import type { WireAnswer, WireRequest } from '../transport/exchange.ts';
import { RegistryFailure } from '../transport/failure.ts';
import { parseJsonObject, stringOf } from '../transport/json.ts';
import { createLru } from '../async/lru.ts';
import { createSingleFlight } from '../async/single-flight.ts';

/** Parameters of a `Bearer` challenge. */
export type TokenRequest = {
  readonly realm: URL;
  readonly service: string | undefined;
  /** E.g. `repository:library/nginx:pull`. */
  readonly scopes: readonly string[];
  readonly login: Login;
};

export type Tokens = {
  /** Throws a `RegistryFailure`: `registry-denied` when the token server refuses the login. */
  readonly get: (request: TokenRequest, signal?: AbortSignal) => Promise<string>;
  /** Makes the next `get` ask anew, unless another has done so already. */
  readonly forget: (request: TokenRequest, token: string) => void;
};

/** Keeps tokens until shortly before they expire; callers at the same time get the same one. */
export function createTokens(clock: Clock, send: SendToTokenServer): Tokens {
  const kept = createLru<{ readonly token: string; readonly untilMs: number }>(maxTokens);
  const flight = createSingleFlight<string>();

  return {
    async get(request, signal) {
      const key = keyOf(request);
      const known = kept.get(key);
      if (known !== undefined && clock.monotonicMs() < known.untilMs) return known.token;
      return flight(key, (shared) => fetchToken(request, key, shared), signal);
    },
    forget(request, token) {
      const key = keyOf(request);
      if (kept.get(key)?.token === token) kept.delete(key);
    },
  };

  async function fetchToken(request: TokenRequest, key: string, signal: AbortSignal): Promise<string> {
    const answer = await send(wireRequest(request), signal);
    const { token, lifeMs } = readToken(request, answer);
    kept.set(key, { token, untilMs: clock.monotonicMs() + lifeMs });
    return token;
  }
}

export type SendToTokenServer = (request: WireRequest, signal: AbortSignal) => Promise<WireAnswer>;

/** A token is 2 to 4 kB. */
const maxTokens = 1000;
const maxTokenLength = 32 * 1024;

const maxAnswerBytes = 1024 * 1024;

/** https://distribution.github.io/distribution/spec/auth/token/#token-response-fields */
const defaultLifeSeconds = 60;

/** Time for a token to travel, and for clocks that disagree; half of a life that is short. */
const skewMs = 10_000;

const clientId = 'upkeep';

/** The secret enters as a hash: keys live as long as the cache. */
function keyOf({ realm, service, scopes, login }: TokenRequest): string {
  const secret = createHash('sha256')
    .update(JSON.stringify(login.credential ?? null))
    .digest('base64');
  return JSON.stringify([realm.href, service, [...scopes].sort(), secret]);
}

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
export function basic({ username, password }: { readonly username: string; readonly password: string }): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

function readToken({ realm, login }: TokenRequest, answer: WireAnswer): { token: string; lifeMs: number } {
  const { host } = realm;
  const { status, body } = answer;
  if (status === 401 || status === 403) throw loginRefused(host, login, whyOf(answer));
  if (status >= 500)
    throw new RegistryFailure('registry-unreachable', `its token server answered with status ${status}`, { host });
  const fields = status === 200 ? parseJsonObject(body) : undefined;
  const token = [fields?.['token'], fields?.['access_token']]
    .map(stringOf)
    .find((text) => text !== undefined && text !== '');
  if (token === undefined || !fitsHeader(token))
    throw new RegistryFailure('registry-invalid', `its token server answered with status ${status} and no token`, {
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

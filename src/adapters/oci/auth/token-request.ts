import type { Login } from './credentials.ts';
import { loginRefused } from './denials.ts';
import { errorTextOf } from '../transport/answer.ts';
import type { WireAnswer, WireRequest } from '../../http/exchange.ts';
import { HttpFailure } from '../../http/failure.ts';
import { parseJsonObject, stringOf } from '../../../domain/text/json.ts';

/** Parameters of a `Bearer` challenge. */
export type TokenRequest = {
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
export function wireRequest({ realm, service, scopes, login }: TokenRequest): WireRequest {
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

/** Reads the answer of a token server. Throws a `HttpFailure` for an answer without a usable token. */
export function readToken({ realm, login }: TokenRequest, answer: WireAnswer): { token: string; lifeMs: number } {
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

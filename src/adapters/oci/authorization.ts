import { parseChallenges, type Challenge, type Scheme } from './hosts.ts';
import type { Login } from './credentials.ts';
import { cut, HttpFailure } from '../http/failure.ts';
import type { IsInsecure } from './endpoints.ts';
import { basic, type Tokens, type TokenRequest } from './tokens.ts';

/** Value of the `Authorization` header. */
export type Authorization = {
  readonly header: string;
  /** True if it contains a login or a token for a login. A token for anonymous users is not secret. */
  readonly isSecret: boolean;
  /** Call it after a refusal, so that the next request gets a new token. */
  readonly refused: () => void;
};

export type AuthorizationRequest = {
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
      return credential?.kind === 'password' ? { header: basic(credential), isSecret: true, refused } : undefined;
    if (credential?.kind === 'registry-token')
      return { header: `Bearer ${credential.registryToken}`, isSecret: true, refused };
    const realm = await realmOf(request, signal);
    const wanted: TokenRequest = { realm, service: challenge.parameters.get('service'), scopes, login, companions };
    const token = await tokens.get(wanted, signal);
    return {
      header: `Bearer ${token}`,
      isSecret: credential !== undefined,
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

import { chooseChallenge, type Authorization, type Authorize } from '../auth/authorization.ts';
import type { Challenge } from '../auth/challenge.ts';
import type { Credentials } from '../auth/credentials.ts';
import { denied, loginWithheld } from '../auth/denials.ts';
import { registryOfKey } from '../auth/docker-config.ts';
import type { Endpoint } from './endpoints.ts';
import { errorTextOf } from '../transport/answer.ts';
import type { Exchange, WireAnswer } from '../transport/exchange.ts';
import { RegistryFailure } from '../transport/failure.ts';
import type { HostState, Scheme } from '../auth/hosts.ts';
import type { IsInsecure } from '../transport/insecure.ts';
import { isTlsMismatch } from '../transport/network-errors.ts';
import type { RetryBounds } from '../limits/throttle.ts';
import { orAborted } from '../async/or-aborted.ts';

/** A request to a registry about one of its repositories. */
export type RegistryRequest = {
  readonly method: 'GET' | 'HEAD';
  readonly repository: string;
  /** Path below the repository, with an optional query: `manifests/latest`, `tags/list?n=1000`. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly maxBytes: number;
  /** Replaces the endpoint's own patience. */
  readonly patience?: RetryBounds;
  /**
   * A refusal is returned instead of thrown, because the caller has another way. The refusal of a login is still
   * thrown.
   */
  readonly isTentative?: boolean;
};

/**
 * Sends a request with the registry's login. Throws `registry-denied` for 401 and 403, and for a login
 * that a token server refuses; returns every other answer.
 */
export type Client = (endpoint: Endpoint, ask: RegistryRequest, signal?: AbortSignal) => Promise<WireAnswer>;

export type ClientOptions = {
  readonly hostOf: (name: string) => HostState;
  readonly exchange: Exchange;
  readonly authorize: Authorize;
  readonly credentials: Credentials;
  readonly isInsecure: IsInsecure;
  /** True if a login may be sent unencrypted. */
  readonly maySendPlainLogin: IsInsecure;
};

export function createClient(options: ClientOptions): Client {
  const { hostOf, exchange, authorize, credentials, isInsecure, maySendPlainLogin } = options;
  return request;

  /**
   * Sends a request, with a token if the host is known to require one. After a 401 it answers the challenge and sends
   * once more. During the first request to a host the others wait, so that they know its scheme and challenge.
   */
  async function request(endpoint: Endpoint, ask: RegistryRequest, signal?: AbortSignal): Promise<WireAnswer> {
    const host = hostOf(endpoint.host);
    const met = await host.meet(signal);
    const visit: RequestContext = { host, endpoint, ask, met, signal };
    try {
      const shown = host.challenge && (await meetChallenge(visit, host.challenge, defaultScopes(ask)));
      const answer = await send(visit, shown);
      if (!isDenial(answer)) return answer;
      if (answer.status !== 401 || answer.elsewhere !== undefined) return await turnedAway(visit, answer, shown);
      host.challenge = chooseChallenge(answer.headers['www-authenticate']);
      visit.met();
      return await askAgain(visit, shown, answer);
    } finally {
      visit.met();
    }
  }

  async function askAgain(
    visit: RequestContext,
    refused: Authorization | undefined,
    refusal: WireAnswer,
  ): Promise<WireAnswer> {
    const { ask } = visit;
    refused?.refused();
    const challenge = chooseChallenge(refusal.headers['www-authenticate']);
    const scopes = challenge?.parameters.get('scope')?.split(' ') ?? defaultScopes(ask);
    const shown = challenge && (await meetChallenge(visit, challenge, scopes));
    if (shown === undefined || shown.header === refused?.header) return turnedAway(visit, refusal, refused);
    const answer = await send(visit, shown);
    return isDenial(answer) ? turnedAway(visit, answer, shown) : answer;
  }

  async function meetChallenge(
    { host, endpoint, signal }: RequestContext,
    challenge: Challenge,
    scopes: readonly string[],
  ): Promise<Authorization | undefined> {
    const scheme = endpoint.scheme ?? host.scheme ?? 'https';
    const login = await orAborted(endpoint.login(), signal);
    if (login.credential !== undefined && !(await maySend(scheme, endpoint, signal)))
      throw loginWithheld(endpoint.host, login);
    const companions = endpoint.isBehind ? [] : host.foreseen;
    return authorize({ challenge, host: endpoint.host, scheme, scopes, login, companions }, signal);
  }

  async function turnedAway(
    visit: RequestContext,
    answer: WireAnswer,
    shown: Authorization | undefined,
  ): Promise<WireAnswer> {
    const { endpoint, ask, signal } = visit;
    const behind = registryBehind(visit, answer);
    if (behind !== undefined) {
      visit.met();
      return request(behind, ask, signal);
    }
    const isLoginRefused = answer.status === 401 && shown?.isSecret === true;
    if (ask.isTentative === true && !isLoginRefused) return answer;
    const login = await orAborted(endpoint.login(), signal);
    credentials.forget(login.registry);
    throw denied(endpoint.host, login, errorTextOf(answer));
  }

  /**
   * A registry may be another name for a second one, as lscr.io is for ghcr.io, and redirect to the same path there.
   * The second registry gets its own login; the login of the first is not sent to it.
   */
  function registryBehind(
    { endpoint, ask }: RequestContext,
    { status, elsewhere: url }: WireAnswer,
  ): Endpoint | undefined {
    const path = `/v2/${ask.repository}/${ask.path.replace(/\?.*$/s, '')}`;
    if (status !== 401 || url?.protocol !== 'https:' || endpoint.isBehind || !url.pathname.endsWith(path))
      return undefined;
    const login = () => credentials.findOwn(registryOfKey(url.host));
    const prefix = url.pathname.slice(0, -path.length);
    return { host: url.host, prefix, scheme: 'https', patience: endpoint.patience, login, isBehind: true };
  }

  function send(visit: RequestContext, shown: Authorization | undefined): Promise<WireAnswer> {
    const { host, endpoint, ask, signal } = visit;
    const { method, maxBytes, repository, path, patience = endpoint.patience } = ask;
    const place = `${endpoint.host}${endpoint.prefix}/v2/${repository}/${path}`;
    const speak: SendInScheme = async (scheme) => {
      const isShown = shown !== undefined && (!shown.isSecret || (await maySend(scheme, endpoint, signal)));
      const headers = isShown ? { ...ask.headers, authorization: shown.header } : ask.headers;
      return exchange({ method, url: new URL(`${scheme}://${place}`), headers, maxBytes }, signal);
    };
    return host.throttle(() => inItsScheme(visit, speak), patience, signal);
  }

  /** A mirror with `http:` was configured that way on purpose. */
  async function maySend(scheme: Scheme, { host, scheme: chosen }: Endpoint, signal?: AbortSignal): Promise<boolean> {
    return scheme === 'https' || chosen === 'http' || maySendPlainLogin(host, signal);
  }

  /** Tries an insecure registry with https first, as an engine does, and remembers the scheme that worked. */
  async function inItsScheme(
    { host, endpoint, met, signal }: RequestContext,
    speak: SendInScheme,
  ): Promise<WireAnswer> {
    const known = endpoint.scheme ?? host.scheme;
    try {
      return await sendAndLearnScheme(host, known ?? 'https', speak);
    } catch (error) {
      const mayBePlain = isUnreachable(error) && (known === undefined || (known === 'https' && isTlsMismatch(error)));
      if (!mayBePlain || endpoint.scheme !== undefined || !(await isInsecure(endpoint.host, signal))) throw error;
      if (isTlsMismatch(error)) {
        // The waiting requests only need the scheme: registries with plain HTTP seldom have a challenge.
        host.scheme = 'http';
        host.isKnown = true;
        met();
      }
      return await sendAndLearnScheme(host, 'http', speak).catch((plain: unknown) => {
        throw isUnreachable(plain) ? bothSchemesFailed(error, plain) : plain;
      });
    }
  }
}

/** One request with its host, endpoint and signal. */
type RequestContext = {
  readonly host: HostState;
  readonly endpoint: Endpoint;
  readonly ask: RegistryRequest;
  /** Lets the other requests continue. */
  readonly met: () => void;
  readonly signal: AbortSignal | undefined;
};

type SendInScheme = (scheme: Scheme) => Promise<WireAnswer>;

async function sendAndLearnScheme(host: HostState, scheme: Scheme, speak: SendInScheme): Promise<WireAnswer> {
  try {
    const answer = await speak(scheme);
    host.scheme = isPlainHttpRefused(scheme, answer) ? undefined : scheme;
    host.isKnown = true;
    return answer;
  } catch (error) {
    if (error instanceof RegistryFailure) host.scheme = undefined;
    throw error;
  }
}

/** Servers with TLS answer 400 to plain HTTP. */
function isPlainHttpRefused(scheme: Scheme, { status }: WireAnswer): boolean {
  return scheme === 'http' && status === 400;
}

function isDenial({ status }: WireAnswer): boolean {
  return status === 401 || status === 403;
}

function defaultScopes({ repository }: RegistryRequest): readonly string[] {
  return [pullScope(repository)];
}

/** https://distribution.github.io/distribution/spec/auth/scope/ */
export function pullScope(repository: string): string {
  return `repository:${repository}:pull`;
}

function isUnreachable(error: unknown): error is RegistryFailure {
  return error instanceof RegistryFailure && (error.code === 'registry-unreachable' || error.code === 'timeout');
}

function bothSchemesFailed(secure: RegistryFailure, plain: RegistryFailure): RegistryFailure {
  if (secure.message === plain.message) return plain;
  return new RegistryFailure(plain.code, `over https, ${secure.message}; over http, ${plain.message}`, {
    host: plain.host,
    remedy: secure.remedy,
    isTransient: secure.isTransient || plain.isTransient,
    cause: plain,
  });
}

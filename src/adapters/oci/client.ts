import { chooseChallenge, type Authorization, type Authorize } from './tokens.ts';
import type { Challenge, HostState, Scheme, Endpoint, IsInsecure } from './hosts.ts';
import { registryOfKey, type Credentials } from './credentials.ts';
import { denied, loginWithheld, errorTextOf } from './answer.ts';
import { HttpFailure, isTlsMismatch, type Exchange, type WireAnswer } from '../http/exchange.ts';
import type { RetryBounds } from './throttle.ts';
import { orAborted } from '../../domain/concurrency.ts';

/** A request to a registry about one of its repositories. */
type RegistryRequest = {
  readonly method: 'GET' | 'HEAD';
  readonly repository: string;
  /** Path below the repository, with an optional query: `manifests/latest`, `tags/list?n=1000`. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly maxBytes: number;
  /** Replaces the endpoint's bounds of retries. */
  readonly retryBounds?: RetryBounds;
  /**
   * Returns a refusal instead of throwing it, because the caller has an alternative. The refusal of a login is still
   * thrown.
   */
  readonly isTentative?: boolean;
};

/**
 * Sends a request with the registry's login. Throws `denied` for 401 and 403, and if a token server refuses
 * the login. Returns every other answer.
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
   * Sends a request, with a token if the host requires one. After a 401 it answers the challenge and retries once. After
   * a 403 for a token that is for other repositories too, it retries once with one for this repository alone.
   * Other requests wait for the first one to a host, which learns the scheme and the challenge.
   */
  async function request(endpoint: Endpoint, ask: RegistryRequest, signal?: AbortSignal): Promise<WireAnswer> {
    const host = hostOf(endpoint.host);
    const release = await host.meet(signal);
    const context: RequestContext = { host, endpoint, ask, release, signal };
    try {
      // The engine may have removed the host from its insecure registries.
      if (host.scheme === 'http' && endpoint.scheme === undefined && !(await isInsecure(endpoint.host, signal)))
        host.scheme = undefined;
      const authorization = host.challenge && (await answerChallenge(context, host.challenge, defaultScopes(ask)));
      const answer = await send(context, authorization);
      if (!isDenial(answer)) return answer;
      // A 403 may mean that the scopes of the token do not suffice: https://www.rfc-editor.org/rfc/rfc6750#section-3.1
      const isOfSharedToken = authorization?.isShared === true && ask.isTentative !== true;
      if (answer.elsewhere !== undefined || !(answer.status === 401 || isOfSharedToken))
        return await handleDenial(context, answer, authorization);
      if (answer.status === 401) host.challenge = chooseChallenge(answer.headers['www-authenticate']);
      context.release();
      return await retryWithChallenge(context, authorization, answer);
    } finally {
      context.release();
    }
  }

  async function retryWithChallenge(
    context: RequestContext,
    refused: Authorization | undefined,
    refusal: WireAnswer,
  ): Promise<WireAnswer> {
    const { ask } = context;
    refused?.refused();
    const asked = refusal.status === 401 ? chooseChallenge(refusal.headers['www-authenticate']) : undefined;
    const challenge = refusal.status === 401 ? asked : context.host.challenge;
    const named = asked?.parameters.get('scope')?.split(' ').filter(Boolean) ?? [];
    const scopes = named.length === 0 ? defaultScopes(ask) : named;
    const authorization = challenge && (await answerChallenge(context, challenge, scopes));
    if (authorization === undefined || authorization.header === refused?.header)
      return handleDenial(context, refusal, refused);
    const answer = await send(context, authorization);
    return isDenial(answer) ? handleDenial(context, answer, authorization) : answer;
  }

  async function answerChallenge(
    { host, endpoint, signal }: RequestContext,
    challenge: Challenge,
    scopes: readonly string[],
  ): Promise<Authorization | undefined> {
    const scheme = endpoint.scheme ?? host.scheme ?? 'https';
    const login = await orAborted(endpoint.login(), signal);
    if (login.credential !== undefined && !(await maySend(scheme, endpoint, signal)))
      throw loginWithheld(endpoint.host, login);
    const companions = endpoint.isBehind || login.isNamespaced ? [] : host.foreseen;
    return authorize({ challenge, host: endpoint.host, scheme, scopes, login, companions }, signal);
  }

  async function handleDenial(
    context: RequestContext,
    answer: WireAnswer,
    authorization: Authorization | undefined,
  ): Promise<WireAnswer> {
    const { endpoint, ask, signal } = context;
    const behind = await registryBehind(context, answer);
    if (behind !== undefined) {
      context.release();
      return { elsewhere: behind.url, ...(await request(behind.endpoint, behind.ask, signal)) };
    }
    const isLoginRefused = answer.status === 401 && authorization?.isSecret === true;
    if (ask.isTentative === true && !isLoginRefused) return answer;
    const login = await orAborted(endpoint.login(), signal);
    credentials.forget(login.registry);
    throw denied(endpoint.host, login, errorTextOf(answer));
  }

  /**
   * A registry may redirect to a second one, as lscr.io does to ghcr.io, and to another repository there, as a name of
   * its own for `ghcr.io/acme` does. The second registry is asked for a token for its own repository, as an engine does,
   * and gets its own login, never the login of the first.
   */
  async function registryBehind(
    { endpoint, ask, signal }: RequestContext,
    { status, elsewhere: url }: WireAnswer,
  ): Promise<{ readonly endpoint: Endpoint; readonly ask: RegistryRequest; readonly url: URL } | undefined> {
    if (status !== 401 || url === undefined || endpoint.isBehind) return undefined;
    const isSecure = url.protocol === 'https:';
    const place = placeIn(url, ask);
    if (place === undefined || !(isSecure || (await isInsecure(url.host, signal)))) return undefined;
    const { prefix, repository } = place;
    const login = () => credentials.findOwn(registryOfKey(url.host), repository);
    const scheme = isSecure ? 'https' : undefined;
    const behind = {
      host: url.host,
      prefix,
      scheme,
      retryBounds: endpoint.retryBounds,
      login,
      isBehind: true,
    } as const;
    return { endpoint: behind, ask: { ...ask, repository }, url };
  }

  function send(context: RequestContext, authorization: Authorization | undefined): Promise<WireAnswer> {
    const { host, endpoint, ask, signal } = context;
    const { method, maxBytes, repository, path, retryBounds = endpoint.retryBounds } = ask;
    const place = `${endpoint.host}${endpoint.prefix}/v2/${repository}/${path}`;
    const sendIn: SendInScheme = async (scheme) => {
      const isSent =
        authorization !== undefined && (!authorization.isSecret || (await maySend(scheme, endpoint, signal)));
      const headers = isSent ? { ...ask.headers, authorization: authorization.header } : ask.headers;
      return exchange({ method, url: urlOf(scheme, place), headers, maxBytes }, signal);
    };
    return host.throttle(() => inItsScheme(context, sendIn), retryBounds, signal);
  }

  /** True over https, for a mirror that is configured with `http:`, and by `maySendPlainLogin`. */
  async function maySend(scheme: Scheme, { host, scheme: chosen }: Endpoint, signal?: AbortSignal): Promise<boolean> {
    return scheme === 'https' || chosen === 'http' || maySendPlainLogin(host, signal);
  }

  /** Tries an insecure registry with https first, as an engine does, and remembers the scheme that worked. */
  async function inItsScheme(
    { host, endpoint, release, signal }: RequestContext,
    sendIn: SendInScheme,
  ): Promise<WireAnswer> {
    const known = endpoint.scheme ?? host.scheme;
    try {
      return await sendAndLearnScheme(host, known ?? 'https', sendIn);
    } catch (error) {
      const mayUsePlainHttp =
        isUnreachable(error) && (known === undefined || (known === 'https' && isTlsMismatch(error)));
      if (!mayUsePlainHttp || endpoint.scheme !== undefined || !(await isInsecure(endpoint.host, signal))) throw error;
      if (isTlsMismatch(error)) {
        // The waiting requests only need the scheme: registries with plain HTTP rarely have a challenge.
        host.scheme = 'http';
        host.isKnown = true;
        release();
      }
      return await sendAndLearnScheme(host, 'http', sendIn).catch((plain: unknown) => {
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
  /** Lets the waiting requests to the host continue. */
  readonly release: () => void;
  readonly signal: AbortSignal | undefined;
};

type SendInScheme = (scheme: Scheme) => Promise<WireAnswer>;

/** Engines accept more names and ports in a reference than a URL can have. */
function urlOf(scheme: Scheme, place: string): URL {
  const text = `${scheme}://${place}`;
  if (URL.canParse(text)) return new URL(text);
  throw new HttpFailure('unreachable', 'no host can have that name or port');
}

async function sendAndLearnScheme(host: HostState, scheme: Scheme, sendIn: SendInScheme): Promise<WireAnswer> {
  try {
    const answer = await sendIn(scheme);
    // Servers with TLS answer 400 to plain HTTP.
    host.scheme = scheme === 'http' && answer.status === 400 ? undefined : scheme;
    host.isKnown = true;
    return answer;
  } catch (error) {
    if (error instanceof HttpFailure) host.scheme = undefined;
    throw error;
  }
}

/** Where a redirect leads to, if it is the same thing: the same tag, digest or list, of a repository there. */
function placeIn(
  { pathname }: URL,
  { repository, path }: RegistryRequest,
): { readonly prefix: string; readonly repository: string } | undefined {
  const end = `/${path.replace(/\?.*$/s, '')}`;
  const same = `/v2/${repository}${end}`;
  if (pathname.endsWith(same)) return { prefix: pathname.slice(0, -same.length), repository };
  const [, prefix = '', other] = /^(.*?)\/v2\/([\w./-]{1,255})$/.exec(pathname.slice(0, -end.length)) ?? [];
  return other === undefined || !pathname.endsWith(end) ? undefined : { prefix, repository: other };
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

function isUnreachable(error: unknown): error is HttpFailure {
  return error instanceof HttpFailure && (error.code === 'unreachable' || error.code === 'timeout');
}

function bothSchemesFailed(secure: HttpFailure, plain: HttpFailure): HttpFailure {
  if (secure.message === plain.message) return plain;
  return new HttpFailure(plain.code, `over https, ${secure.message}; over http, ${plain.message}`, {
    host: plain.host,
    // Plain HTTP was used, so the engine lists the registry as insecure already.
    remedy: isTlsMismatch(secure) ? plain.remedy : secure.remedy,
    isTransient: secure.isTransient || plain.isTransient,
    cause: plain,
  });
}

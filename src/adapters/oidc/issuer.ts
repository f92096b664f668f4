import type * as OpenidClient from 'openid-client';
import type { BegunSignIn, Issuer, NamedByIssuer } from '../../domain/access/rights.ts';
import type { OidcSettings } from '../../domain/settings/http-settings.ts';
import type { Clock } from '../../domain/outside/outside.ts';
import { describeError, ServiceError } from '../../domain/text/errors.ts';
import { printable, quoted } from '../../domain/text/printable.ts';
import {
  createAgents,
  createAuthorities,
  createProxyChoice,
  type AuthorityOptions,
  type ProxyOptions,
} from '../http/agents.ts';
import { createExchange, createSentSecrets, HttpFailure } from '../http/exchange.ts';

type IssuerParts = {
  readonly settings: Omit<OidcSettings, 'clientSecret'>;
  /** Read at each sign-in; undefined: a public client. */
  readonly clientSecret: () => string | undefined;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly version: string;
  readonly proxy: ProxyOptions;
  /** The authorities of the registry client. */
  readonly trust: Omit<AuthorityOptions, 'certsFolder'>;
};

/**
 * Signs people in with the authorization code flow and PKCE. The issuer's metadata and keys are read again for every
 * sign-in, so that a rotated key is never an old one. openid-client is loaded with the first.
 */
export function createIssuer(parts: IssuerParts): Issuer {
  const { settings, clientSecret, clock, version } = parts;
  const host = new URL(settings.issuer).host;
  const agents = createAgents({
    clock,
    isInsecure: () => Promise.resolve(false),
    contextFor: createAuthorities({ ...parts.trust, certsFolder: undefined }),
    proxyFor: createProxyChoice(parts.proxy),
    maxSocketsPerOrigin: 4,
    deadlineMs,
  });
  const sent = createSentSecrets();
  const exchange = createExchange(agents, { deadlineMs, userAgent: `upkeep/${version}`, sent });

  async function send(
    url: string,
    { method, headers, body, signal }: OpenidClient.CustomFetchOptions,
  ): Promise<Response> {
    if (method !== 'GET' && method !== 'POST') throw new TypeError(`unexpected ${method}`);
    // It sends forms only.
    const sentBody = body instanceof URLSearchParams ? { body: body.toString() } : {};
    const answer = await exchange({ method, url: new URL(url), headers, ...sentBody, maxBytes }, signal);
    const type = answer.headers['content-type'];
    const isEmpty = [204, 205, 304].includes(answer.status);
    return new Response(isEmpty ? null : new Uint8Array(answer.body), {
      status: answer.status,
      headers: type === undefined ? {} : { 'content-type': type },
    });
  }

  async function discover() {
    const client = await import('openid-client');
    const secret = clientSecret();
    // The issuer knows it before it is sent.
    if (secret !== undefined) sent.note({}, new URLSearchParams({ client_secret: secret }).toString());
    const execute = [
      client.enableNonRepudiationChecks,
      ...(settings.issuer.startsWith('http:') ? [client.allowInsecureRequests] : []),
    ];
    const config = await client.discovery(
      new URL(settings.issuer),
      settings.clientId,
      { [client.clockTolerance]: toleranceSeconds },
      (as, ...rest) => authenticationFor(client, secret, as)(as, ...rest),
      { execute, timeout: deadlineMs / 1000, [client.customFetch]: send },
    );
    return { client, config };
  }

  return {
    credential: `oidc\n${settings.issuer}\n${settings.clientId}`,
    begin: (redirectUrl) =>
      inWords(async () => {
        const { client, config } = await discover();
        const begun = {
          redirectUrl,
          state: client.randomState(),
          nonce: client.randomNonce(),
          verifier: client.randomPKCECodeVerifier(),
        };
        const url = client.buildAuthorizationUrl(config, {
          redirect_uri: redirectUrl,
          scope: settings.scopes.join(' '),
          state: begun.state,
          nonce: begun.nonce,
          code_challenge: await client.calculatePKCECodeChallenge(begun.verifier),
          code_challenge_method: 'S256',
        });
        return { url: url.href, begun };
      }),
    finish: (query, begun) =>
      inWords(async () => {
        const { client, config } = await discover();
        const answer = new URL(begun.redirectUrl);
        answer.search = query;
        const tokens = await client.authorizationCodeGrant(config, answer, checksOf(begun));
        const claims = tokens.claims();
        if (claims === undefined) throw new ServiceError('service-invalid', 'it sent no ID token');
        const hasUserInfo = config.serverMetadata().userinfo_endpoint !== undefined;
        const more = hasUserInfo ? await client.fetchUserInfo(config, tokens.access_token, claims.sub) : {};
        return { ...personIn({ ...more, ...claims }, settings.groupsClaim), idToken: tokens.id_token };
      }),
    endUrl: (idToken) =>
      inWords(async () => {
        const { client, config } = await discover();
        if (config.serverMetadata().end_session_endpoint === undefined) return undefined;
        return client.buildEndSessionUrl(config, idToken === undefined ? {} : { id_token_hint: idToken }).href;
      }),
    close: agents.close,
  };

  /** Every failure as a reason for people. Texts of the issuer are bounded, and codes, tokens and the secret are in none. */
  async function inWords<Result>(ask: () => Promise<Result>): Promise<Result> {
    try {
      return await ask();
    } catch (error) {
      const showable = (text: string) => sent.showable(printable(text, maxRead));
      throw new ServiceError('service-refused', `${host}: ${reasonOf(error, showable)}`, { cause: error });
    }
  }
}

/** From connecting to the last byte of one answer. */
const deadlineMs = 10_000;
const maxBytes = 1024 * 1024;

/** Clocks of homes differ. */
const toleranceSeconds = 60;

/** Basic authentication is the default of the specification, and what issuers expect of a client that says nothing. */
function authenticationFor(
  client: typeof OpenidClient,
  secret: string | undefined,
  { token_endpoint_auth_methods_supported: methods }: OpenidClient.ServerMetadata,
): OpenidClient.ClientAuth {
  if (secret === undefined) return client.None();
  const isPost = methods !== undefined && !methods.includes('client_secret_basic');
  return isPost ? client.ClientSecretPost(secret) : client.ClientSecretBasic(secret);
}

function checksOf({ state, nonce, verifier }: BegunSignIn): OpenidClient.AuthorizationCodeGrantChecks {
  return { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce, idTokenExpected: true };
}

type Claims = Readonly<Record<string, unknown>>;

/**
 * An address counts only if the issuer says that it has verified it. The name is for lists and the log, where one who
 * calls himself by the address of another must not be taken for them.
 */
function personIn(claims: Claims, groupsClaim: string): Omit<NamedByIssuer, 'idToken'> {
  const email = textIn(claims, 'email');
  const isVerified = claims['email_verified'] === true || claims['email_verified'] === 'true';
  const verified = isVerified && email !== undefined ? { email } : {};
  const own = textIn(claims, 'preferred_username') ?? email ?? textIn(claims, 'sub') ?? '';
  const name = verified.email ?? (own.includes('@') ? `unverified:${own}` : own);
  const isUnverified = email !== undefined && !isVerified;
  return { name: printable(name, 100), ...verified, groups: groupsIn(claims, groupsClaim), isUnverified };
}

function textIn(claims: Claims, name: string): string | undefined {
  const value = claims[name];
  return typeof value === 'string' && value !== '' && value.length <= 300 ? value : undefined;
}

/** `realm_access.roles` is a field of a claim, unless a claim has that whole name. */
function groupsIn(claims: Claims, path: string): readonly string[] {
  let value: unknown = claims[path];
  if (value === undefined)
    for (const [at, part] of path.split('.').entries()) {
      const from: unknown = at === 0 ? claims : value;
      value =
        typeof from === 'object' && from !== null && Object.hasOwn(from, part) ? Reflect.get(from, part) : undefined;
    }
  const groups: readonly unknown[] = Array.isArray(value) ? value : [value];
  return groups.flatMap((group) => (typeof group === 'string' && group !== '' ? group : [])).slice(0, maxGroups);
}

const maxGroups = 500;

/** Secrets are looked for in so many characters of a text, of which fewer are shown. */
const maxRead = 2000;

function reasonOf(error: unknown, showable: (text: string) => string): string {
  for (let each: unknown = error, depth = 0; each instanceof Error && depth < 5; each = each.cause, depth += 1) {
    if (each instanceof HttpFailure || each instanceof ServiceError) return describeError(each);
    // https://datatracker.ietf.org/doc/html/rfc6749#section-4.1.2.1
    if ('error' in each && typeof each.error === 'string') {
      const why =
        'error_description' in each && typeof each.error_description === 'string' ? each.error_description : '';
      const words = why === '' ? '' : ` (${printable(showable(why), 200)})`;
      return `it refuses with ${quoted(showable(each.error), 60)}${words}`;
    }
    const code = 'code' in each && typeof each.code === 'string' ? each.code : '';
    const words = reasons[code];
    if (words !== undefined) return words;
  }
  const message = error instanceof Error ? error.message : '';
  return `its answer is not valid${message === '' ? '' : ` (${printable(showable(message), 200)})`}`;
}

/** Codes of oauth4webapi. */
const reasons: Readonly<Record<string, string>> = {
  OAUTH_TIMEOUT: 'it does not answer in time',
  OAUTH_ABORT: 'it does not answer in time',
  OAUTH_JWT_TIMESTAMP_CHECK_FAILED: 'its answer has expired or is not valid yet: compare the clocks of both machines',
};

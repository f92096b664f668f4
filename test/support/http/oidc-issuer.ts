import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, importJWK, type JWK, SignJWT } from 'jose';
import { Provider } from 'oidc-provider';
import type { OidcSettings } from '../../../src/domain/settings/http-settings.ts';

/** A person at the issuer, and the claims about them. */
export type Account = Readonly<Record<string, unknown>>;

/** How products differ: where claims are, what the issuer's address looks like, how a client proves itself. */
export type Product = {
  readonly path: string;
  readonly claimsIn: 'id token' | 'userinfo';
  readonly authentication: 'client_secret_basic' | 'client_secret_post' | 'none';
  readonly signsOut: boolean;
  readonly groupsClaim: string;
  readonly groupsOf: (groups: readonly string[]) => Account;
  readonly hasVerified: boolean;
};

export const products: Readonly<Record<'Authelia' | 'Authentik' | 'Keycloak' | 'Google', Product>> = {
  Authelia: {
    path: '',
    claimsIn: 'userinfo',
    authentication: 'client_secret_basic',
    signsOut: false,
    groupsClaim: 'groups',
    groupsOf: (groups) => ({ groups }),
    hasVerified: true,
  },
  Authentik: {
    path: '/application/o/upkeep',
    claimsIn: 'id token',
    authentication: 'client_secret_post',
    signsOut: true,
    groupsClaim: 'groups',
    groupsOf: (groups) => ({ groups }),
    hasVerified: false,
  },
  Keycloak: {
    path: '/realms/home',
    claimsIn: 'id token',
    authentication: 'client_secret_basic',
    signsOut: true,
    groupsClaim: 'realm_access.roles',
    groupsOf: (groups) => ({ realm_access: { roles: groups } }),
    hasVerified: true,
  },
  Google: {
    path: '',
    claimsIn: 'id token',
    authentication: 'client_secret_post',
    signsOut: false,
    groupsClaim: 'groups',
    groupsOf: () => ({ hd: 'example.com' }),
    hasVerified: true,
  },
};

/** Changes what the issuer sends. */
export type Tampering = {
  /** Claims of the ID token before it is signed again with the issuer's own key. */
  readonly claims?: (claims: Account) => Account;
  /** The whole ID token. */
  readonly token?: (token: string, sign: (claims: Account) => Promise<string>) => string | Promise<string>;
  /** The answer about the person, for issuers that keep claims there. */
  readonly userInfo?: (claims: Account) => Account;
  /** The metadata. */
  readonly metadata?: (metadata: Account) => Account;
  /** The address that the browser is sent back to. */
  readonly answer?: (location: URL) => URL;
  /** Makes the issuer refuse to exchange a code. Gets the form and the `Authorization` of the client. */
  readonly refusal?: (form: URLSearchParams, authorization: string) => Account;
};

export type OidcIssuer = {
  readonly url: string;
  readonly clientSecret: string | undefined;
  tampering: Tampering;
  /** The paths of requests, without their queries. */
  readonly asked: string[];
  /** Signs with another key from now on, and publishes only that. */
  readonly rotate: () => Promise<void>;
  readonly stop: () => Promise<void>;
};

type IssuerOptions = {
  readonly product: Product;
  /** Where people may be sent back to. */
  readonly redirectUrls: readonly string[];
  readonly port?: number;
};

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const chunk of request) body += String(chunk);
  return body;
}

/** By the name that is typed into the form. */
const people: Readonly<Record<string, readonly string[]>> = {
  anna: ['upkeep-admins', 'family'],
  otto: ['operators'],
  vera: ['viewers'],
  eve: [],
};

/** Of a service that is the client of this issuer; its secret is given apart. */
export function settingsOfClient({ url }: Pick<OidcIssuer, 'url'>, { groupsClaim }: Product): OidcSettings {
  return {
    issuer: url,
    clientId: 'upkeep',
    clientSecret: undefined,
    scopes,
    redirectUrl: undefined,
    groupsClaim,
  };
}

const scopes = ['openid', 'profile', 'email', 'groups'];

/** A port for redirect URLs, below those that Linux gives to outgoing connections: one of these could hold it at any time. */
export const portOfRedirects = (): number => 20_000 + Math.floor(Math.random() * 12_000);

/** oidc-provider as a product configures it, with a form that asks for a name only. */
export async function startIssuer({ product, redirectUrls, port = 0 }: IssuerOptions): Promise<OidcIssuer> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  // A listening server on TCP has such an address.
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const url = origin + product.path;
  const clientSecret = product.authentication === 'none' ? undefined : 'the-secret-of-this-client';
  let provider = await make();
  const issuer: OidcIssuer = {
    url,
    clientSecret,
    tampering: {},
    asked: [],
    async rotate() {
      provider = await make();
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  server.on('request', (request: IncomingMessage, response: ServerResponse) => void answer(request, response));
  return issuer;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const target = request.url ?? '';
    issuer.asked.push(target.split('?')[0] ?? '');
    if (!target.startsWith(product.path)) return void response.writeHead(404).end();
    Object.assign(request, { originalUrl: target, url: target.slice(product.path.length) || '/' });
    if (request.url?.startsWith('/interaction/') === true) return interact(request, response);
    const { refusal } = issuer.tampering;
    if (refusal !== undefined && request.url?.endsWith('/token') === true) return refuse(refusal, request, response);
    tamperWithAnswer(response);
    return void provider.callback()(request, response);
  }

  async function refuse(
    refusal: NonNullable<Tampering['refusal']>,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const said = refusal(new URLSearchParams(await bodyOf(request)), request.headers.authorization ?? '');
    response.writeHead(400, { 'Content-Type': 'application/json' }).end(JSON.stringify(said));
  }

  function tamperWithAnswer(response: ServerResponse): void {
    const setHeader = response.setHeader.bind(response);
    response.setHeader = (name, value) => {
      const { answer: change } = issuer.tampering;
      const isBack = change !== undefined && name.toLowerCase() === 'location' && String(value).includes('code=');
      return setHeader(name, isBack ? change(new URL(String(value))).href : value);
    };
  }

  async function interact(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { uid } = await provider.interactionDetails(request, response);
    if (request.method === 'GET') {
      const form = `<title>Issuer</title><form method="post" action="${product.path}/interaction/${uid}"><label>Name <input name="login" autofocus></label><button>Sign in</button></form>`;
      return void response.writeHead(200, { 'Content-Type': 'text/html' }).end(form);
    }
    const accountId = new URLSearchParams(await bodyOf(request)).get('login') ?? '';
    const result =
      accountId in people ? { login: { accountId } } : { error: 'access_denied', error_description: 'You may not' };
    return provider.interactionFinished(request, response, result);
  }

  async function make() {
    const { privateKey } = await generateKeyPair('RS256', { extractable: true });
    const kid = Math.random().toString(36).slice(2);
    const key: JWK = { ...(await exportJWK(privateKey)), kid, alg: 'RS256', use: 'sig' };
    const made = new Provider(url, {
      jwks: { keys: [key] },
      cookies: { keys: ['a key for cookies'] },
      clients: [
        {
          client_id: 'upkeep',
          ...(clientSecret !== undefined && { client_secret: clientSecret }),
          token_endpoint_auth_method: product.authentication,
          redirect_uris: [...redirectUrls],
          response_types: ['code'],
          grant_types: ['authorization_code'],
          ...(redirectUrls.some((each) => each.startsWith('http:')) && { application_type: 'web' }),
        },
      ],
      clientBasedCORS: () => false,
      conformIdTokenClaims: product.claimsIn === 'userinfo',
      scopes,
      claims: {
        openid: ['sub'],
        profile: ['preferred_username', 'name', 'hd'],
        email: ['email', 'email_verified'],
        groups: ['groups', 'realm_access'],
      },
      features: {
        devInteractions: { enabled: false },
        rpInitiatedLogout: { enabled: product.signsOut },
        userinfo: { enabled: true },
      },
      ttl: { Interaction: 600, Grant: 600, Session: 600, AccessToken: 600, IdToken: 600 },
      pkce: { required: () => true },
      interactions: { url: (_: unknown, { uid }: { readonly uid: string }) => `${product.path}/interaction/${uid}` },
      findAccount: (_: unknown, id: string) => ({
        accountId: id,
        claims: () => ({
          sub: id,
          preferred_username: id,
          email: `${id}@example.com`,
          email_verified: product.hasVerified,
          ...product.groupsOf(people[id] ?? []),
        }),
      }),
      async loadExistingGrant({ oidc: { client, session } }: Parameters<Parameters<Provider['use']>[0]>[0]) {
        const grant = new made.Grant({ clientId: client?.clientId, accountId: session?.accountId });
        grant.addOIDCScope('openid profile email groups');
        await grant.save();
        return grant;
      },
    });
    const signWith = async (claims: Account) =>
      new SignJWT({ ...claims }).setProtectedHeader({ alg: 'RS256', kid }).sign(await importJWK(key, 'RS256'));
    made.use(async (context, next) => {
      await next();
      const { body } = context;
      if (typeof body !== 'object' || body === null) return;
      const { claims, token, metadata, userInfo } = issuer.tampering;
      if (context.path.endsWith('/me') && userInfo !== undefined) context.body = userInfo({ ...body });
      if (context.path.endsWith('openid-configuration') && metadata !== undefined) context.body = metadata({ ...body });
      if (!('id_token' in body) || typeof body.id_token !== 'string') return;
      const sent = JSON.parse(Buffer.from(body.id_token.split('.')[1] ?? '', 'base64url').toString()) as Account;
      if (claims !== undefined) Object.assign(body, { id_token: await signWith(claims(sent)) });
      if (token !== undefined) Object.assign(body, { id_token: await token(body.id_token, signWith) });
    });
    return made;
  }
}

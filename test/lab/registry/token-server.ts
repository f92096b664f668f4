import { createSign, randomUUID, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Pki } from '../pki.ts';

/** Users of every test registry with a login: `writer` may do everything, `reader` may pull. */
export const users: Readonly<Record<string, string>> = { writer: 'write-secret', reader: 'read-secret' };

export type TokenRequest = {
  readonly method: string;
  readonly username: string | undefined;
  readonly service: string | null;
  readonly scopes: readonly string[];
  readonly status: number;
};

/**
 * Issues tokens as https://distribution.github.io/distribution/spec/auth/token/ specifies; anonymous clients may pull
 * `public/…` and `library/…`.
 */
export type TokenServer = {
  readonly url: string;
  readonly realm: string;
  /** All requests since the start. */
  readonly requests: readonly TokenRequest[];
  /** Answers the next `times` requests with this status. */
  readonly failNext: (times: number, status: number) => void;
  readonly close: () => Promise<void>;
};

export const tokenService = 'lab-registry';
export const tokenIssuer = 'lab-issuer';

export async function startTokenServer(pki: Pki, { lifetimeS = 60 } = {}): Promise<TokenServer> {
  const sign = signer(pki);
  const requests: TokenRequest[] = [];
  let failing = { times: 0, status: 503 };

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '/', 'http://token');
    const form = request.method === 'POST' ? new URLSearchParams(await readText(request)) : url.searchParams;
    const { username, password } = credentialsOf(request, form);
    const service = form.get('service');
    const scopes = form.getAll('scope').flatMap((scope) => scope.split(' '));
    const reply = (status: number, body: object): void => {
      requests.push({ method: request.method ?? '', username, service, scopes, status });
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    if (failing.times > 0) {
      failing = { ...failing, times: failing.times - 1 };
      reply(failing.status, { errors: [{ code: 'UNAVAILABLE' }] });
    } else if (username !== undefined && users[username] !== password) {
      reply(401, { errors: [{ code: 'UNAUTHORIZED', message: 'incorrect username or password' }] });
    } else {
      const nowS = Math.floor(Date.now() / 1000);
      const access = scopes.flatMap((scope) => grant(scope, username));
      const claims = {
        iss: tokenIssuer,
        sub: username ?? '',
        aud: service,
        nbf: nowS - 5,
        iat: nowS,
        exp: nowS + lifetimeS,
      };
      const token = sign({ ...claims, jti: randomUUID(), access });
      const issuedAt = new Date(nowS * 1000).toISOString();
      reply(200, { token, access_token: token, expires_in: lifetimeS, issued_at: issuedAt });
    }
  };
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    realm: `${url}/token`,
    requests,
    failNext: (times, status) => {
      failing = { times, status };
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** The part of a scope (`repository:name:pull,push`) that this user is allowed. */
function grant(scope: string, username: string | undefined): object[] {
  const [type, name, wanted] = /^(\w+):(.+):([\w,*]+)$/.exec(scope)?.slice(1) ?? [];
  if (type === undefined || name === undefined || wanted === undefined) return [];
  const mayPull = username !== undefined || /^(?:public|library)\//.test(name);
  const actions = wanted.split(',').filter((action) => username === 'writer' || (action === 'pull' && mayPull));
  return [{ type, name, actions }];
}

/** Basic authorization, or the form of an OAuth2 POST: https://distribution.github.io/distribution/spec/auth/oauth/ */
function credentialsOf(
  request: IncomingMessage,
  form: URLSearchParams,
): { readonly username: string | undefined; readonly password: string | undefined } {
  const basic = /^Basic (.+)$/i.exec(request.headers.authorization ?? '')?.[1];
  if (basic === undefined)
    return { username: form.get('username') ?? undefined, password: form.get('password') ?? undefined };
  const [username, ...password] = Buffer.from(basic, 'base64').toString().split(':');
  return { username, password: password.join(':') };
}

function signer(pki: Pki): (claims: object) => string {
  const key = readFileSync(pki.tokenKey);
  const certificate = new X509Certificate(readFileSync(pki.tokenCertificate)).raw.toString('base64');
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const head = encode({ typ: 'JWT', alg: 'ES256', x5c: [certificate] });
  return (claims) => {
    const body = `${head}.${encode(claims)}`;
    return `${body}.${createSign('sha256').update(body).sign({ key, dsaEncoding: 'ieee-p1363' }, 'base64url')}`;
  };
}

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

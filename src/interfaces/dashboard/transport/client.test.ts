import { afterEach, expect, test } from 'vitest';
import { type Answer, type HttpServer, startHttpServer } from '../../../../test/support/http/http-server.ts';
import { createClient, fetchReply } from './client.ts';
import { createReader } from './shared-reader.ts';
import { followEvents } from './stream.ts';

const tokens = (token: string) => ({ api: () => token, keep: () => undefined, forget: () => undefined });

let server: HttpServer | undefined;
afterEach(async () => {
  await server?.[Symbol.asyncDispose]();
  server = undefined;
});

async function replyTo(answer: Answer) {
  server = await startHttpServer(answer);
  return (await fetchReply(`${server.url}/v1/status`, 'secret', {})).reply;
}

async function streamTo(answer: Answer) {
  server = await startHttpServer(answer);
  const request = { url: `${server.url}/v1/events`, token: 'secret', since: '', signal: new AbortController().signal };
  return followEvents(request, { onOpen: () => undefined, onEvent: () => undefined });
}

const signInPage = '<!DOCTYPE html><html><body><form method="GET" action="/oauth2/start"></form></body></html>';
const html = { 'content-type': 'text/html' };
const json = { 'content-type': 'application/json; charset=utf-8' };

test.each(['secret\u200B', 'sec…ret'])(
  'a token that no header can carry (%j) is refused, not an absent service',
  async (token) => {
    const { get } = createReader();
    expect(await createClient(tokens(token), get)('v1/status')).toMatchObject({ kind: 'refused', status: 401 });
  },
);

test.each([
  ['a redirect', { status: 302, headers: { location: 'https://auth.test/' } }],
  ['a redirect to its own page', { status: 303, headers: { location: '/login' } }],
  ['a login page', { status: 200, headers: html, body: '<title>Sign in</title>' }],
  ['a page of 401', { status: 401, headers: { ...html, 'www-authenticate': 'Basic' }, body: '<h1>401</h1>' }],
  ['an empty 401', { status: 401 }],
  ['a page of 403', { status: 403, headers: html, body: '<h1>403</h1>' }],
  ['a 401 in JSON', { status: 401, headers: json, body: '{"message":"Unauthorized"}' }],
  ['a 403 in JSON', { status: 403, headers: json, body: '{}' }],
  ['a 401 in JSON with its own error', { status: 401, headers: json, body: '{"error":"Unauthorized"}' }],
  ['a 403 in JSON with its own error', { status: 403, headers: json, body: '{"error":"no access","request-id":"1"}' }],
  ['a 401 in plain text', { status: 401, headers: { 'content-type': 'text/plain' }, body: '401 Unauthorized' }],
])('%s of a proxy is no answer of Upkeep', async (_, answer) => {
  expect(await replyTo(() => answer)).toEqual({ kind: 'intercepted' });
});

/**
 * Answers to someone who has to sign in, of proxies that are in neither npm nor Debian:
 * - oauth2-proxy, `SignInPage`, `OAuthStart` and `ErrorJSON` of https://github.com/oauth2-proxy/oauth2-proxy/blob/master/oauthproxy.go
 * - Traefik, which passes the answer of its sign-on service on, without its hop-by-hop headers:
 *   https://github.com/traefik/traefik/blob/master/pkg/middlewares/auth/forward.go; Authelia answers it with a redirect or
 *   a page of 401, Authentik with a redirect
 */
const signInAnswers: readonly (readonly [string, Exclude<ReturnType<Answer>, Promise<unknown>>])[] = [
  [
    'oauth2-proxy, its page',
    { status: 403, headers: { 'content-type': 'text/html; charset=utf-8' }, body: signInPage },
  ],
  ['oauth2-proxy, to a program', { status: 401, headers: { 'content-type': 'application/json' } }],
  ['oauth2-proxy, to a program, newer', { status: 401, headers: { 'content-type': 'application/json' }, body: '{}' }],
  [
    'oauth2-proxy without its page',
    {
      status: 302,
      headers: { location: 'https://issuer.test/auth?client_id=upkeep', 'set-cookie': '_oauth2_proxy_csrf=x' },
    },
  ],
  [
    'oauth2-proxy behind auth_request',
    { status: 401, headers: { 'content-type': 'text/plain' }, body: 'Unauthorized\n' },
  ],
  [
    'Traefik with Authelia',
    {
      status: 302,
      headers: { ...html, location: 'https://auth.test/?rd=https%3A%2F%2Fnas.test%2Fupkeep%2Fv1%2Fstatus&rm=GET' },
      body: '<a href="https://auth.test/">302 Found</a>',
    },
  ],
  [
    'Traefik with Authelia, to a script',
    { status: 401, headers: html, body: '<a href="https://auth.test/">401 Unauthorized</a>' },
  ],
  [
    'Traefik with Authentik',
    {
      status: 302,
      headers: { location: 'https://nas.test/outpost.goauthentik.io/start?rd=x', 'set-cookie': 'authentik_proxy=x' },
    },
  ],
];

test.each(signInAnswers)('%s asks for a sign-in, to a request and to the stream of events', async (_, answer) => {
  expect(await replyTo(() => answer)).toEqual({ kind: 'intercepted' });
  expect(await streamTo(() => answer)).toBe('ended');
});

test.each([
  [401, '{"error":"Unauthorized"}', 'ended'],
  [403, '{"message":"no"}', 'ended'],
  [401, '{"error":"invalid or missing authentication token","api_version":"v1"}', 'refused'],
  [404, '{"error":"not found","api_version":"v1"}', 'refused'],
] as const)('a stream that gets %i with %s has %s', async (status, body, end) => {
  expect(await streamTo(() => ({ status, headers: json, body }))).toBe(end);
});

test.each([
  ['a refused token', { status: 401, headers: json, body: '{"error":"no","api_version":"v1"}' }, 'refused'],
  ['an answer without a body', { status: 204 }, 'ok'],
  ['the rate limit', { status: 429, headers: { 'content-length': '0' } }, 'refused'],
  ['a proxy that cannot reach Upkeep', { status: 502, headers: html, body: '<h1>502</h1>' }, 'refused'],
  ['an unknown path', { status: 404, headers: json, body: '{"error":"not found"}' }, 'refused'],
] as const)('%s is %j', async (_, answer, kind) => {
  expect((await replyTo(() => answer)).kind).toBe(kind);
});

test('the token is in the header that no proxy takes', async () => {
  await replyTo(() => ({ headers: json, body: '{}' }));
  expect(server?.seen[0]?.headers).toMatchObject({ 'x-upkeep-token': 'secret' });
  expect(server?.seen[0]?.headers.authorization).toBeUndefined();
});

test('readings at the same time are one request, and an old enough one serves another tab', async () => {
  let answered = 0;
  server = await startHttpServer(() => ({ headers: json, body: JSON.stringify({ answered: (answered += 1) }) }));
  const { get, forget } = createReader();
  const ask = async (maxAgeMs: number, token = '') =>
    (await get({ path: `${server?.url}/v1/status`, token, maxAgeMs })).reply;
  expect(await Promise.all([ask(200), ask(200), ask(9000)])).toEqual([1, 1, 1].map((n) => ok(n)));
  expect(await ask(9000)).toEqual(ok(1));
  expect(await ask(-1)).toEqual(ok(2));
  expect(await ask(9000, 'another')).toEqual(ok(3));
  forget();
  expect(await ask(9000)).toEqual(ok(4));
});

const ok = (answered: number) => ({ kind: 'ok', document: { answered } });

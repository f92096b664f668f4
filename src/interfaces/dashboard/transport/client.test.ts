import { afterEach, expect, test } from 'vitest';
import { type Answer, type HttpServer, startHttpServer } from '../../../../test/support/http/http-server.ts';
import { createClient, fetchReply } from './client.ts';
import { createReader } from './shared-reader.ts';

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
  ['a 401 in plain text', { status: 401, headers: { 'content-type': 'text/plain' }, body: '401 Unauthorized' }],
])('%s of a proxy is no answer of Upkeep', async (_, answer) => {
  expect(await replyTo(() => answer)).toEqual({ kind: 'intercepted' });
});

test.each([
  ['a refused token', { status: 401, headers: json, body: '{"error":"no"}' }, 'refused'],
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

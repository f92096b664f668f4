import { createSecureContext } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { startHttpServer, type Answer, type Reply } from '../../../test/support/http/http-server.ts';
import { canaryUrls } from '../../../test/support/notify/notify-canaries.ts';
import { aMessage, startRig } from '../../../test/support/notify/notify-rig.ts';

const says = (status: number, body: unknown): Reply => ({
  status,
  body: typeof body === 'string' ? body : JSON.stringify(body),
});

/** Answers from the documentation of the services, and their meaning. */
const refusals: readonly (readonly [service: string, reply: Reply, outcome: object])[] = [
  ['discord', says(404, { message: 'Unknown Webhook', code: 10_015 }), { failure: 'gone' }],
  [
    'discord',
    says(429, { message: 'You are being rate limited.', retry_after: 0.65 }),
    { failure: 'rate', retryAfterMs: 650 },
  ],
  ['discord', says(401, { message: 'Invalid Webhook Token', code: 50_027 }), { failure: 'auth' }],
  [
    'telegram',
    says(400, { ok: false, error_code: 400, description: 'Bad Request: chat not found' }),
    { failure: 'gone' },
  ],
  ['telegram', says(403, { ok: false, description: 'Forbidden: bot was blocked by the user' }), { failure: 'gone' }],
  ['telegram', says(401, { ok: false, description: 'Unauthorized' }), { failure: 'auth' }],
  [
    'telegram',
    says(429, { ok: false, description: 'Too Many Requests: retry after 5', parameters: { retry_after: 5 } }),
    { failure: 'rate', retryAfterMs: 5000 },
  ],
  [
    'gotify',
    says(401, { error: 'Unauthorized', errorCode: 401, errorDescription: 'you need to provide a valid token' }),
    { failure: 'auth' },
  ],
  ['ntfy', says(403, { code: 40_301, http: 403, error: 'forbidden' }), { failure: 'auth' }],
  ['slack', says(200, { ok: false, error: 'invalid_auth' }), { failure: 'auth' }],
  ['slack', says(200, { ok: false, error: 'channel_not_found' }), { failure: 'gone' }],
  ['slack', says(200, { ok: false, error: 'not_in_channel' }), { failure: 'rejected' }],
  ['pushover', says(400, { status: 0, errors: ['application token is invalid'] }), { failure: 'auth' }],
  ['teams', says(404, ''), { failure: 'gone' }],
  ['matrix', says(403, { errcode: 'M_FORBIDDEN', error: 'Invalid username or password' }), { failure: 'auth' }],
  ['matrix', says(429, { errcode: 'M_LIMIT_EXCEEDED', retry_after_ms: 2300 }), { failure: 'rate', retryAfterMs: 2300 }],
  ['bark', says(200, { code: 400, message: 'failed to get device token' }), { failure: 'rejected' }],
  ['lark', says(200, { code: 9499, msg: 'Bad Request' }), { failure: 'rejected' }],
  ['lark', says(200, { code: 9499, msg: 'too many request' }), { failure: 'rate' }],
  [
    'lark',
    says(200, { code: 11_232, msg: 'frequency limited psm[lark.oapi.app_platform_runtime]appID[1500]' }),
    { failure: 'rate' },
  ],
  [
    'wecom',
    says(200, { errcode: 45_009, errmsg: 'api freq out of limit, hint: [1] from ip: 1.2.3.4' }),
    { failure: 'rate' },
  ],
  ['wecom', says(200, { errcode: 93_000, errmsg: 'invalid webhook url' }), { failure: 'rejected' }],
  ['pushbullet', says(200, { active: false }), { failure: 'rejected' }],
  ['join', says(200, { success: false, errorMessage: 'User not found' }), { failure: 'rejected' }],
  ['twilio', says(400, { code: 21_211, message: "The 'To' number is not valid" }), { failure: 'rejected' }],
  ['healthchecks', says(200, 'OK (not found)'), { failure: 'gone' }],
  ['healthchecks', says(200, 'OK (rate limited)'), { failure: 'rate' }],
  ['healthchecks', says(409, 'ambiguous slug'), { failure: 'rejected' }],
  ['kuma', says(404, { ok: false, msg: 'Monitor not found or not active.' }), { failure: 'rejected' }],
  ['kuma', says(200, '<html>a login page</html>'), { failure: 'rejected' }],
  ['ntfy', says(200, '<html>a login page</html>'), { failure: 'rejected' }],
  ['telegram', says(200, ''), { failure: 'rejected' }],
  ['apprise', says(204, ''), { failure: 'gone' }],
  ['apprise', says(424, { error: 'some targets failed' }), { failure: 'rejected' }],
  ['webhook', says(410, ''), { failure: 'gone' }],
  ['generic', says(400, { message: 'no' }), { failure: 'rejected' }],
];

describe('an answer of', () => {
  test.each(refusals)('%s, %j, is %j', async (service, reply, outcome) => {
    const rig = await startRig(() => reply);
    expect(await rig.send(canaryUrls[service]!.url)).toMatchObject(outcome);
  });
});

describe('a message to several', () => {
  const url = 'telegram://1:abcdefgh@telegram?chats=1,2,3';
  const chatOf = (body: string): unknown => (JSON.parse(body) as { readonly chat_id: unknown }).chat_id;
  const ok = says(200, { ok: true });

  test('goes to each, whoever is not there, and the next try to those only that had none', async () => {
    let isBack = false;
    const answer: Answer = ({ body }) => (chatOf(body) === '2' && !isBack ? says(503, '') : ok);
    const rig = await startRig(answer);
    const target = rig.target(url);
    const signal = new AbortController().signal;
    expect(await target.send(aMessage(), signal)).toMatchObject({
      kind: 'failed',
      reason: '1 of 3 receivers: status 503',
    });
    isBack = true;
    expect(await target.send(aMessage(), signal)).toMatchObject({ kind: 'sent' });
    expect(rig.received.map(({ body }) => chatOf(body))).toEqual(['1', '2', '3', '2']);
    expect(await target.send(aMessage(), signal)).toMatchObject({ kind: 'sent' });
    expect(rig.received).toHaveLength(7);
  });

  test('is worth another try when one of them is', async () => {
    const rig = await startRig(({ body }) =>
      chatOf(body) === '3' ? says(500, '') : says(400, { description: 'chat not found' }),
    );
    expect(await rig.send(url)).toMatchObject({ failure: 'network', reason: '3 of 3 receivers: status 500' });
  });
});

describe('the way to a service', () => {
  const straight = { proxyFor: () => undefined };

  test('leads straight where there is no proxy, to whom we know or whom the URL allows', async () => {
    await using server = await startHttpServer(() => says(200, '{}'), { tls: true });
    const stranger = { ...straight, contextFor: () => Promise.resolve(createSecureContext()) };
    const rig = await startRig(() => 'drop', stranger);
    const url = `gotify://127.0.0.1:${server.port}/ToKeN1234`;
    expect(await rig.send(url)).toMatchObject({
      failure: 'network',
      reason: 'its certificate is signed by an unknown authority',
    });
    expect(server.seen).toEqual([]);
    expect(await rig.send(`${url}?insecureskipverify=yes`)).toMatchObject({ kind: 'sent' });
    await using plain = await startHttpServer(() => says(200, '{}'));
    expect(await rig.send(`gotify://127.0.0.1:${plain.port}/ToKeN1234?disabletls=yes`)).toMatchObject({ kind: 'sent' });
    expect(plain.lines()).toEqual(['POST /message?token=ToKeN1234']);
  });

  test('follows a redirect within the host with everything, but not out of TLS, and not for ever', async () => {
    const path = ({ url }: { readonly url: string }): string => new URL(url).pathname;
    const rig = await startRig((request) => {
      if (path(request) === '/old') return { status: 301, headers: { location: '/new' } };
      if (path(request) === '/plain') return { status: 307, headers: { location: 'http://hooks.example.com/new' } };
      if (path(request) === '/loop') return { status: 302, headers: { location: '/loop' } };
      return says(200, 'fine');
    });
    expect(await rig.send('generic://hooks.example.com/old')).toEqual({ kind: 'sent', answer: 'status 200: fine' });
    expect(rig.received.map(({ method, url, body }) => [method, url, body])).toEqual([
      ['POST', 'https://hooks.example.com/old', 'web was updated'],
      ['POST', 'https://hooks.example.com/new', 'web was updated'],
    ]);
    expect(await rig.send('generic://hooks.example.com/plain')).toMatchObject({ failure: 'rejected' });
    expect(await rig.send('generic://hooks.example.com/loop')).toMatchObject({ failure: 'rejected' });
    expect(rig.received.length).toBeLessThan(10);
  });

  test.each([
    ['another port', 'https://hooks.example.com:8443/new'],
    ['a port that is written out and differs', '//hooks.example.com:80/new'],
    ['another host', 'https://hooks.example.com.evil.example/new'],
    ['another scheme', 'ftp://hooks.example.com/new'],
  ])('follows no redirect to %s', async (_, location) => {
    const rig = await startRig(() => ({ status: 308, headers: { location } }));
    expect(await rig.send('generic://hooks.example.com/old')).toMatchObject({ failure: 'rejected' });
    expect(rig.received).toHaveLength(1);
  });

  test('says what is wrong with the proxy, without its login', async () => {
    await using proxy = await startHttpServer(() => 'drop', {
      onConnect: (_, socket) => void socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n'),
    });
    const rig = await startRig(() => 'drop', { proxyFor: () => new URL(proxy.url.replace('//', '//me:pr0xy-Pa55@')) });
    const outcome = await rig.send('generic://hooks.example.com/x');
    expect(outcome).toMatchObject({ failure: 'network', reason: expect.stringContaining('asks for a login') });
    expect(JSON.stringify(outcome)).not.toContain('pr0xy');
    expect(proxy.tunnels[0]?.headers['proxy-authorization']).toBe(`Basic ${btoa('me:pr0xy-Pa55')}`);
  });

  test('ends after 64 kB of an answer', async () => {
    const rig = await startRig(() => says(500, 'x'.repeat(10_000_000)));
    const outcome = await rig.send('generic://hooks.example.com/x');
    expect(outcome).toMatchObject({ failure: 'network' });
    expect(JSON.stringify(outcome).length).toBeLessThan(400);
  });

  test('does not begin after the abort', async () => {
    const rig = await startRig(() => says(200, ''));
    const outcome = await rig.target('generic://hooks.example.com/x').send(aMessage(), AbortSignal.abort());
    expect(outcome).toMatchObject({ kind: 'failed', failure: 'network' });
    expect(rig.received).toEqual([]);
  });
});

import { afterEach, describe, expect, test } from 'vitest';
import { type HttpScene, type SceneOptions, startHttp } from '../../support/http/http-scene.ts';
import { createScriptedService } from '../../support/http/scripted-service.ts';
import { createFakeClock } from '../../support/clock/fake-clock.ts';

let scene: HttpScene;
afterEach(() => scene.stop());

async function start(settings: SceneOptions['settings'], options: SceneOptions = {}): Promise<HttpScene> {
  scene = await startHttp(createScriptedService(), { ...options, settings: { ...settings } });
  return scene;
}

async function statuses(count: number, path = '/livez', headers = {}): Promise<number[]> {
  const all: number[] = [];
  for (let each = 0; each < count; each += 1) all.push((await scene.ask(path, { headers, token: null })).status);
  return all;
}

describe('the rate limit', () => {
  test('lets so many pass in a minute, and refuses the next without a body, saying when to come back', async () => {
    await start({ rateLimit: 5 });
    expect(await statuses(5)).toEqual([200, 200, 200, 200, 200]);
    const reply = await scene.ask('/livez');
    expect(reply.status).toBe(429);
    expect(reply.text).toBe('');
    expect(reply.headers['content-length']).toBe('0');
    expect(reply.headers['content-type']).toBeUndefined();
    expect(Number(reply.headers['retry-after'])).toBeGreaterThan(50);
    expect(Number(reply.headers['retry-after'])).toBeLessThanOrEqual(60);
  });

  test('counts down', async () => {
    await start({ rateLimit: 3 });
    const remaining = [];
    for (let each = 0; each < 3; each += 1)
      remaining.push((await scene.ask('/livez')).headers['x-ratelimit-remaining']);
    expect(remaining).toEqual(['2', '1', '0']);
  });

  test('slides: each request makes room exactly a minute after it', async () => {
    const clock = createFakeClock();
    await start({ rateLimit: 2 }, { clock });
    expect(await statuses(1)).toEqual([200]);
    await clock.advance(30_000);
    expect(await statuses(2)).toEqual([200, 429]);
    await clock.advance(29_999);
    expect(await statuses(1)).toEqual([429]);
    await clock.advance(1);
    expect(await statuses(2)).toEqual([200, 429]);
    await clock.advance(30_000);
    expect(await statuses(2)).toEqual([200, 429]);
  });

  test.each([
    ['GET', '/readyz'],
    ['GET', '/swagger/index.html'],
    ['GET', '/nope'],
    ['POST', '/livez'],
    ['GET', '/v1/containers'],
    ['GET', '/%zz'],
    ['OPTIONS', '/livez'],
  ])('comes before everything else: %s %s', async (method, path) => {
    await start({ rateLimit: 1 });
    expect((await scene.ask(path, { method, token: null })).status).not.toBe(429);
    expect((await scene.ask(path, { method, token: null })).status).toBe(429);
    expect((await scene.ask('/v1/containers', { token: 'wrong' })).status).toBe(429);
    expect((await scene.ask('/v1/update', { method: 'POST', body: Buffer.alloc(1_048_577) })).status).toBe(429);
  });

  test('leaves preflights alone', async () => {
    await start({ rateLimit: 1, corsOrigins: ['https://a.test'] });
    const headers = { origin: 'https://a.test', 'access-control-request-method': 'GET' };
    for (let each = 0; each < 5; each += 1)
      expect((await scene.ask('/v1/containers', { method: 'OPTIONS', headers })).status).toBe(204);
    expect(await statuses(2)).toEqual([200, 429]);
  });

  test('is for each client of its own', async () => {
    await start({ rateLimit: 1, host: '0.0.0.0' });
    const from = async (localAddress: string) => (await scene.ask('/livez', { localAddress })).status;
    expect([
      await from('127.0.0.1'),
      await from('127.0.0.2'),
      await from('127.0.0.1'),
      await from('127.0.0.2'),
    ]).toEqual([200, 200, 429, 429]);
  });

  test('does not believe a header that anyone can write', async () => {
    await start({ rateLimit: 2 });
    const codes = [];
    for (let each = 0; each < 4; each += 1)
      codes.push((await statuses(1, '/livez', { 'x-forwarded-for': `10.0.0.${each}` }))[0]);
    expect(codes).toEqual([200, 200, 429, 429]);
  });

  test('believes it from a trusted proxy', async () => {
    await start({ rateLimit: 1, trustedProxies: ['127.0.0.0/8'] });
    const client = (address: string) => statuses(1, '/livez', { 'x-forwarded-for': address });
    expect([
      await client('10.0.0.1'),
      await client('10.0.0.2'),
      await client('10.0.0.1'),
      await client('9.9.9.9, 10.0.0.2'),
    ]).toEqual([[200], [200], [429], [429]]);
  });

  test.each(['X-Real-IP', 'CF-Connecting-IP'])('reads the header %s when told so', async (proxyHeader) => {
    await start({ rateLimit: 1, trustedProxies: ['127.0.0.1'], proxyHeader });
    const client = (address: string) => statuses(1, '/livez', { [proxyHeader]: address, 'x-forwarded-for': '1.1.1.1' });
    expect([await client('10.0.0.1'), await client('10.0.0.2'), await client('10.0.0.1')]).toEqual([
      [200],
      [200],
      [429],
    ]);
  });

  test('takes garbage for the proxy itself', async () => {
    await start({ rateLimit: 1, trustedProxies: ['127.0.0.1'] });
    expect([
      await statuses(1, '/livez', { 'x-forwarded-for': 'garbage' }),
      await statuses(1, '/livez', { 'x-forwarded-for': 'more' }),
    ]).toEqual([[200], [429]]);
  });

  test('shows the client it takes a request to be from in the access log', async () => {
    await start({ trustedProxies: ['127.0.0.1'] });
    await statuses(1, '/livez', { 'x-forwarded-for': '2001:DB8::1' });
    const request = () => scene.lines.find(({ message }) => message === 'Request');
    await expect.poll(() => request()?.fields['client']).toBe('2001:db8::1');
  });
});

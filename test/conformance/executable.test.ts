import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { followEvents } from '../support/http/event-reader.ts';
import { ask, eventsToken } from '../support/http/http-scene.ts';
import { runUpkeep, startUpkeep, type UpkeepProcess } from '../support/scene/run-upkeep.ts';

/** The executable: refused arguments, output and exit codes. */
const folder = mkdtempSync(join(tmpdir(), 'upkeep-executable-'));
const fixtures = fileURLToPath(new URL('../fixtures/tls', import.meta.url));
writeFileSync(join(folder, 'empty'), '\n');
afterAll(() => rmSync(folder, { recursive: true }));

describe('upkeep run does not start', () => {
  test.each([
    ['with an unknown group', { UPKEEP_HTTP_API_ENDPOINTS: 'health,nope' }, /UPKEEP_HTTP_API_ENDPOINTS "health,nope"/],
    ['with all and another', { UPKEEP_HTTP_API_ENDPOINTS: 'all update' }, /"all" must be the only value/],
    [
      'without the API token',
      { UPKEEP_HTTP_API_ENDPOINTS: 'update' },
      /without a token: give one with --http-api-token/,
    ],
    [
      'without the events token',
      { UPKEEP_HTTP_API_ENDPOINTS: 'events', UPKEEP_HTTP_API_TOKEN: 'x' },
      /--http-api-events-token/,
    ],
    ['without a token for a switch of old', { WATCHTOWER_HTTP_API_UPDATE: 'true' }, /without a token/],
    ['with a bad port', { UPKEEP_HTTP_API_PORT: '70000' }, /UPKEEP_HTTP_API_PORT "70000"/],
    [
      'with a bad origin',
      { UPKEEP_HTTP_API_CORS_ORIGINS: 'example.com' },
      /UPKEEP_HTTP_API_CORS_ORIGINS "example\.com"/,
    ],
    ['with a bad host', { UPKEEP_HTTP_API_HOST: '300.1.1.1' }, /UPKEEP_HTTP_API_HOST "300\.1\.1\.1"/],
    [
      'with an empty token file',
      { UPKEEP_HTTP_API_ENDPOINTS: 'update', UPKEEP_HTTP_API_TOKEN: join(folder, 'empty') },
      /UPKEEP_HTTP_API_TOKEN/,
    ],
    ['with a bad proxy', { UPKEEP_HTTP_API_TRUSTED_PROXIES: 'proxy' }, /UPKEEP_HTTP_API_TRUSTED_PROXIES "proxy"/],
    [
      'with a token file that is not there',
      { UPKEEP_HTTP_API_ENDPOINTS: 'update', UPKEEP_HTTP_API_TOKEN: '/run/secrets/not-there' },
      /there is no such file/,
    ],
  ])('%s', async (_, env, message) => {
    const { code, stderr } = await runUpkeep(['run'], { env });
    expect(code).toBe(1);
    expect(stderr).toMatch(message);
  });

  test('and names all faults at once', async () => {
    const env = {
      UPKEEP_HTTP_API_ENDPOINTS: 'nope',
      UPKEEP_HTTP_API_PORT: 'x',
      UPKEEP_HTTP_API_RATE_LIMIT: 'y',
      UPKEEP_INTERVAL: 'z',
    };
    const { stderr } = await runUpkeep(['run'], { env });
    for (const name of Object.keys(env)) expect(stderr).toContain(name);
  });
});

describe('upkeep run where the engine is away', () => {
  test('serves the API, says so in /readyz, and ends with 0 when it is stopped', async () => {
    const service = startUpkeep(['run', '--host', `unix://${join(folder, 'no.sock')}`, '--http-api-port', '0'], {
      env: { UPKEEP_HTTP_API_ENDPOINTS: 'HEALTH update,containers', UPKEEP_HTTP_API_TOKEN: 'first' },
    });
    const url = await addressOf(service);
    await service.seen('Waiting for the container engine');
    const statusOf = async (target: string, method = 'GET') =>
      (await ask(url, target, { method, token: 'first' })).status;
    expect([await statusOf('/livez'), await statusOf('/startupz'), await statusOf('/readyz')]).toEqual([200, 200, 503]);
    expect([await statusOf('/v1/containers'), await statusOf('/v1/update', 'POST')]).toEqual([503, 500]);
    expect([await statusOf('/v1/check', 'POST'), await statusOf('/swagger/index.html')]).toEqual([404, 404]);
    service.child.kill('SIGTERM');
    expect((await service.ended).code).toBe(0);
  });

  test.each(['json', 'logfmt'])(
    'all lines of a log in %s have that format, also about a stop and a failure',
    async (format) => {
      const args = ['run', '--host', `unix://${join(folder, 'no.sock')}`, '--log-format', format, '--http-api-port'];
      const env = { UPKEEP_HTTP_API_ENDPOINTS: 'health' };
      const isLine = (line: string) => (format === 'json' ? line.startsWith('{"time":"') : line.startsWith('time='));
      const service = startUpkeep([...args, '0'], { env });
      const { port } = new URL(await addressOf(service));
      const failed = await runUpkeep([...args, port], { env });
      service.child.kill('SIGTERM');
      const stopped = await service.ended;
      expect([stopped.code, failed.code]).toEqual([0, 1]);
      const lines = `${stopped.stderr}${failed.stderr}`.trimEnd().split('\n');
      expect(lines.filter((line) => !isLine(line))).toEqual([]);
      expect(stopped.stderr).toContain('Stopping at the next safe point');
      expect(failed.stderr).toContain('Cannot listen on');
    },
  );

  test('and serves the groups that the switches of old name', async () => {
    const service = startUpkeep(['run', '--host', `unix://${join(folder, 'no.sock')}`, '--http-api-metrics'], {
      env: { WATCHTOWER_HTTP_API_CONTAINERS: 'true', WATCHTOWER_HTTP_API_TOKEN: 'old', UPKEEP_HTTP_API_PORT: '0' },
    });
    const url = await addressOf(service);
    const statusOf = async (target: string) => (await ask(url, target, { token: 'old' })).status;
    expect([await statusOf('/v1/metrics'), await statusOf('/v1/status')]).toEqual([200, 204]);
    expect([await statusOf('/v1/containers'), await statusOf('/livez')]).toEqual([503, 404]);
    expect(service.output()).toContain('--http-api-endpoints');
    service.child.kill('SIGTERM');
    await service.ended;
  });
});

describe('upkeep demo', () => {
  test('has everything on, tells where and with which tokens, and ends its streams when it is stopped', async () => {
    const { demo, url } = await startDemo();
    const [, api = '', events = ''] = /API token: (\S+), events token: (\S+)/.exec(demo.output()) ?? [];
    for (const path of [
      '/livez',
      '/v1/containers',
      '/v1/containers/details',
      '/v1/images',
      '/v1/history',
      '/v1/config',
      '/v1/metrics',
      '/swagger/index.html',
      '/swagger/doc.json',
    ]) {
      expect([path, (await ask(url, path, { token: api })).status]).toEqual([path, 200]);
    }
    expect((await ask(url, '/v1/containers', { token: api })).json().count).toBe(14);
    const { reads_events: isLive } = (await ask(url, '/v1/status?extra=true', { token: api })).json();
    expect(isLive, 'the page is live with the one token it asks for').toBe(true);
    const reader = await followEvents(url, { headers: { authorization: `Bearer ${events}` } });
    await reader.until((text) => text.includes('event: scan_started'));
    demo.child.kill('SIGTERM');
    await reader.ended;
    expect((await demo.ended).code).toBe(0);
  });

  test('takes the tokens it is given, and shows them in no log and no reply', async () => {
    const { demo, url } = await startDemo([
      ...['--http-api-token', 'my-own-token', '--http-api-events-token', eventsToken],
      ...['--log-level', 'debug'],
    ]);
    const config = await ask(url, '/v1/config', { token: 'my-own-token' });
    expect(config.json().options).toContainEqual(
      expect.objectContaining({ name: 'http-api-token', value: '***', source: '--http-api-token' }),
    );
    expect(config.text).not.toContain('my-own-token');
    await ask(url, `/v1/events?access_token=${eventsToken}`, { method: 'HEAD', token: null });
    demo.child.kill('SIGINT');
    const { stderr } = await demo.ended;
    expect(stderr).not.toMatch(/my-own-token|events-token-for-tests/);
    expect(stderr).toContain('"path":"/v1/events"');
  });

  test('survives updates that meet its own rounds', async () => {
    const { demo, url } = await startDemo(['--http-api-rate-limit', '1000000']);
    const [, token = ''] = /API token: (\S+),/.exec(demo.output()) ?? [];
    const hasMet = () => demo.output().includes('An update requested over the API is under way');
    while (!hasMet()) expect([200, 429]).toContain((await ask(url, '/v1/update', { method: 'POST', token })).status);
    await demo.seen('Round 3');
    demo.child.kill('SIGTERM');
    expect((await demo.ended).code).toBe(0);
  });

  test('finds another port when its own is taken', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => taken.once('listening', resolve));
    const { port } = taken.address() as AddressInfo;
    const { demo, url } = await startDemo(['--http-api-port', String(port)]);
    expect(new URL(url).port).not.toBe(String(port));
    demo.child.kill('SIGINT');
    await demo.ended;
    taken.close();
  });

  test('follows a token file without a restart', async () => {
    const path = join(folder, 'token');
    writeFileSync(path, 'first\n');
    const { demo, url } = await startDemo(['--http-api-token', path]);
    const statusWith = async (token: string) => (await ask(url, '/v1/config', { token })).status;
    expect([await statusWith('first'), await statusWith('second')]).toEqual([200, 401]);
    writeFileSync(path, 'second\n');
    expect([await statusWith('first'), await statusWith('second')]).toEqual([401, 200]);
    demo.child.kill('SIGINT');
    await demo.ended;
  });

  test('serves HTTPS with a certificate and its key, and HTTP with a line of level error when one is missing', async () => {
    const [cert, key] = ['server.pem', 'server.key'].map((name) => join(fixtures, name));
    const both = await startDemo(['--http-api-tls-cert', cert ?? '', '--http-api-tls-key', key ?? '']);
    expect(both.url).toMatch(/^https:/);
    expect((await ask(both.url, '/swagger/doc.json')).json().schemes).toEqual(['https']);
    const one = await startDemo(['--http-api-tls-cert', cert ?? '']);
    expect(one.url).toMatch(/^http:/);
    expect(one.demo.output()).toContain('"level":"error"');
    expect(one.demo.output()).toContain(
      'The API is served over plain HTTP, without TLS: --http-api-tls-key is missing',
    );
    expect((await ask(one.url, '/swagger/doc.json')).json().schemes).toEqual(['http']);
    for (const { demo } of [both, one]) {
      demo.child.kill('SIGINT');
      await demo.ended;
    }
  });

  test('lets a client ask 60 times in a minute unless told otherwise', async () => {
    const { demo, url } = await startDemo();
    const statuses = [];
    for (let each = 0; each < 61; each += 1) statuses.push((await ask(url, '/livez', { token: null })).status);
    expect(statuses).toEqual([...Array.from({ length: 60 }, () => 200), 429]);
    demo.child.kill('SIGINT');
    await demo.ended;
  });

  test('is up as soon as it names its address', async () => {
    const { demo, url } = await startDemo();
    expect((await ask(url, '/startupz', { token: null })).status).toBe(200);
    demo.child.kill('SIGINT');
    await demo.ended;
  });
});

async function addressOf(service: UpkeepProcess): Promise<string> {
  await service.seen('listening');
  return /\baddress"?[:=]"?([^"\s]+)/.exec(service.output())?.[1] ?? '';
}

async function startDemo(
  args: readonly string[] = [],
): Promise<{ readonly demo: UpkeepProcess; readonly url: string }> {
  const demo = startUpkeep(['demo', ...(args.includes('--http-api-port') ? [] : ['--http-api-port', '0']), ...args]);
  const url = await addressOf(demo);
  await demo.seen('API token: ');
  await sleep(10);
  return { demo, url };
}

test('a service without OpenID Connect loads nothing of it: its routes and its client are files of their own', () => {
  const dist = fileURLToPath(new URL('../../dist', import.meta.url));
  const text = (name: string) => readFileSync(join(dist, name), 'utf8');
  const loaded = new Set<string>();
  const load = (name: string): void => {
    if (loaded.has(name)) return;
    loaded.add(name);
    for (const [, next = ''] of text(name).matchAll(/(?:from|import)\s*"\.\/([\w-]+\.js)"/g)) load(next);
  };
  for (const name of ['main.js', 'start.js', 'work.js', 'http.js']) load(name);
  const ofIssuer = readdirSync(dist).filter((name) => name.endsWith('.js') && text(name).includes('oidc-sign-in'));
  expect(ofIssuer).toHaveLength(1);
  expect([...loaded].filter((name) => ofIssuer.includes(name) || text(name).includes('openid-client'))).toEqual([]);
});

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { apiToken, eventsToken, type HttpScene, type SceneOptions, startHttp } from '../support/http/http-scene.ts';
import { createScriptedService } from '../support/http/scripted-service.ts';
import { buildPage } from '../support/pages/built-page.ts';

const { folder, remove } = buildPage();
afterAll(remove);

let scene: HttpScene;
afterEach(() => scene.stop());

async function start(settings: SceneOptions['settings'] = {}): Promise<HttpScene> {
  scene = await startHttp(createScriptedService(), { settings, dashboardFolder: folder });
  return scene;
}

/** As oauth2-proxy passes it on with `--pass-authorization-header`. */
const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
const idToken = `${part({ alg: 'RS256', kid: '1' })}.${part({ iss: 'https://issuer.test', sub: 'anna' })}.c2lnbmVk`;

const basic = `Basic ${Buffer.from('anna:secret').toString('base64')}`;

describe('X-Upkeep-Token', () => {
  test.each([
    ['alone', { 'x-upkeep-token': apiToken }, 200],
    ['beside the basic auth of a proxy', { 'x-upkeep-token': apiToken, authorization: basic }, 200],
    ['beside the digest auth of a proxy', { 'x-upkeep-token': apiToken, authorization: 'Digest username="x"' }, 200],
    ['beside an empty Authorization', { 'x-upkeep-token': apiToken, authorization: '' }, 200],
    ['wrong, beside the right Authorization', { 'x-upkeep-token': 'no', authorization: `Bearer ${apiToken}` }, 200],
    ['beside the id token of a sign-on', { 'x-upkeep-token': apiToken, authorization: `Bearer ${idToken}` }, 200],
    ['wrong, beside the id token of a sign-on', { 'x-upkeep-token': 'no', authorization: `Bearer ${idToken}` }, 401],
    ['not there, beside the id token of a sign-on', { authorization: `Bearer ${idToken}` }, 401],
    ['right, beside a wrong Authorization', { 'x-upkeep-token': apiToken, authorization: 'Bearer wrong' }, 401],
    ['right, beside a wrong bare token', { 'x-upkeep-token': apiToken, authorization: 'wrong' }, 401],
    ['wrong', { 'x-upkeep-token': 'wrong' }, 401],
    ['with the events token', { 'x-upkeep-token': eventsToken }, 401],
    ['empty', { 'x-upkeep-token': '' }, 401],
    ['twice', { 'x-upkeep-token': [apiToken, apiToken] }, 401],
  ])('%s', async (_, headers, status) => {
    await start();
    expect((await scene.ask('/v1/containers', { token: null, headers })).status).toBe(status);
    expect((await scene.ask('/v1/update?dry_run=true', { method: 'POST', token: null, headers })).status).toBe(status);
  });

  test('opens the events with the events token, and with no other', async () => {
    await start();
    const status = async (token: string) =>
      (await scene.ask('/v1/events', { method: 'HEAD', token: null, headers: { 'x-upkeep-token': token } })).status;
    expect([await status(eventsToken), await status(apiToken)]).toEqual([200, 401]);
  });

  test('never reaches the log, nor the headers that pages of other origins may send', async () => {
    await start({ corsOrigins: ['https://a.test'] });
    await scene.ask('/v1/containers', { token: null, headers: { 'x-upkeep-token': apiToken, authorization: basic } });
    await scene.ask('/v1/containers', { token: null, headers: { 'x-upkeep-token': 'wrong-secret' } });
    await scene.stop();
    expect(JSON.stringify(scene.lines)).not.toMatch(/wrong-secret|api-token/);
    await start({ corsOrigins: ['https://a.test'] });
    const headers = { origin: 'https://a.test', 'access-control-request-method': 'GET' };
    const preflight = await scene.ask('/v1/containers', { method: 'OPTIONS', headers });
    expect(preflight.headers['access-control-allow-headers']).not.toMatch(/upkeep/i);
  });
});

/**
 * Traefik and oauth2-proxy are in neither npm nor Debian, so their requests are replayed: `stripprefix/strip_prefix.go` and
 * `forwardedheaders/forwarded_header.go` of https://github.com/traefik/traefik/tree/master/pkg/middlewares, and
 * `addHeadersForProxying` of https://github.com/oauth2-proxy/oauth2-proxy/blob/master/oauthproxy.go.
 */
describe('requests as a proxy writes them', () => {
  const traefik = {
    host: 'nas.test',
    'x-forwarded-for': '192.168.1.7',
    'x-forwarded-host': 'nas.test',
    'x-forwarded-port': '443',
    'x-forwarded-prefix': '/upkeep',
    'x-forwarded-proto': 'https',
    'x-forwarded-server': 'traefik-1',
    'x-real-ip': '192.168.1.7',
    'accept-encoding': 'gzip',
  };
  const oauth2Proxy = {
    host: 'upkeep.test',
    authorization: `Bearer ${idToken}`,
    'x-forwarded-user': '4711',
    'x-forwarded-email': 'anna@example.com',
    'x-forwarded-groups': 'staff,admins',
    'x-forwarded-preferred-username': 'anna',
    'x-forwarded-access-token': 'an-access-token',
    'x-forwarded-for': '192.168.1.7',
    'x-forwarded-host': 'upkeep.test',
    'x-forwarded-proto': 'https',
    'x-forwarded-uri': '/v1/containers',
    cookie: '_oauth2_proxy=x|1|y; _oauth2_proxy_csrf=z',
  };

  test.each([
    ['Traefik with stripPrefix', traefik],
    ['oauth2-proxy with every header', oauth2Proxy],
    ['oauth2-proxy with --pass-basic-auth', { ...oauth2Proxy, authorization: basic }],
  ])('%s: a program with its token, the page, and its stream are answered', async (_, headers) => {
    await start({ trustedProxies: ['127.0.0.1'] });
    const ask = (target: string, more: object = {}, method = 'GET') =>
      scene.ask(target, { method, token: null, headers: { ...headers, ...more } });
    const own = { 'x-upkeep-token': apiToken };
    expect((await ask('/')).status).toBe(200);
    expect((await ask('/dashboard/page.js')).status).toBe(200);
    expect((await ask('/v1/containers')).status).toBe(401);
    expect((await ask('/v1/containers', own)).status).toBe(200);
    expect((await ask('/v1/events', { 'x-upkeep-token': eventsToken }, 'HEAD')).status).toBe(200);
    const changing = { ...own, origin: `https://${headers.host}`, 'x-upkeep-page': '1' };
    expect((await ask('/v1/update?dry_run=true', changing, 'POST')).status).toBe(200);
    await scene.stop();
    expect(JSON.stringify(scene.lines)).not.toMatch(/an-access-token|c2lnbmVk|_oauth2_proxy|api-token/);
    // The log has the client, not the proxy.
    const clients = scene.lines.flatMap(({ message, fields }) => (message === 'Request' ? [fields['client']] : []));
    expect(new Set(clients)).toEqual(new Set(['192.168.1.7']));
  });
});

describe('a proxy that is not trusted', () => {
  const warnings = () => scene.lines.filter(({ level, message }) => level === 'warn' && message.includes('proxy'));

  test.each([
    ...['X-Forwarded-For', 'X-Real-IP', 'Forwarded', 'X-Forwarded-Host', 'X-Forwarded-Proto'],
    ...['CF-Connecting-IP', 'True-Client-IP', 'X-Client-IP', 'X-Forwarded-Server', 'Via'],
  ])('is told once when it sends %s, with the option that helps', async (header) => {
    await start();
    for (let each = 0; each < 3; each += 1) await scene.ask('/livez', { headers: { [header]: `192.0.2.${each}` } });
    expect(warnings()).toHaveLength(1);
    expect(warnings()[0]?.fields['remedy']).toBe('if it is yours, add --http-api-trusted-proxies 127.0.0.1');
  });

  test('is told if it is trusted but names its clients in another header than the one that is read', async () => {
    await start({ host: '0.0.0.0', trustedProxies: ['127.0.0.0/8'] });
    for (let each = 0; each < 3; each += 1)
      await scene.ask('/livez', { headers: { 'x-real-ip': `192.0.2.${each}` }, localAddress: '127.0.0.2' });
    await scene.ask('/livez');
    await scene.ask('/livez', { headers: { 'x-real-ip': '192.0.2.1', 'x-forwarded-for': '192.0.2.1' } });
    expect(warnings()).toMatchObject([
      { fields: { proxy: '127.0.0.2', header: 'x-real-ip', remedy: 'add --http-api-proxy-header x-real-ip' } },
    ]);
  });

  test('is told with its own header, and beside another that is trusted', async () => {
    await start({ host: '0.0.0.0', trustedProxies: ['127.0.0.1'], proxyHeader: 'CF-Connecting-IP' });
    const headers = { 'cf-connecting-ip': '192.0.2.1' };
    await scene.ask('/livez', { headers });
    expect(warnings()).toEqual([]);
    await scene.ask('/livez', { headers, localAddress: '127.0.0.2' });
    expect(JSON.stringify(warnings())).toContain('127.0.0.2');
  });

  test('is not told without such a header, and strangers cannot fill the log with it', async () => {
    await start({ host: '0.0.0.0' });
    await scene.ask('/livez');
    expect(warnings()).toEqual([]);
    const headers = { 'x-forwarded-for': '192.0.2.1' };
    for (let each = 1; each < 40; each += 1) await scene.ask('/livez', { headers, localAddress: `127.0.0.${each}` });
    expect(warnings().length).toBeLessThanOrEqual(10);
  });
});

describe('a base path', () => {
  test.each(['/upkeep', '/tools/upkeep'])(
    '%s is in front of every path, which also works without it',
    async (basePath) => {
      await start({ basePath });
      for (const path of [
        '/',
        '/dashboard/page.js',
        '/v1/containers',
        '/v1/containers/',
        '/livez',
        '/swagger/index.html',
      ])
        for (const target of [path, basePath + path])
          expect([target, (await scene.ask(target)).status]).toEqual([target, 200]);
      expect((await scene.ask(`${basePath}/v1/containers?name=nothing`)).json().count).toBe(0);
      expect((await scene.ask(`${basePath}/nope`)).status).toBe(404);
      expect((await scene.ask(`${basePath}x/livez`)).status).toBe(404);
      expect((await scene.ask(`${basePath}${basePath}/livez`)).status).toBe(404);
      expect((await scene.ask(`${basePath}/livez`, { method: 'POST' })).status).toBe(405);
    },
  );

  test('without its slash leads to the page, with the query kept', async () => {
    await start({ basePath: '/upkeep' });
    for (const [target, location] of [
      ['/upkeep', '/upkeep/'],
      ['/upkeep?a=b', '/upkeep/?a=b'],
    ] as const) {
      const { status, headers } = await scene.ask(target, { token: null });
      expect([status, headers.location]).toEqual([308, location]);
    }
  });

  test('is in the description of the API', async () => {
    await start({ basePath: '/upkeep' });
    expect((await scene.ask('/upkeep/swagger/doc.json')).json().basePath).toBe('/upkeep');
  });

  test('is no path by default', async () => {
    await start();
    expect((await scene.ask('/upkeep/livez')).status).toBe(404);
  });
});

describe('the page without the slash of its folder', () => {
  let text: string;
  let policy: string;
  beforeAll(async () => {
    await start();
    const reply = await scene.ask('/');
    text = reply.text;
    policy = String(reply.headers['content-security-policy']);
  });

  test('has one script of its own that adds it, which the policy names by its hash', async () => {
    await start();
    const { createHash } = await import('node:crypto');
    const inline = [...text.matchAll(/<script>([^<]+)<\/script>/g)].map(([, script = '']) => script);
    expect(inline).toHaveLength(1);
    const hash = createHash('sha256')
      .update(inline[0] ?? '')
      .digest('base64');
    expect(policy).toContain(`script-src 'self' 'sha256-${hash}'`);
    expect(text.indexOf('<script>')).toBeLessThan(text.indexOf('<link'));
  });
});

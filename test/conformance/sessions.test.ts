import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, onTestFinished, test, afterAll } from 'vitest';
import { apiToken, type HttpScene, type Reply, type SceneOptions, startHttp } from '../support/http/http-scene.ts';
import { createScriptedService, type ScriptedService } from '../support/http/scripted-service.ts';
import { createFakeClock } from '../support/clock/fake-clock.ts';
import type { SessionChange } from '../../src/domain/settings/http-settings.ts';
import { followEvents } from '../support/http/event-reader.ts';
import { buildPage } from '../support/pages/built-page.ts';

const { folder, remove } = buildPage();
afterAll(remove);

let scene: HttpScene;
afterEach(() => scene.stop());

let service: ScriptedService;

async function start(options: SceneOptions = {}): Promise<HttpScene> {
  service = createScriptedService();
  scene = await startHttp(service, { dashboardFolder: folder, ...options });
  return scene;
}

const page = () => ({ origin: scene.url, 'x-upkeep-page': '1' });

const signIn = (secret = apiToken, headers: Record<string, string> = {}, keep = true) =>
  scene.ask('/v1/session', {
    method: 'POST',
    token: null,
    headers: { ...page(), ...headers },
    body: JSON.stringify({ secret, keep }),
  });

const cookieIn = (reply: Reply): string => String(reply.headers['set-cookie']?.[0]).split(';')[0] ?? '';

const withCookie = (cookie: string, target = '/v1/containers', headers: Record<string, string> = {}, method = 'GET') =>
  scene.ask(target, { method, token: null, headers: { cookie, ...headers } });

/** The store of a state folder, in memory. */
function createStore() {
  const changes: SessionChange[] = [];
  return {
    changes,
    kept: () => ({
      changes: [...changes],
      store: {
        read: () => Promise.resolve(changes),
        fault: () => undefined,
        append: (items: readonly SessionChange[]) => {
          changes.push(...items);
          return Promise.resolve('kept' as const);
        },
      },
    }),
  };
}

describe('signing in', () => {
  test('exchanges the token for a cookie that no script can read and no other site can use', async () => {
    await start({ sessions: { password: undefined, kept: createStore().kept() } });
    const reply = await signIn();
    expect([reply.status, reply.text.includes(apiToken)]).toEqual([201, false]);
    const [cookie = ''] = reply.headers['set-cookie'] ?? [];
    expect(cookie).toMatch(/^upkeep_session_[\da-f]{8}=[\w-]{43}; Max-Age=2592000; HttpOnly; SameSite=Strict$/);
    expect((await withCookie(cookieIn(reply))).status).toBe(200);
    expect((await withCookie(cookieIn(reply), '/v1/events', {}, 'HEAD')).status).toBe(200);
  });

  test('for this browser only until it is closed', async () => {
    await start({ sessions: { password: undefined, kept: createStore().kept() } });
    expect((await signIn(apiToken, {}, false)).headers['set-cookie']?.[0]).not.toContain('Max-Age');
    await scene.stop();
    await start();
    expect((await signIn()).headers['set-cookie']?.[0]).not.toContain('Max-Age');
  });

  test.each([
    ['over its own TLS or that of a trusted proxy', { 'x-forwarded-proto': 'https' }],
    ['from a page with TLS', {}],
  ])('%s the cookie is for TLS only', async (what, headers) => {
    await start({ settings: { trustedProxies: ['127.0.0.1'] } });
    const origin = what.includes('page') ? scene.url.replace('http:', 'https:') : scene.url;
    expect((await signIn(apiToken, { origin, ...headers })).headers['set-cookie']?.[0]).toMatch(/; Secure$/);
  });

  test.each([
    ['another origin', { origin: 'https://evil.test', 'x-upkeep-page': '1' }, 403],
    ['no origin', { 'x-upkeep-page': '1' }, 403],
    ['no header of the page', { origin: 'own' }, 403],
    [
      'the host that a proxy tells',
      { origin: 'https://nas.test', 'x-forwarded-host': 'nas.test', 'x-upkeep-page': '1' },
      201,
    ],
  ])('with %s is %#', async (_, { origin, ...headers }: Record<string, string>, status) => {
    await start();
    const own = origin === undefined ? {} : { origin: origin === 'own' ? scene.url : origin };
    const body = JSON.stringify({ secret: apiToken });
    const reply = await scene.ask('/v1/session', {
      method: 'POST',
      token: null,
      headers: { ...own, ...headers },
      body,
    });
    expect(reply.status).toBe(status);
  });

  test('fails with a line in the log and a limit of its own', async () => {
    await start();
    const statuses = [];
    for (let each = 0; each < 12; each += 1) statuses.push((await signIn('wrong-secret')).status);
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 401), 429, 429]);
    const lines = scene.lines.filter(({ message }) => message === 'A sign-in to the page failed');
    expect(lines).toHaveLength(10);
    expect(JSON.stringify(scene.lines)).not.toContain('wrong-secret');
    expect((await scene.ask('/v1/containers')).status).toBe(200);
    const refused = await signIn('wrong-secret');
    const { 'retry-after': seconds } = refused.headers;
    expect(refused.json().error).toBe(`too many attempts to sign in; try again in ${String(seconds)}s`);
    expect(Number(seconds)).toBeLessThanOrEqual(60);
  });

  test('whose limit is reached uses up no attempts of others', async () => {
    await start({ settings: { trustedProxies: ['127.0.0.1'] } });
    const from = (address: string) => ({ 'x-forwarded-for': address });
    for (let each = 0; each < 120; each += 1) await signIn('wrong-secret', from('192.0.2.1'));
    expect((await signIn('wrong-secret', from('192.0.2.1'))).status).toBe(429);
    expect((await signIn(apiToken, from('192.0.2.2'))).status).toBe(201);
  });

  test('with a password, if there is one', async () => {
    const password = {
      verifier: () => 'scrypt:one',
      matches: (given: string) => Promise.resolve(given === 'let me in'),
    };
    await start({ sessions: { password, kept: undefined } });
    expect((await scene.ask('/v1/session', { token: null })).json().has_password).toBe(true);
    expect((await signIn('let me out')).status).toBe(401);
    const cookie = cookieIn(await signIn('let me in'));
    expect((await withCookie(cookie, '/v1/session')).json().signed_in).toBe(true);
    expect((await withCookie(cookie, '/v1/sessions')).json().sessions).toMatchObject([
      { by: 'password', is_this: true },
    ]);
  });
});

describe('a session', () => {
  test.each([
    ['another origin', { origin: 'https://evil.test', 'x-upkeep-page': '1' }, 403],
    ['a form of another site', { origin: 'https://evil.test', 'content-type': 'text/plain' }, 403],
    ['no origin', { 'x-upkeep-page': '1' }, 403],
    ['no header of the page', { origin: 'own' }, 403],
    ['both', { origin: 'own', 'x-upkeep-page': '1' }, 200],
  ])('changes something with %s: %#', async (_, given: Record<string, string>, status) => {
    await start({ settings: { corsOrigins: ['https://evil.test'], watchtowerCompat: true } });
    const cookie = cookieIn(await signIn());
    const headers = { ...given, ...(given['origin'] === 'own' && { origin: scene.url }) };
    for (const method of ['POST', 'GET'])
      expect((await withCookie(cookie, '/v1/update?dry_run=true', headers, method)).status).toBe(status);
    expect((await withCookie(cookie, '/v1/session', headers, 'DELETE')).status).toBe(status);
  });

  test('does not count beside a token, which wins', async () => {
    await start();
    const cookie = cookieIn(await signIn());
    expect((await withCookie(cookie, '/v1/containers', { authorization: 'Bearer wrong' })).status).toBe(401);
    expect((await withCookie(cookie, '/v1/containers', { 'x-upkeep-token': 'wrong' })).status).toBe(401);
    expect((await withCookie(cookie, '/v1/containers', { authorization: 'Basic YW5uYQ==' })).status).toBe(200);
    const idToken = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhbm5hIn0.c2lnbmVk';
    expect((await withCookie(cookie, '/v1/containers', { authorization: `Bearer ${idToken}` })).status).toBe(200);
  });

  test('is listed, and gone when it is revoked, also after a restart', async () => {
    const store = createStore();
    await start({ sessions: { password: undefined, kept: store.kept() } });
    const [one, other] = [cookieIn(await signIn(apiToken, { 'user-agent': 'Firefox' })), cookieIn(await signIn())];
    const { sessions } = (await withCookie(other, '/v1/sessions')).json();
    expect(sessions).toMatchObject([{ browser: 'Firefox', address: '127.0.0.1', is_this: false }, { is_this: true }]);
    expect((await withCookie(other, `/v1/sessions/${sessions[0].id}`, page(), 'DELETE')).json().kept).toBe(true);
    expect([(await withCookie(one)).status, (await withCookie(other)).status]).toEqual([401, 200]);
    expect((await withCookie(other, '/v1/sessions/none', page(), 'DELETE')).status).toBe(404);
    await scene.stop();
    await start({ sessions: { password: undefined, kept: store.kept() } });
    expect([(await withCookie(one)).status, (await withCookie(other)).status]).toEqual([401, 200]);
    expect((await withCookie(other, '/v1/session', page(), 'DELETE')).headers['set-cookie']?.[0]).toContain(
      'Max-Age=0',
    );
    expect((await withCookie(other)).status).toBe(401);
    // Neither a cookie nor a token is stored.
    const stored = JSON.stringify(store.changes);
    for (const cookie of [one, other]) expect(stored).not.toContain(cookie.split('=')[1]);
    expect(stored).not.toContain(apiToken);
  });

  test('ends with the token that it was made with', async () => {
    const store = createStore();
    await start({ sessions: { password: undefined, kept: store.kept() } });
    const cookie = cookieIn(await signIn());
    await scene.stop();
    const token = { kind: 'value', value: 'another-token' } as const;
    await start({ settings: { token }, sessions: { password: undefined, kept: store.kept() } });
    expect((await withCookie(cookie)).status).toBe(401);
  });

  test('has its cookie replaced after a day; the one before works until the new one is used', async () => {
    const clock = createFakeClock();
    const store = createStore();
    await start({ clock, sessions: { password: undefined, kept: store.kept() } });
    const old = cookieIn(await signIn());
    expect((await withCookie(old)).headers['set-cookie']).toBeUndefined();
    await clock.advance(24 * 3_600_000);
    expect((await withCookie(old, '/v1/containers/details')).headers['set-cookie']).toBeUndefined();
    const fresh = cookieIn(await withCookie(old));
    expect(fresh).not.toBe(old);
    await clock.advance(3_600_000);
    expect((await withCookie(old)).status).toBe(200);
    expect((await withCookie(fresh)).status).toBe(200);
    await clock.advance(61_000);
    expect([(await withCookie(old)).status, (await withCookie(fresh)).status]).toEqual([401, 200]);
  });

  test('ends 30 days after its last use, and a clock that is set changes nothing', async () => {
    const day = 24 * 3_600_000;
    const clock = createFakeClock();
    const store = createStore();
    await start({ clock, sessions: { password: undefined, kept: store.kept() } });
    const cookie = cookieIn(await signIn());
    const real = clock.nowMs;
    for (const jumpMs of [400 * day, -400 * day]) {
      await scene.stop();
      const skewed = { ...clock, nowMs: () => real() + jumpMs };
      await start({ clock, sessions: { password: undefined, kept: store.kept() } });
      expect((await withCookie(cookie)).status).toBe(200);
      Object.assign(clock, { nowMs: skewed.nowMs });
      expect((await withCookie(cookie)).status).toBe(200);
      Object.assign(clock, { nowMs: real });
    }
    await clock.advance(31 * day);
    expect((await withCookie(cookie)).status).toBe(401);
  });
});

describe('the limits', () => {
  test('a hundred reloads in a minute are served, and every other limit stays', async () => {
    await start({ settings: { rateLimit: 60 } });
    const cookie = cookieIn(await signIn());
    const files = ['/', '/dashboard/page.js', '/dashboard/worker.js', '/dashboard/page.css', '/dashboard/icon.svg'];
    const asked = ['/v1/session', '/v1/containers/details', '/v1/status?extra=true', '/v1/decisions', '/v1/history'];
    const seen = new Set<number>();
    for (let each = 0; each < 100; each += 1) {
      for (const file of files) seen.add((await scene.ask(file, { token: null })).status);
      for (const target of asked) seen.add((await withCookie(cookie, target)).status);
    }
    expect([...seen].filter((status) => status !== 200 && status !== 204)).toEqual([]);
    const { headers } = await withCookie(cookie);
    expect(headers['x-ratelimit-limit']).toBe('600');
    // One was used by the sign-in.
    const bearer = [];
    for (let each = 0; each < 60; each += 1) bearer.push((await scene.ask('/v1/containers')).status);
    expect(bearer).toEqual([...Array.from({ length: 59 }, () => 200), 429]);
    expect((await withCookie(cookie)).status).toBe(200);
  });

  test('a session has its own, and no more', async () => {
    await start({ settings: { rateLimit: 5, sessionRateLimit: 8 } });
    const cookie = cookieIn(await signIn());
    const statuses = [];
    for (let each = 0; each < 9; each += 1) statuses.push((await withCookie(cookie)).status);
    expect(statuses).toEqual([...Array.from({ length: 8 }, () => 200), 429]);
  });

  test.each(['', 'x'.repeat(43), `${'x'.repeat(43)}y`, 'y'.repeat(5000)])(
    'an invalid cookie (%#) counts like any other request',
    async (value) => {
      await start({ settings: { rateLimit: 3 } });
      const name = cookieIn(await signIn()).split('=')[0] ?? '';
      const statuses = [];
      for (let each = 0; each < 4; each += 1) statuses.push((await withCookie(`${name}=${value}`)).status);
      expect(statuses).toEqual([401, 401, 429, 429]);
    },
  );

  test('ten thousand unsigned requests get sixty answers', async () => {
    await start({ settings: { rateLimit: 60 } });
    let answered = 0;
    for (let each = 0; each < 100; each += 1) {
      const replies = await Promise.all(
        Array.from({ length: 100 }, (_, at) =>
          withCookie(`upkeep_session_00000000=${'z'.repeat(43)}`, at % 2 === 0 ? '/v1/status' : '/v1/session'),
        ),
      );
      answered += replies.filter(({ status }) => status !== 429).length;
    }
    expect(answered).toBe(60);
  });
});

test('a revoked token lets nobody in, with its sessions, also after a restart', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'cf-revoked-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'tokens');
  writeFileSync(path, `admin: ${apiToken}\nci: token-of-the-ci-job operator\n`);
  const store = createStore();
  const settings = { token: { kind: 'file', path } as const };
  await start({ settings, sessions: { password: undefined, kept: store.kept() } });
  const cookie = cookieIn(await signIn('token-of-the-ci-job'));
  expect((await withCookie(cookie)).status).toBe(200);
  const listed = await scene.ask('/v1/tokens');
  expect(listed.json().tokens).toContainEqual({ name: 'ci', kind: 'api', rights: 'operator' });
  expect(listed.text).not.toContain('token-of');
  expect((await scene.ask('/v1/tokens/ci', { method: 'DELETE' })).json().kept).toBe(true);
  expect((await scene.ask('/v1/tokens/ci', { method: 'DELETE' })).status).toBe(404);
  for (const isAgain of [false, true]) {
    if (isAgain) {
      await scene.stop();
      await start({ settings, sessions: { password: undefined, kept: store.kept() } });
    }
    expect((await scene.ask('/v1/containers', { token: 'token-of-the-ci-job' })).status).toBe(401);
    expect((await withCookie(cookie)).status).toBe(401);
    expect((await scene.ask('/v1/containers')).status).toBe(200);
  }
  expect(JSON.stringify(store.changes)).not.toContain('token-of-the-ci-job');
});

/** A file of tokens that is written again, and streams of events that are open meanwhile. */
describe('a changed file of tokens', () => {
  const tokens = (ci: string) => `all: ${apiToken}\nci: token-of-the-ci-job ${ci}\n`;
  let path: string;

  async function startWith(ci: string, options: SceneOptions = {}): Promise<void> {
    const tokensFolder = mkdtempSync(join(tmpdir(), 'cf-changed-'));
    onTestFinished(() => rmSync(tokensFolder, { recursive: true, force: true }));
    path = join(tokensFolder, 'tokens');
    writeFileSync(path, tokens(ci));
    const file = { kind: 'file', path } as const;
    await start({ settings: { token: file, eventsToken: file, ...options.settings }, ...options });
  }

  const follow = async (headers: Readonly<Record<string, string>>) => {
    const reader = await followEvents(scene.url, { headers });
    onTestFinished(reader.end);
    await reader.until((text) => text.length > 0);
    return reader;
  };
  const announce = (runId: string) =>
    service.announce({ kind: 'scan_started', runId, purpose: 'update', trigger: 'http', atMs: 0 });

  test('changes the role of a session that has begun, and ends one without a token', async () => {
    await startWith('operator');
    const cookie = cookieIn(await signIn('token-of-the-ci-job'));
    const check = async () => (await withCookie(cookie, '/v1/check', page(), 'POST')).status;
    const role = async () => (await withCookie(cookie, '/v1/session')).json().role;
    expect([await check(), await role()]).toEqual([200, 'operator']);
    writeFileSync(path, tokens('viewer'));
    expect([await check(), await role()]).toEqual([403, 'viewer']);
    writeFileSync(path, tokens('operator, image=acme/*'));
    expect((await withCookie(cookie, '/v1/session')).json()).toMatchObject({ role: 'operator', is_limited: true });
    writeFileSync(path, `all: ${apiToken}\n`);
    expect([await check(), await role()]).toEqual([401, undefined]);
  });

  test.each([
    ['the token is gone', `all: ${apiToken}\n`],
    ['it has a filter now', tokens('viewer, image=acme/*')],
    ['it has another role', tokens('operator')],
    ['the file cannot be used', 'nothing\nof use\n'],
  ])('ends streams before another event is sent: %s', async (_, text) => {
    await startWith('viewer');
    const cookie = cookieIn(await signIn('token-of-the-ci-job'));
    const readers = [
      await follow({ authorization: 'Bearer token-of-the-ci-job' }),
      await follow({ cookie, authorization: '' }),
    ];
    announce('run-1');
    for (const reader of readers) await reader.frames(1);
    writeFileSync(path, text);
    announce('run-2');
    for (const reader of readers) {
      await reader.ended;
      expect(reader.text()).not.toContain('run-2');
    }
    expect(scene.http.streams.count()).toBe(0);
  });

  test('ends a silent stream at its next sign of life', async () => {
    await startWith('viewer', { limits: { heartbeatMs: 20 } });
    const reader = await follow({ authorization: 'Bearer token-of-the-ci-job' });
    writeFileSync(path, `all: ${apiToken}\n`);
    await reader.ended;
  });

  test('leaves the streams of those who may still read', async () => {
    await startWith('viewer, image=acme/*');
    const reader = await follow({ authorization: 'Bearer token-of-the-ci-job' });
    writeFileSync(path, `# another line\n${tokens('viewer,  image=acme/*')}`);
    announce('run-1');
    await reader.frames(1);
    expect(reader.isOpen()).toBe(true);
  });

  test.each(['session', 'token'])('a stream ends with its %s that an admin takes back', async (what) => {
    await startWith('viewer');
    const cookie = cookieIn(await signIn('token-of-the-ci-job'));
    const reader = await follow({ cookie, authorization: '' });
    const { sessions } = (await scene.ask('/v1/sessions')).json();
    const target = what === 'session' ? `/v1/sessions/${sessions[0].id}` : '/v1/tokens/ci';
    expect((await scene.ask(target, { method: 'DELETE' })).status).toBe(200);
    announce('run-1');
    await reader.ended;
    expect(reader.text()).not.toContain('run-1');
  });

  test('a stream outlives the cookie that it was opened with, and not its session', async () => {
    const clock = createFakeClock();
    await start({ clock, sessions: { password: undefined, kept: createStore().kept() } });
    let cookie = cookieIn(await signIn());
    const reader = await follow({ cookie, authorization: '' });
    for (let each = 1; each <= 3; each += 1) {
      await clock.advance(25 * 3_600_000);
      cookie = cookieIn(await withCookie(cookie));
      announce(`run-${each}`);
      await reader.frames(each);
    }
    await clock.advance(31 * 24 * 3_600_000);
    announce('run-late');
    await reader.ended;
    expect(reader.text()).not.toContain('run-late');
  });
});

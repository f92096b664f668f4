import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createOidcSignIns } from '../../src/interfaces/http/routes/oidc.ts';
import { roles } from '../../src/domain/access/rights.ts';
import { methodsOf } from '../../src/interfaces/http/service/route.ts';
import { apiToken, eventsToken, webhookSecret, type AskOptions, type Reply } from '../support/http/http-scene.ts';
import { followEvents } from '../support/http/event-reader.ts';
import { startWholeService, type WholeService } from '../support/http/whole-service.ts';

type Role = (typeof roles)[number];

/** What each route needs, and how it treats a caller with a filter. A route without a row fails. */
const rules: Readonly<Record<string, Rule>> = {
  'POST /v1/update': { needs: 'operator', filter: 'applies', target: '/v1/update?dry_run=true' },
  'GET /v1/update': { needs: 'operator', filter: 'applies', target: '/v1/update?dry_run=true' },
  'POST /v1/rollback': { needs: 'operator', filter: 'applies', target: '/v1/rollback?container=zz-hidden' },
  'POST /v1/check': { needs: 'operator', filter: 'applies' },
  'GET /v1/containers': { needs: 'viewer', filter: 'applies' },
  'GET /v1/containers/details': { needs: 'viewer', filter: 'applies' },
  'GET /v1/history': { needs: 'viewer', filter: 'applies' },
  'GET /v1/images': { needs: 'viewer', filter: 'applies' },
  'GET /v1/notes': { needs: 'viewer', filter: 'applies', target: '/v1/notes?container=zz-hidden' },
  'GET /v1/decisions': { needs: 'viewer', filter: 'applies' },
  'POST /v1/decisions': {
    needs: 'operator',
    filter: 'applies',
    body: { container: 'zz-hidden', decision: 'skip', digest: `sha256:${'0'.repeat(64)}` },
  },
  'DELETE /v1/decisions/*': { needs: 'operator', filter: 'applies', target: '/v1/decisions/none' },
  'POST /v1/hooks/registry': { needs: 'webhook secret' },
  'GET /api/containers': { needs: 'viewer', filter: 'applies' },
  'GET /api/containers/*': { needs: 'viewer', filter: 'applies', target: '/api/containers/watch' },
  'POST /api/containers/*': { needs: 'operator', filter: 'applies', target: '/api/containers/watch' },
  'GET /api/v3/json': { needs: 'viewer', filter: 'applies' },
  'GET /v1/config': { needs: 'admin', filter: 'refuses' },
  'GET /v1/events': { needs: 'viewer', filter: 'applies', token: 'events', method: 'HEAD' },
  'GET /v1/status': { needs: 'viewer', filter: 'applies', target: '/v1/status?extra=true' },
  'GET /v1/metrics': { needs: 'viewer', filter: 'applies' },
  'GET /v1/metrics/notifications': { needs: 'viewer', filter: 'applies' },
  'DELETE /v1/session': { needs: 'viewer', filter: 'not concerned', endsSession: true },
  'GET /v1/sessions': { needs: 'admin', filter: 'refuses' },
  'DELETE /v1/sessions/*': { needs: 'admin', filter: 'refuses', target: '/v1/sessions/none' },
  'GET /v1/tokens': { needs: 'admin', filter: 'refuses' },
  'DELETE /v1/tokens/*': { needs: 'admin', filter: 'refuses', target: '/v1/tokens/nobody' },
  'GET /v1/session': { needs: 'nothing' },
  'POST /v1/session': { needs: 'nothing', body: { secret: 'none' } },
  'GET /v1/oidc-sign-in': { needs: 'nothing' },
  'GET /v1/oidc-callback': { needs: 'nothing' },
  'GET /v1/openapi.json': { needs: 'nothing' },
  'GET /swagger/*': { needs: 'nothing', target: '/swagger/doc.json' },
  'GET /livez': { needs: 'nothing' },
  'GET /readyz': { needs: 'nothing' },
  'GET /startupz': { needs: 'nothing' },
  'GET /': { needs: 'nothing' },
  'GET /dashboard/*': { needs: 'nothing', target: '/dashboard/none' },
};

type Rule = {
  readonly needs: Role | 'nothing' | 'webhook secret';
  readonly filter?: 'applies' | 'refuses' | 'not concerned';
  readonly target?: string;
  readonly body?: object;
  readonly token?: 'events';
  readonly method?: string;
  readonly endsSession?: true;
};

type Caller = {
  readonly role: Role | undefined;
  readonly isLimited?: boolean;
  /** For one who is someone, but not believed. */
  readonly isStranger?: boolean;
  readonly options: (rule: Rule) => Promise<AskOptions> | AskOptions;
};

const folder = mkdtempSync(join(tmpdir(), 'cf-access-'));
let scene: WholeService;

beforeAll(async () => {
  for (const kind of ['api', 'events'] as const) {
    const lines = roles.flatMap((role) => [
      `${role}: ${kind}-token-of-the-${role} ${role}`,
      `${role} of acme: ${kind}-token-of-the-limited-${role} ${role}, image=acme/*`,
    ]);
    writeFileSync(join(folder, kind), `all: ${kind === 'api' ? apiToken : eventsToken}\n${lines.join('\n')}\n`);
  }
  const unasked = () => Promise.reject(new Error('the issuer of this test is away'));
  scene = await startWholeService({
    openSignIns: createOidcSignIns,
    issuer: { credential: 'none', begin: unasked, finish: unasked, endUrl: unasked, close: () => Promise.resolve() },
    settings: {
      token: { kind: 'file', path: join(folder, 'api') },
      eventsToken: { kind: 'file', path: join(folder, 'events') },
      watchtowerCompat: true,
      trustedProxies: ['127.0.0.2'],
      authHeader: { user: 'remote-user', groups: 'remote-groups' },
      people: { viewer: ['vera'], operator: ['otto@example.com'], admin: ['group:admins'] },
      oidc: {
        issuer: 'http://127.0.0.1:9',
        clientId: 'upkeep',
        clientSecret: undefined,
        scopes: ['openid'],
        redirectUrl: undefined,
        groupsClaim: 'groups',
      },
    },
  });
  for (const image of ['acme/app:1', 'acme/api:1', 'postgres:17']) scene.publish(image, '1');
  await scene.run('app', 'acme/app:1', { 'upkeep.depends-on': 'zz-hidden' });
  await scene.run('api', 'acme/api:1');
  await scene.run('zz-hidden', 'postgres:17');
  await scene.run('zz-hidden-guest', 'postgres:17', { 'upkeep.depends-on': 'app' });
  for (const image of ['acme/app:1', 'postgres:17']) scene.publish(image, '2');
  await until(async () => (await namesFor(apiToken)).length === 4);
  // A run of everyone's containers for the lists, then another version that is not applied yet.
  await scene.ask('/v1/update', { method: 'POST' });
  for (const image of ['acme/app:1', 'acme/api:1', 'postgres:17']) scene.publish(image, '3');
  await scene.ask('/v1/check', { method: 'POST' });
});

afterAll(async () => {
  await scene.stop();
  rmSync(folder, { recursive: true, force: true });
});

const token = (role: Role, isLimited: boolean, kind: 'api' | 'events' = 'api') =>
  `${kind}-token-of-the-${isLimited ? 'limited-' : ''}${role}`;

/** The headers of the own page, which a session and a proxy's word need where something changes. */
const page = () => ({ origin: scene.url, 'x-upkeep-page': '1' });

async function cookieFor(secret: string): Promise<string> {
  const body = JSON.stringify({ secret });
  // An address of its own, because attempts are counted.
  const localAddress = `127.0.1.${(attempts += 1)}`;
  const signedIn = await scene.ask('/v1/session', { method: 'POST', token: null, headers: page(), body, localAddress });
  return String(signedIn.headers['set-cookie']?.[0]).split(';')[0] ?? '';
}
let attempts = 0;
const cookies = new Map<string, Promise<string>>();

async function cookieOf(secret: string, { endsSession }: Rule): Promise<string> {
  if (endsSession) return cookieFor(secret);
  const known = cookies.get(secret) ?? cookieFor(secret);
  cookies.set(secret, known);
  return known;
}

const callers: Readonly<Record<string, Caller>> = {
  nobody: { role: undefined, options: () => ({ token: null }) },
  'a wrong token': { role: undefined, options: () => ({ token: 'api-token-of-the-nobody' }) },
  'a token of the other kind': {
    role: undefined,
    options: (rule) => ({ token: token('admin', false, rule.token === 'events' ? 'api' : 'events') }),
  },
  'the secret of webhooks': { role: undefined, options: () => ({ token: webhookSecret }) },
  'a cookie that is no session': {
    role: undefined,
    options: () => ({ token: null, headers: { cookie: `upkeep_session_00000000=${'a'.repeat(43)}`, ...page() } }),
  },
  'the token without a role': {
    role: 'admin',
    options: (rule) => ({ token: rule.token === 'events' ? eventsToken : apiToken }),
  },
  ...Object.fromEntries(
    roles.flatMap((role) =>
      [false, true].flatMap((isLimited): (readonly [string, Caller])[] => [
        [
          `the token of ${isLimited ? 'a limited' : 'a'} ${role}`,
          { role, isLimited, options: (rule) => ({ token: token(role, isLimited, rule.token) }) },
        ],
        [
          `the session of ${isLimited ? 'a limited' : 'a'} ${role}`,
          {
            role,
            isLimited,
            options: async (rule) => ({
              token: null,
              headers: { cookie: await cookieOf(token(role, isLimited), rule), ...page() },
            }),
          },
        ],
      ]),
    ),
  ),
  ...Object.fromEntries(
    (
      [
        ['viewer', { 'remote-user': 'vera' }],
        ['operator', { 'remote-user': 'Otto@Example.com' }],
        ['admin', { 'remote-user': 'anna', 'remote-groups': 'family, admins' }],
        [undefined, { 'remote-user': 'eve', 'remote-groups': 'not-admins,vera' }],
      ] as const
    ).flatMap(([role, headers]): (readonly [string, Caller])[] => [
      [
        `a trusted proxy that names ${role === undefined ? 'someone without a role' : `a ${role}`}`,
        {
          role,
          isStranger: role === undefined,
          options: () => ({ token: null, localAddress: '127.0.0.2', headers: { ...headers, ...page() } }),
        },
      ],
      [
        `a foreign proxy that names ${role === undefined ? 'someone without a role' : `a ${role}`}`,
        {
          role: undefined,
          options: () => ({ token: null, localAddress: '127.0.0.3', headers: { ...headers, ...page() } }),
        },
      ],
    ]),
  ),
};

async function send(key: string, rule: Rule, caller: Caller): Promise<Reply> {
  const [method = '', path = ''] = key.split(' ');
  const body = rule.body && JSON.stringify(rule.body);
  const target = rule.target ?? path;
  return scene.ask(target, { method: rule.method ?? method, ...(body && { body }), ...(await caller.options(rule)) });
}

test('every route has a rule here', () => {
  const served = scene.http.routes.flatMap((route) =>
    methodsOf(route).flatMap((method) => (method === 'HEAD' ? [] : `${method} ${route.path}`)),
  );
  expect(served.toSorted()).toEqual(Object.keys(rules).toSorted());
});

test.each(Object.entries(rules))('%s says of itself what the rule says', (key, { needs, filter = 'not concerned' }) => {
  const [method, path] = key.split(' ');
  const route = scene.http.routes.find((one) => one.path === path && one.methods.some((each) => each === method));
  expect([route?.needs, route?.filter]).toEqual([needs === 'webhook secret' ? 'nothing' : needs, filter]);
  expect(needs === 'nothing').toBe(route?.access === 'open');
});

describe.each(Object.entries(rules))('%s', (key, rule) => {
  test.each(Object.entries(callers))('for %s', async (who, caller) => {
    const { status, text } = await send(key, rule, caller);
    const { needs } = rule;
    // The attempts of one client to sign in are counted.
    if (needs === 'nothing') return expect([401, 403, 429].includes(status)).toBe(key === 'POST /v1/session');
    if (needs === 'webhook secret') return expect(status === 401).toBe(who !== 'the secret of webhooks');
    if (caller.role === undefined) return expect(status).toBe(caller.isStranger ? 403 : 401);
    const isAllowed =
      roles.indexOf(caller.role) >= roles.indexOf(needs) && !(caller.isLimited && rule.filter === 'refuses');
    expect([status === 401, status === 403]).toEqual([false, !isAllowed]);
    if (caller.isLimited) expect(text).not.toContain('hidden');
    return undefined;
  });
});

const namesFor = async (secret: string): Promise<string[]> =>
  (await scene.ask('/v1/containers', { token: secret })).json().containers.map(({ name }: { name: string }) => name);

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  for (let each = 0; each < 500; each += 1) {
    if (await isTrue()) return;
    await sleep(10);
  }
  throw new Error('it did not become true');
}

describe('the word of a proxy', () => {
  const from = (headers: AskOptions['headers'], localAddress = '127.0.0.2') =>
    scene.ask('/v1/containers', { token: null, localAddress, ...(headers && { headers }) });

  test.each([
    ['twice, as if a client had sent it too', { 'remote-user': ['vera', 'eve'] }, 401],
    ['empty', { 'remote-user': '' }, 401],
    ['with another spelling', { remote_user: 'vera' }, 401],
    ['with a list', { 'remote-user': 'vera, eve' }, 403],
    ['with groups alone', { 'remote-groups': 'admins' }, 401],
    ['with groups that come twice', { 'remote-user': 'eve', 'remote-groups': ['family', 'admins'] }, 403],
    ['with another case', { 'REMOTE-USER': 'vera' }, 200],
  ])('%s is %#', async (_, headers, status) => expect((await from(headers)).status).toBe(status));

  test('does not count for a client that only says that it is behind the proxy', async () => {
    const headers = { 'remote-user': 'vera', 'x-forwarded-for': '127.0.0.2' };
    expect((await from(headers, '127.0.0.4')).status).toBe(401);
  });

  test('changes nothing for a page of another site', async () => {
    const headers = { 'remote-user': 'otto@example.com', origin: 'https://evil.test', 'x-upkeep-page': '1' };
    const reply = await scene.ask('/v1/check', { method: 'POST', token: null, localAddress: '127.0.0.2', headers });
    expect(reply.status).toBe(403);
  });
});

describe('a caller with a filter', () => {
  const limited = token('operator', true);
  const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });
  const idOf = (name: string) => scene.application.inventory().containers.find((one) => one.name === name)?.id;

  test('sees its own containers and images only, and counts of these', async () => {
    expect((await namesFor(limited)).toSorted()).toEqual(['api', 'app']);
    const ask = async (target: string) => (await scene.ask(target, { token: limited })).json();
    expect((await ask('/v1/images')).images.map(({ name }: { name: string }) => name)).toEqual([
      'acme/api:1',
      'acme/app:1',
    ]);
    const { entries } = await ask('/v1/history');
    expect(entries).toMatchObject([{ scanned: 1, updated: 1, containers: [{ name: 'app' }] }]);
    expect(await ask('/v1/status?extra=true')).toMatchObject({
      watched: 2,
      updates_available: 2,
      summary: { updated: 1 },
    });
    const { containers } = await ask('/v1/containers/details');
    const app = containers.find(({ name }: { name: string }) => name === 'app');
    expect([app.depends_on, app.labels_in_effect['upkeep.depends-on']]).toEqual([[], 'another container']);
    const metrics = (await scene.ask('/v1/metrics', { token: limited })).text;
    expect([metrics.includes('container="app"'), metrics.includes('postgres')]).toEqual([true, false]);
  });

  test('cannot decide about others, nor name them', async () => {
    const details = (await scene.ask('/v1/containers/details')).json().containers;
    const digest = details.find(({ name }: { name: string }) => name === 'zz-hidden').latest_digest;
    const body = JSON.stringify({ container: 'zz-hidden', decision: 'skip', digest });
    const taken = await scene.ask('/v1/decisions', { method: 'POST', token: limited, body });
    expect(taken.status).toBe(404);
    const { id } = (await scene.ask('/v1/decisions', { method: 'POST', body })).json();
    expect((await scene.ask('/v1/decisions', { token: limited })).json().decisions).toEqual([]);
    const withdrawn = await scene.ask(`/v1/decisions/${id}`, { method: 'DELETE', token: limited });
    expect(withdrawn.status).toBe(404);
    expect((await scene.ask(`/v1/decisions/${id}`, { method: 'DELETE' })).status).toBe(200);
  });

  test.each(['container=zz-hidden', 'image=postgres', 'container=.*hidden.*', 'container=zz-hidden&now=true'])(
    'changes nothing with ?%s',
    async (query) => {
      const before = idOf('zz-hidden');
      const reply = await scene.ask(`/v1/update?${query}`, { method: 'POST', token: limited });
      expect(reply.json().containers).toEqual([]);
      const rolledBack = await scene.ask('/v1/rollback?container=zz-hidden', { method: 'POST', token: limited });
      expect([rolledBack.status, idOf('zz-hidden')]).toEqual([404, before]);
    },
  );

  test('updates its own containers and leaves others, also those that depend on them', async () => {
    const before = ['zz-hidden', 'zz-hidden-guest'].map(idOf);
    const reader = await followEvents(scene.url, { extra: true, headers: bearer(token('viewer', true, 'events')) });
    const all = await followEvents(scene.url);
    const [app, api] = ['app', 'api'].map(idOf);
    const reply = await scene.ask('/v1/update', { method: 'POST', token: limited });
    expect(reply.json().summary).toMatchObject({ updated: 2, restarted: 0, failed: 0 });
    await until(async () => idOf('app') !== app && idOf('api') !== api);
    await scene.ask('/v1/update', { method: 'POST' });
    await all.until((text) => text.split('scan_completed').length > 4);
    await reader.until((text) => text.split('event: scan_completed').length > 2);
    expect(['zz-hidden'].map(idOf)).not.toEqual(before.slice(0, 1));
    expect(reader.text()).toContain('"by":"token operator of acme"');
    expect(reader.text()).not.toContain('hidden');
    expect(all.text()).toContain('hidden');
    for (const each of [reader, all]) each.end();
    const { entries } = (await scene.ask('/v1/history')).json();
    expect(entries.at(-2)).toMatchObject({ by: 'token operator of acme', updated: 2 });
  });

  test('does not update a container together with one of others', async () => {
    scene.publish('acme/app:1', '4');
    const id = idOf('app');
    scene.sandbox.control.runContainer('zz-hidden-side', {
      Image: 'postgres:17',
      Labels: {},
      HostConfig: { NetworkMode: `container:${id}` },
    });
    await until(async () => (await namesFor(apiToken)).length === 5);
    for (const target of ['/v1/update', '/v1/update?dry_run=true']) {
      const reply = await scene.ask(target, { method: 'POST', token: limited });
      expect(reply.text).toContain('2 containers have to move together, and \\"another container\\" is not one');
      expect(reply.text).not.toContain('hidden');
    }
    expect(idOf('app')).toBe(id);
  });
});

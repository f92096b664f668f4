import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createOidcSignIns } from '../../src/interfaces/http/routes/oidc.ts';
import { type NamedByIssuer, roles } from '../../src/domain/access/rights.ts';
import { methodsOf } from '../../src/interfaces/http/service/route.ts';
import { apiToken, eventsToken, webhookSecret, type AskOptions, type Reply } from '../support/http/http-scene.ts';
import { followEvents } from '../support/http/event-reader.ts';
import { logEvents } from '../../src/interfaces/cli/render/events.ts';
import { createTestLog } from '../support/test-log.ts';
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
  'GET /v1/engines': { needs: 'viewer', filter: 'applies' },
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
const password = 'password of this test';
/** What the issuer says of people. */
const named: Readonly<Record<string, Pick<NamedByIssuer, 'name' | 'email' | 'groups'>>> = {
  viewer: { name: 'vera', groups: ['viewers'] },
  operator: { name: 'otto', email: 'otto@example.com', groups: [] },
  admin: { name: 'anna', groups: ['family', 'admins'] },
};
let scene: WholeService;

beforeAll(async () => {
  for (const kind of ['api', 'events'] as const) {
    const lines = [`gone: ${kind}-token-that-is-revoked`];
    lines.push(
      ...roles.flatMap((role) => [
        `${role}: ${kind}-token-of-the-${role} ${role}`,
        `${role} of acme: ${kind}-token-of-the-limited-${role} ${role}, image=acme/*`,
      ]),
    );
    writeFileSync(join(folder, kind), `all: ${kind === 'api' ? apiToken : eventsToken}\n${lines.join('\n')}\n`);
  }
  const engine = { name: 'local', address: 'unix:///var/run/docker.sock', containers: 4, updatesAvailable: 2 };
  const away = { reachable: false, error: 'Cannot connect to the engine: the proxy zz-hidden does not answer' };
  scene = await startWholeService({
    engines: () => [
      { ...engine, ...away, kind: undefined, version: undefined, sinceMs: undefined, lastRunAtMs: undefined },
    ],
    openSignIns: createOidcSignIns,
    issuer: {
      credential: 'none',
      begin: (redirectUrl) =>
        Promise.resolve({ url: 'http://127.0.0.1:9/', begun: { redirectUrl, state: '', nonce: '', verifier: '' } }),
      finish: (query) => {
        const person = named[new URLSearchParams(query).get('code') ?? ''];
        return person === undefined
          ? Promise.reject(new Error('the issuer of this test knows nobody of that name'))
          : Promise.resolve({ ...person, isUnverified: false, idToken: undefined });
      },
      endUrl: () => Promise.resolve(undefined),
      close: () => Promise.resolve(),
    },
    sessions: {
      password: { verifier: () => 'scrypt:one', matches: (given) => Promise.resolve(given === password) },
      kept: undefined,
    },
    settings: {
      token: { kind: 'file', path: join(folder, 'api') },
      eventsToken: { kind: 'file', path: join(folder, 'events') },
      watchtowerCompat: true,
      trustedProxies: ['127.0.0.2'],
      authHeader: { user: 'remote-user', groups: 'remote-groups' },
      people: { viewer: ['vera', 'group:viewers'], operator: ['otto@example.com'], admin: ['group:admins'] },
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
  revokedCookie = await cookieFor('api-token-that-is-revoked');
  expect((await scene.ask('/v1/tokens/gone', { method: 'DELETE' })).status).toBe(200);
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
let revokedCookie = '';

/** The session of a person whom the issuer has named. */
async function cookieOfPerson(role: Role): Promise<string> {
  const from = { token: null, localAddress: `127.0.1.${(attempts += 1)}` };
  const begun = await scene.ask('/v1/oidc-sign-in', from);
  const cookie = begun.headers['set-cookie']?.[0]?.split(';')[0] ?? '';
  const ended = await scene.ask(`/v1/oidc-callback?code=${role}`, { ...from, headers: { cookie } });
  const [pair = ''] = (ended.headers['set-cookie'] ?? []).filter((each) => each.startsWith('upkeep_session_'));
  return pair.split(';')[0] ?? '';
}

const cookies = new Map<string, Promise<string>>();

async function cookieOf(secret: string, { endsSession }: Rule, begin = cookieFor): Promise<string> {
  if (endsSession) return begin(secret);
  const known = cookies.get(secret) ?? begin(secret);
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
  'a revoked token': {
    role: undefined,
    options: (rule) => ({
      token: `${rule.token === 'events' ? 'events' : 'api'}-token-that-is-revoked`,
      localAddress: '127.0.0.5',
    }),
  },
  'the session of a revoked token': {
    role: undefined,
    options: () => ({ token: null, localAddress: '127.0.0.6', headers: { cookie: revokedCookie, ...page() } }),
  },
  'the session of the password': {
    role: 'admin',
    options: async (rule) => ({
      ...{ token: null, localAddress: '127.0.0.7' },
      headers: { cookie: await cookieOf(password, rule), ...page() },
    }),
  },
  ...Object.fromEntries(
    roles.map((role): readonly [string, Caller] => [
      `the session of a person who is ${role} at the issuer`,
      {
        role,
        options: async (rule) => ({
          ...{ token: null, localAddress: '127.0.0.8' },
          headers: { cookie: await cookieOf(role, rule, (name) => cookieOfPerson(name as Role)), ...page() },
        }),
      },
    ]),
  ),
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

test('HEAD needs as much as GET', async () => {
  const readable = Object.entries(rules).filter(([key]) => key.startsWith('GET ') && key !== 'GET /v1/update');
  for (const [key, rule] of readable.filter(([, { needs }]) => roles.some((role) => role === needs)))
    for (const [secret, isIn] of [
      ['api-token-of-the-nobody', false],
      [rule.token === 'events' ? eventsToken : apiToken, true],
    ] as const) {
      const { status } = await scene.ask(rule.target ?? key.slice(4), { method: 'HEAD', token: secret });
      expect([key, status === 401]).toEqual([key, !isIn]);
    }
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
    ['with spaces around it', { 'remote-user': '  vera\t' }, 200],
    ['in a header of spaces', { 'remote-user': ' \t ' }, 401],
    ['with another case of the name', { 'remote-user': 'Vera' }, 403],
    ['with a letter that looks alike', { 'remote-user': Buffer.from('vеra').toString('latin1') }, 403],
    ['with a letter that cannot be seen', { 'remote-user': Buffer.from('ve\u200bra').toString('latin1') }, 403],
    ['with a space for a letter', { 'remote-user': 'ver a' }, 403],
    ['with an entry of the list that is no name', { 'remote-user': 'group:admins' }, 403],
    ['with a domain alone', { 'remote-user': '@example.com' }, 403],
    ['with two addresses', { 'remote-user': 'otto@example.com@evil.test' }, 403],
    ['that is endless', { 'remote-user': 'v'.repeat(3000) }, 401],
    ['with a group that is endless', { 'remote-user': 'eve', 'remote-groups': `${'g'.repeat(3000)},admins` }, 403],
    ['with both spellings', { 'remote-user': 'eve', remote_user: 'vera' }, 403],
  ])('%s is %#', async (_, headers, status) => expect((await from(headers)).status).toBe(status));

  test('does not count for a client that only says that it is behind the proxy', async () => {
    const headers = { 'remote-user': 'vera', 'x-forwarded-for': '127.0.0.2' };
    expect((await from(headers, '127.0.0.4')).status).toBe(401);
  });

  test('counts through a chain of proxies only if the last one is trusted', async () => {
    const headers = { 'remote-user': 'vera', 'x-forwarded-for': '203.0.113.9, 127.0.0.3' };
    expect((await from(headers)).status).toBe(200);
    expect((await from({ ...headers, 'x-forwarded-for': '203.0.113.9, 127.0.0.2' }, '127.0.0.3')).status).toBe(401);
  });

  test('does not count beside a token, nor beside a session, which win', async () => {
    const headers = { 'remote-user': 'anna', 'remote-groups': 'admins', ...page() };
    const ask = (more: AskOptions) => scene.ask('/v1/config', { token: null, localAddress: '127.0.0.2', ...more });
    expect((await ask({ headers })).status).toBe(200);
    expect((await ask({ headers, token: 'wrong' })).status).toBe(401);
    expect((await ask({ headers, token: token('viewer', false) })).status).toBe(403);
    expect((await ask({ headers: { ...headers, cookie: await cookieFor(token('viewer', false)) } })).status).toBe(403);
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

  const asked = ['container=NAME', 'container=PATTERN', 'container=(NAME|x)', 'image=IMAGE', 'image=docker.io/IMAGE'];
  const probes: readonly string[] = [
    ...['name=NAME', 'image=IMAGE', 'image=docker.io/IMAGE', 'name=NAME&engine=local'].flatMap((query) => [
      `GET /v1/containers?${query}`,
      `GET /v1/containers/details?${query}`,
    ]),
    ...['name=IMAGE', 'id=IMAGE_ID', 'name=docker.io/library/IMAGE'].map((query) => `GET /v1/images?${query}`),
    ...['container=NAME', 'container=/NAME&full=true'].map((query) => `GET /v1/notes?${query}`),
    ...[...asked, 'image=IMAGE@DIGEST', 'container=NAME&engine=local'].flatMap((query) => [
      `POST /v1/check?${query}`,
      `POST /v1/update?${query}`,
      `POST /v1/update?${query}&dry_run=true`,
      `POST /v1/update?${query}&dry_run=true&approved=true&now=true&retry_failed=true`,
      `GET /v1/update?${query}&now=true`,
    ]),
    ...['', '&forward=true&data=restore', '&async=true', '&engine=local'].flatMap((more) => [
      `POST /v1/rollback?container=NAME${more}`,
      `POST /v1/rollback?container=/NAME${more}`,
    ]),
    'POST /v1/decisions {"container":"NAME","decision":"skip","digest":"DIGEST"}',
    'POST /v1/decisions {"container":"/NAME","decision":"approve","digest":"DIGEST","engine":"local"}',
    'DELETE /v1/decisions/DECISION',
    'GET /api/containers/CONTAINER_ID',
    'GET /api/containers/CONTAINER_ID/triggers',
    'POST /api/containers/CONTAINER_ID/triggers/upkeep/update',
  ];

  test.each(probes)('is told by %s as much as of something that nobody has', async (template) => {
    const hidden = (await scene.ask('/v1/containers/details?name=zz-hidden')).json().containers[0];
    const decided = JSON.stringify({ container: 'zz-hidden', decision: 'skip', digest: hidden.latest_digest });
    const { id: decision } = (await scene.ask('/v1/decisions', { method: 'POST', body: decided })).json();
    const before = ['zz-hidden', 'zz-hidden-guest'].map(idOf);
    const zeros = `sha256:${'0'.repeat(64)}`;
    const about = async (values: Readonly<Record<string, string>>) => {
      const fill = (text: string) => text.replaceAll(/\b[A-Z]{2,}(?:_ID)?\b/g, (word) => values[word] ?? word);
      const [method = '', target = '', body] = fill(template).split(' ');
      const { status, text } = await scene.ask(target, { method, token: limited, ...(body && { body }) });
      const unnamed = Object.values(values).reduce((rest, value) => rest.replaceAll(value, 'GIVEN'), text);
      return [status, unnamed.replaceAll(/"(?:timestamp|run_id|duration|duration_ms)":(?:"[^"]*"|[\d.]+)/g, '')];
    };
    const told = await about({
      ...{ NAME: 'zz-hidden', PATTERN: 'zz-h.*n', IMAGE: 'postgres:17', IMAGE_ID: hidden.image_id },
      ...{ CONTAINER_ID: hidden.id, DIGEST: hidden.latest_digest, DECISION: decision },
    });
    const ofNobody = await about({
      ...{ NAME: 'zz-nobody', PATTERN: 'zz-n.*y', IMAGE: 'nobody:17', IMAGE_ID: zeros },
      ...{ CONTAINER_ID: zeros.slice(7), DIGEST: zeros, DECISION: 'none' },
    });
    expect(told).toEqual(ofNobody);
    expect(['zz-hidden', 'zz-hidden-guest'].map(idOf)).toEqual(before);
    expect((await scene.ask(`/v1/decisions/${decision}`, { method: 'DELETE' })).status).toBe(200);
  });

  test('is sent no event of others again when a stream resumes', async () => {
    const headers = { 'last-event-id': 'abcdef-1' };
    const [all, own] = await Promise.all(
      [eventsToken, token('viewer', true, 'events')].map((secret) =>
        followEvents(scene.url, { headers: { ...headers, ...bearer(secret) } }),
      ),
    );
    for (const reader of [all, own]) await reader?.frames(3);
    expect(all?.text()).toContain('zz-hidden');
    expect(own?.text()).toContain('"container":"app"');
    expect(own?.text()).not.toContain('hidden');
    for (const reader of [all, own]) reader?.end();
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

    // After an update by one who may, the two were updated together, and would go back together.
    scene.publish('postgres:17', '5');
    const both = (await scene.ask('/v1/update?container=app,zz-hidden-side', { method: 'POST' })).json();
    expect(both.summary).toMatchObject({ failed: 0 });
    await until(async () => idOf('app') !== undefined && idOf('app') !== id);
    const before = ['app', 'zz-hidden-side'].map(idOf);
    for (const query of ['', '&forward=true', '&data=leave']) {
      const reply = await scene.ask(`/v1/rollback?container=app${query}`, { method: 'POST', token: limited });
      expect(reply.text).not.toContain('hidden');
      expect(reply.json().containers?.map(({ outcome }: { outcome: string }) => outcome) ?? ['none']).not.toContain(
        'went_back',
      );
    }
    expect(['app', 'zz-hidden-side'].map(idOf)).toEqual(before);
  });
});

describe('who did it', () => {
  test.each([
    ['the token without a role', 'token all', 'all'],
    ['the token of a operator', 'token operator', 'operator'],
    ['the session of a limited operator', 'browser session (operator of acme)', 'operator of acme'],
    ['the session of the password', 'browser session (password)', 'password'],
    ['the session of a person who is operator at the issuer', 'otto', 'otto'],
    ['a trusted proxy that names a operator', 'Otto@Example.com', 'Otto@Example.com'],
  ])('%s: history, events, log and decisions say %s', async (who, words, name) => {
    const log = createTestLog();
    onTestFinished(logEvents(scene.application, log, { failedChecks: 'warn' }));
    const reader = await followEvents(scene.url);
    onTestFinished(reader.end);
    const digest = scene.publish('acme/api:1', `of ${who}`);
    const send = async (target: string, method: string, body?: object) => {
      const options = await callers[who]?.options({ needs: 'operator' });
      return scene.ask(target, { ...options, method, ...(body && { body: JSON.stringify(body) }) });
    };
    await send('/v1/check?container=api', 'POST');
    const decided = await send('/v1/decisions', 'POST', { container: 'api', decision: 'approve', digest });
    expect(decided.json()).toMatchObject({ by: name });
    const { run_id } = (await send('/v1/update?container=api', 'POST')).json();
    await reader.until((text) => text.split('event: scan_completed').length > 2);
    expect(reader.text()).toContain(
      JSON.stringify({ run_id, purpose: 'update', trigger: 'http', by: words }).slice(1, -1),
    );
    const { entries } = (await scene.ask('/v1/history')).json();
    expect(entries.at(-1)).toMatchObject({ run_id, by: words, containers: [{ name: 'api', outcome: 'updated' }] });
    const asked = log.lines.filter(({ message }) => message === `Checking for updates, asked by ${words}`);
    expect(asked).toHaveLength(2);
  });

  test('a session that an admin ends: the log names both', async () => {
    await cookieFor(token('viewer', false));
    const { sessions } = (await scene.ask('/v1/sessions')).json();
    const { id } = sessions.findLast(({ by }: { by?: string }) => by === 'viewer');
    const headers = { 'remote-user': 'anna', 'remote-groups': 'admins', ...page() };
    const options = { method: 'DELETE', token: null, localAddress: '127.0.0.2', headers };
    expect((await scene.ask(`/v1/sessions/${id}`, options)).status).toBe(200);
    expect(scene.lines.map(({ message }) => message)).toContain('The session of viewer was ended by anna');
  });
});

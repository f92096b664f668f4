import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { apiToken, eventsToken, startHttp } from '../../support/http/http-scene.ts';
import { createScriptedService } from '../../support/http/scripted-service.ts';
import { servedEndpoints } from '../../support/http/served-endpoints.ts';
import { type DescribedScene, expectErrorBody, startDescribed } from '../described/described.ts';

const folder = mkdtempSync(join(tmpdir(), 'upkeep-tokens-'));
let scene: DescribedScene;
beforeAll(async () => {
  scene = await startDescribed();
});
afterAll(async () => {
  await scene.stop();
  rmSync(folder, { recursive: true });
});

const all = await servedEndpoints();
const openReads = all.flatMap(({ access, method, target }) => (access === 'open' && method === 'GET' ? target : []));
const guarded = all.filter(({ access, method }) => access.startsWith('api token') && method !== 'HEAD');

describe.each(guarded)('$method $target', ({ method, target: path, access }) => {
  test('lets in who has the API token', async () => {
    // Some need more than the token, and say what.
    expect([200, 204, 400, 404]).toContain((await scene.ask(path, { method })).status);
  });

  test.each<readonly [string, string | undefined]>([
    ['nothing', undefined],
    ['another token', 'Bearer wrong'],
    ['the beginning of it', `Bearer ${apiToken.slice(0, -1)}`],
    ['more than it', `Bearer ${apiToken}x`],
    ['it in capitals', `Bearer ${apiToken.toUpperCase()}`],
    ['the events token', `Bearer ${eventsToken}`],
    ['no word at all', ''],
    ['the word alone', 'Bearer'],
    ['an empty word', 'Bearer '],
    ['another scheme', `Basic ${apiToken}`],
    ...(access === 'api token'
      ? [['a password', `Basic ${Buffer.from(`:${apiToken}`).toString('base64')}`] as const]
      : []),
    ['the word "undefined"', 'Bearer undefined'],
  ])('refuses %s with 401', async (_, authorization) => {
    const reply = await scene.ask(path, {
      method,
      token: null,
      headers: authorization === undefined ? {} : { authorization },
    });
    expect(reply.status).toBe(401);
    expect(reply.headers['www-authenticate']).toContain('Bearer');
    expectErrorBody(reply);
  });

  test('never reads the API token from the query', async () => {
    expect(
      (await scene.ask(`${path}?access_token=${apiToken}&token=${apiToken}`, { method, token: null })).status,
    ).toBe(401);
  });

  test('nor from a cookie', async () => {
    const headers = { cookie: `access_token=${apiToken}` };
    expect((await scene.ask(path, { method, token: null, headers })).status).toBe(401);
  });
});

test.each([`Bearer ${apiToken}`, `bearer ${apiToken}`, `BEARER  ${apiToken}`, apiToken, ` ${apiToken} `])(
  'the header may be %j',
  async (authorization) => {
    expect((await scene.ask('/v1/containers', { token: null, headers: { authorization } })).status).toBe(200);
  },
);

test('a refused request does nothing', async () => {
  const before = scene.service.asked.length;
  await scene.ask('/v1/update', { method: 'POST', token: 'wrong' });
  expect(scene.service.asked).toHaveLength(before);
});

describe('the events', () => {
  const head = { method: 'HEAD' } as const;

  test.each([
    ['the header', '/v1/events', `Bearer ${eventsToken}`],
    ['the bare header', '/v1/events', eventsToken],
    ['the query', `/v1/events?access_token=${eventsToken}`, undefined],
    ['the query, besides a header that a proxy wants', `/v1/events?access_token=${eventsToken}`, 'Basic eDp5'],
  ])('take the events token in %s', async (_, path, authorization) => {
    expect(
      (await scene.ask(path, { ...head, token: null, headers: authorization === undefined ? {} : { authorization } }))
        .status,
    ).toBe(200);
  });

  test.each([
    ['nothing', '/v1/events', undefined],
    ['the API token in the header', '/v1/events', `Bearer ${apiToken}`],
    ['the API token in the query', `/v1/events?access_token=${apiToken}`, undefined],
    ['another token', '/v1/events?access_token=wrong', 'Bearer wrong'],
    ['an empty one', '/v1/events?access_token=', undefined],
    ['two', `/v1/events?access_token=${eventsToken}&access_token=wrong`, undefined],
  ])('refuse %s with 401', async (_, path, authorization) => {
    const reply = await scene.ask(path, { token: null, headers: authorization === undefined ? {} : { authorization } });
    expect(reply.status).toBe(401);
    expectErrorBody(reply);
  });
});

test.each([
  ['/v1/containers', '--http-api-token'],
  ['/v1/events', '--http-api-events-token'],
])('without any token %s is refused, and the option that sets one is named', async (path, option) => {
  const settings = { token: undefined, eventsToken: undefined };
  const { ask, stop } = await startHttp(createScriptedService(), { settings });
  const reply = await ask(path);
  expect([reply.status, reply.json().error]).toEqual([401, `no token is configured: ${option} sets one`]);
  await stop();
});

test.each([...openReads, '/swagger/doc.json'])('%s asks for nothing', async (path) => {
  expect((await scene.ask(path, { token: null })).status).toBe(200);
  expect((await scene.ask(path, { token: 'wrong' })).status).toBe(200);
});

test('a token may hold any characters', async () => {
  const token = 'p\u00e4ss w\u00f6rd +&%';
  const { ask, stop } = await startHttp(createScriptedService(), {
    settings: { token: { kind: 'value', value: token }, eventsToken: { kind: 'value', value: token } },
  });
  const bytes = Buffer.from(token).toString('latin1');
  expect((await ask('/v1/containers', { token: bytes })).status).toBe(200);
  expect(
    (await ask(`/v1/events?access_token=${encodeURIComponent(token)}`, { method: 'HEAD', token: null })).status,
  ).toBe(200);
  await stop();
});

describe('a token from a file', () => {
  test('is its trimmed content, and follows it without a restart', async () => {
    const path = join(folder, 'token');
    writeFileSync(path, '  first\n');
    const { ask, stop } = await startHttp(createScriptedService(), {
      settings: { token: { kind: 'file', path } },
    });
    const statusWith = async (token: string) => (await ask('/v1/containers', { token })).status;
    expect(await statusWith('first')).toBe(200);
    expect(await statusWith(path)).toBe(401);

    writeFileSync(path, 'second\n');
    expect([await statusWith('first'), await statusWith('second')]).toEqual([401, 200]);

    writeFileSync(`${path}.new`, 'third');
    renameSync(`${path}.new`, path);
    expect([await statusWith('second'), await statusWith('third')]).toEqual([401, 200]);
    await stop();
  });

  test('may hold a token for each of several people, with a name before it', async () => {
    const path = join(folder, 'people');
    writeFileSync(path, '# people\nanna: first-token\n\nJosé at home: second:token\nbob: third-token\n');
    const { ask, stop } = await startHttp(createScriptedService(), { settings: { token: { kind: 'file', path } } });
    const statusWith = async (token: string) => (await ask('/v1/containers', { token })).status;
    for (const token of ['first-token', 'second:token', 'third-token']) expect(await statusWith(token)).toBe(200);
    for (const token of ['anna', 'anna: first-token', '# people', 'third', ''])
      expect(await statusWith(token)).toBe(401);
    writeFileSync(path, 'anna: first-token\n');
    expect([await statusWith('first-token'), await statusWith('third-token')]).toEqual([200, 401]);
    await stop();
  });

  const unusable: readonly [string, (path: string) => void][] = [
    ['emptied', (path) => writeFileSync(path, '')],
    ['removed', (path) => rmSync(path)],
    ['replaced by a folder', (path) => (rmSync(path), mkdirSync(path))],
    ['replaced by comments', (path) => writeFileSync(path, '# anna: first-token\n')],
    ['left with a name alone', (path) => writeFileSync(path, 'bob:\n')],
    ['given an unnamed line', (path) => writeFileSync(path, 'anna: first-token\nsecond-token\n')],
    ['turned to nothing', (path) => (rmSync(path), symlinkSync('nowhere', path))],
  ];
  test.each(unusable)('lets nobody in while it is %s, with one error line', async (_, spoil) => {
    const path = join(folder, 'spoiled');
    writeFileSync(path, 'anna: first-token\n');
    const { ask, stop, lines } = await startHttp(createScriptedService(), {
      settings: { token: { kind: 'file', path }, eventsToken: { kind: 'file', path } },
    });
    const statusWith = async (token: string) => [
      (await ask('/v1/containers', { token })).status,
      (await ask(`/v1/events?access_token=${token}`, { method: 'HEAD', token: null })).status,
      (await ask('/v1/status?extra=true', { token })).status,
    ];
    expect(await statusWith('first-token')).toEqual([200, 200, 200]);
    spoil(path);
    const given = ['first-token', 'second-token', 'anna', 'bob:', 'anna:%20first-token', '', 'undefined'];
    for (const token of given) expect(await statusWith(token)).toEqual([401, 401, 401]);
    rmSync(path, { recursive: true, force: true });
    expect(await statusWith('first-token')).toEqual([401, 401, 401]);
    const loud = lines.filter(({ level }) => level === 'error' || level === 'warn');
    // One for each of the two options that name the file.
    expect(loud.map(({ level, message }) => [level, message])).toEqual(
      Array.from({ length: 2 }, () => ['error', expect.stringContaining('every request with a token is refused')]),
    );
    expect(JSON.stringify(lines)).not.toMatch(/first-token|second-token/);
    writeFileSync(path, 'anna: first-token\n');
    expect(await statusWith('first-token')).toEqual([200, 200, 200]);
    await stop();
  });

  test('follows a link that is turned, as Kubernetes does it', async () => {
    for (const version of ['v1', 'v2']) writeFileSync(join(folder, version), version);
    const path = join(folder, 'link');
    symlinkSync('v1', path);
    const { ask, stop } = await startHttp(createScriptedService(), {
      settings: { eventsToken: { kind: 'file', path } },
    });
    const statusWith = async (token: string) => (await ask('/v1/events', { method: 'HEAD', token })).status;
    expect([await statusWith('v1'), await statusWith('v2')]).toEqual([200, 401]);
    symlinkSync('v2', `${path}.new`);
    renameSync(`${path}.new`, path);
    expect([await statusWith('v1'), await statusWith('v2')]).toEqual([401, 200]);
    await stop();
  });
});

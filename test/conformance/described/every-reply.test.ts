import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ServiceError } from '../../../src/domain/text/errors.ts';
import { startHttp } from '../../support/http/http-scene.ts';
import { createScriptedService } from '../../support/http/scripted-service.ts';
import { type DescribedScene, expectErrorBody, startDescribed, wholeSeconds } from './described.ts';

let scene: DescribedScene;
beforeAll(async () => {
  scene = await startDescribed();
});
afterAll(() => scene.stop());

/** A reply of each kind: success, errors of all stages, pages. */
const replies = [
  ['200', 'GET', '/livez'],
  ['200', 'GET', '/v1/containers'],
  ['200', 'GET', '/v1/metrics'],
  ['202', 'POST', '/v1/update?async=true'],
  ['204', 'GET', '/v1/status'],
  ['302', 'GET', '/swagger/'],
  ['400', 'GET', '/v1/history?limit=x'],
  ['404', 'GET', '/nope'],
  ['405', 'GET', '/v1/update'],
  ['200', 'GET', '/swagger/index.html'],
  ['200', 'HEAD', '/v1/containers'],
] as const;

describe.each(replies)('a reply %s, to %s %s,', (status, method, path) => {
  test('has that status', async () => expect((await scene.ask(path, { method })).status).toBe(Number(status)));

  test('has the security headers, and does not say what serves it', async () => {
    const { headers } = await scene.ask(path, { method });
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-embedder-policy': 'require-corp',
      'cross-origin-resource-policy': 'same-origin',
      'content-security-policy': expect.stringContaining("default-src 'none'"),
    });
    expect(headers).not.toHaveProperty('server');
    expect(headers).not.toHaveProperty('x-powered-by');
  });

  test('has a request id and the rate limit', async () => {
    const { headers } = await scene.ask(path, { method });
    expect(headers['x-request-id']).toMatch(/^[\da-f]{8}-[\da-f-]{27}$/);
    expect(headers['x-ratelimit-limit']).toBe('1000000');
    expect(Number(headers['x-ratelimit-remaining'])).toBeLessThan(1_000_000);
    expect(Number(headers['x-ratelimit-reset'])).toBeGreaterThan(0);
    expect(Number(headers['x-ratelimit-reset'])).toBeLessThanOrEqual(60);
  });

  test('leaves one line in the access log', async () => {
    const id = `line-of-${status}-${method}-${Date.now()}`;
    await scene.ask(`${path}${path.includes('?') ? '&' : '?'}access_token=secret-in-url`, {
      method,
      headers: { 'x-request-id': id },
    });
    await new Promise((resolve) => setTimeout(resolve, 20));
    const lines = scene.lines.filter(({ fields }) => fields['request_id'] === id);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({
      level: Number(status) >= 400 ? 'info' : 'debug',
      message: 'Request',
      fields: { client: '127.0.0.1', method, path: path.replace(/\?.*/, ''), duration_ms: expect.any(Number) },
    });
    expect(JSON.stringify(scene.lines)).not.toContain('secret-in-url');
  });
});

test('a reply 401 has them too', async () => {
  const reply = await scene.ask('/v1/config', { token: null });
  expect(reply.status).toBe(401);
  expect(reply.headers).toMatchObject({
    'x-frame-options': 'DENY',
    'x-request-id': expect.any(String),
    'x-ratelimit-limit': '1000000',
  });
});

describe('JSON', () => {
  test.each([
    ['GET', '/v1/containers'],
    ['GET', '/v1/containers/details'],
    ['GET', '/v1/containers?name=x'],
    ['GET', '/v1/images'],
    ['GET', '/v1/history'],
    ['GET', '/v1/config'],
    ['POST', '/v1/update'],
    ['POST', '/v1/update?async=true'],
    ['POST', '/v1/check'],
  ])('%s %s says when it was made, UTC in whole seconds, and in which version', async (method, path) => {
    const before = Math.floor(Date.now() / 1000) * 1000;
    const reply = await scene.ask(path, { method });
    expect(reply.headers['content-type']).toBe('application/json; charset=utf-8');
    const { timestamp, api_version } = reply.json();
    expect(api_version).toBe('v1');
    expect(timestamp).toMatch(wholeSeconds);
    expect(Date.parse(timestamp)).toBeGreaterThanOrEqual(before);
    expect(Date.parse(timestamp)).toBeLessThanOrEqual(Date.now());
  });

  test('is never kept by a cache', async () => {
    expect((await scene.ask('/v1/containers')).headers['cache-control']).toBe('no-store');
    expect((await scene.ask('/v1/nope')).headers['x-content-type-options']).toBe('nosniff');
  });

  test.each(['gzip', 'gzip, deflate, br', 'br;q=1, GZIP;q=0.5'])(
    'is compressed for a client that accepts %j',
    async (accepted) => {
      const paths = ['/v1/containers', '/swagger/doc.json', '/swagger/doc.yaml'];
      for (const path of paths) {
        const plain = await scene.ask(path);
        expect(plain.headers['content-encoding']).toBeUndefined();
        const small = await scene.ask(path, { headers: { 'accept-encoding': accepted } });
        const isLong = plain.text.length >= 1400;
        expect([path, small.headers['content-encoding']]).toEqual([path, isLong ? 'gzip' : undefined]);
        if (!isLong) continue;
        expect(small.headers.vary).toBe('Accept-Encoding');
        expect(Number(small.headers['content-length'])).toBeLessThan(plain.text.length);
        expect(small.text).toBe(plain.text);
      }
    },
  );

  test.each(['identity', 'br', 'gzip;q=0', 'gzip; q=0.000', 'agzip', ''])(
    'is not compressed for %j',
    async (accepted) => {
      const { headers } = await scene.ask('/swagger/doc.json', { headers: { 'accept-encoding': accepted } });
      expect(headers['content-encoding']).toBeUndefined();
    },
  );
});

describe('the request id', () => {
  test.each(['abc', '0af7651916cd43dd8448eb211c80319c', 'with space', '!"#$%&()*~', 'x'.repeat(256)])(
    '%j is echoed',
    async (id) => {
      expect((await scene.ask('/livez', { headers: { 'x-request-id': id } })).headers['x-request-id']).toBe(id);
    },
  );

  test.each(['', 'tab\there', '\u00fcmlaut', 'x'.repeat(257)])('%j is replaced', async (id) => {
    const { headers } = await scene.ask('/livez', { headers: { 'x-request-id': id } });
    expect(headers['x-request-id']).toMatch(/^[\da-f-]{36}$/);
  });

  test('is fresh for every request', async () => {
    const ids = await Promise.all(
      Array.from({ length: 20 }, async () => (await scene.ask('/livez')).headers['x-request-id']),
    );
    expect(new Set(ids).size).toBe(20);
  });
});

describe('what goes wrong inside', () => {
  test.each([
    ['engine-unreachable', 500, 'the container engine cannot be reached'],
    ['engine-denied', 500, 'the container engine denies access'],
    ['engine-refused', 500, 'the container engine refused the request'],
    ['timeout', 500, 'the container engine did not answer in time'],
    ['registry-unreachable', 500, 'a registry cannot be reached'],
    ['cancelled', 503, 'the request was cancelled'],
  ] as const)('a failure %s becomes %d, in words of our own', async (code, status, message) => {
    const service = createScriptedService();
    const { ask, stop } = await startDescribed({}, service);
    service.script.failure = new ServiceError(code, 'Cannot reach "unix:///var/run/secret.sock": connect ENOENT');
    for (const path of ['/v1/update', '/v1/check']) {
      const reply = await ask(path, { method: 'POST' });
      expect([reply.status, reply.json().error]).toEqual([status, message]);
      expectErrorBody(reply);
    }
    await stop();
  });

  test('a bug is "internal error" to the client, and all of it to the log', async () => {
    const service = createScriptedService();
    const { ask, stop, lines } = await startDescribed({}, service);
    service.script.failure = new TypeError('secret detail');
    const reply = await ask('/v1/update', { method: 'POST' });
    expect([reply.status, reply.json().error]).toEqual([500, 'internal error']);
    expect(reply.text).not.toContain('secret detail');
    const line = lines.find(({ level }) => level === 'error');
    expect(line).toMatchObject({
      message: 'A request failed because of an internal error',
      fields: { error: service.script.failure },
    });
    await stop();
  });

  test('history fails with 500 too', async () => {
    const service = createScriptedService();
    const { ask, stop } = await startHttp({
      ...service,
      history: () => {
        throw new Error('x');
      },
    });
    const reply = await ask('/v1/history');
    expect(reply.status).toBe(500);
    expectErrorBody(reply);
    await stop();
  });
});

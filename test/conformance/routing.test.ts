import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { endpointGroups } from '../../src/domain/settings/http-settings.ts';
import { startHttp } from '../support/http/http-scene.ts';
import { createScriptedService } from '../support/http/scripted-service.ts';
import { servedEndpoints } from '../support/http/served-endpoints.ts';
import { type DescribedScene, expectErrorBody, startDescribed } from './described/described.ts';

const all = await servedEndpoints();

/** Without the stream, which does not end, and without `HEAD`, which has tests of its own. */
const plain = all.filter(({ target, method }) => target !== '/v1/events' && method !== 'HEAD');

let scene: DescribedScene;
beforeAll(async () => {
  scene = await startDescribed();
});
afterAll(() => scene.stop());

describe('the groups', () => {
  test.each(endpointGroups)('%s alone serves its own endpoints and no others', async (group) => {
    const { ask, stop } = await startHttp(createScriptedService(), { settings: { groups: [group] } });
    const own: string[] = [];
    for (const { group: itsGroup, method, target } of all.filter((one) => one.method !== 'HEAD')) {
      // With its own token the stream would not end.
      const { status, text } = await ask(target, { method, ...(itsGroup === 'events' && { token: 'wrong' }) });
      const isUnknown = status === 404 && text.includes('"not found"');
      expect([method, target, isUnknown || status === 405]).toEqual([method, target, itsGroup !== group]);
      if (itsGroup === group) own.push(target);
    }
    expect(own.length, 'a group without an endpoint').toBeGreaterThan(0);
    await stop();
  });

  test('a group that is off is unknown to every method', async () => {
    const { ask, stop } = await startHttp(createScriptedService(), { settings: { groups: ['health'] } });
    for (const method of ['GET', 'POST', 'HEAD', 'DELETE', 'OPTIONS'])
      expect((await ask('/v1/update', { method })).status).toBe(404);
    await stop();
  });
});

describe('methods', () => {
  const others = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY', 'SEARCH', 'PURGE'];
  const wrong = all.flatMap(({ method, target, allowed }) =>
    others
      .filter((other) => method === allowed[0] && !allowed.includes(other))
      .map((other) => [other, target, allowed] as const),
  );

  test.each(wrong)('%s %s is refused with 405 and the methods allowed', async (method, target, allowed) => {
    const reply = await scene.ask(target, { method });
    expect(reply.status).toBe(405);
    expect(String(reply.headers['allow']).split(', ').toSorted()).toEqual(allowed.toSorted());
    expectErrorBody(reply);
  });

  test('405 is decided before anyone is asked for a token', async () => {
    expect((await scene.ask('/v1/update', { method: 'GET', token: null })).status).toBe(405);
    expect((await scene.ask('/v1/events', { method: 'POST', token: null })).status).toBe(405);
  });

  test.each([
    ['/livez', 405],
    ['example.com:443', 404],
  ])('CONNECT %s is answered with %d, and the connection ends', async (target, status) => {
    const text = await exchange(
      scene.port,
      `CONNECT ${target} HTTP/1.1\r\nHost: x\r\nX-Request-Id: c-${status}\r\n\r\n`,
    );
    expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(text).toContain('"api_version":"v1"');
    expect(text).toMatch(/\r\nX-RateLimit-Remaining: \d+\r\n/);
    await expect.poll(() => scene.lines.map(({ fields }) => fields['request_id'])).toContain(`c-${status}`);
  });

  test.each(all.filter(({ method, target }) => method === 'HEAD' && target !== '/v1/events'))(
    'HEAD $target answers like GET, without the body',
    async ({ target }) => {
      const [get, head] = [await scene.ask(target), await scene.ask(target, { method: 'HEAD' })];
      expect(head.status).toBe(get.status);
      expect(head.text).toBe('');
      expect(head.headers['content-type']).toBe(get.headers['content-type']);
      expect(head.headers['content-length']).toBe(get.headers['content-length']);
    },
  );

  test('HEAD of the events tells the type and ends', async () => {
    const { status, headers, text } = await scene.ask('/v1/events', {
      method: 'HEAD',
      token: 'events-token-for-tests',
    });
    expect([status, headers['content-type'], text]).toEqual([200, 'text/event-stream; charset=utf-8', '']);
    expect(scene.http.streams.count()).toBe(0);
  });

  test.each(['/swagger/index.html', '/swagger/doc.json', '/swagger/anything', '/swagger/'])(
    'HEAD %s is refused',
    async (path) => {
      const { status, headers } = await scene.ask(path, { method: 'HEAD' });
      expect([status, headers['allow']]).toEqual([405, 'GET']);
    },
  );

  test('HEAD of an update is refused and updates nothing', async () => {
    const before = scene.service.asked.length;
    expect((await scene.ask('/v1/update', { method: 'HEAD' })).status).toBe(405);
    expect(scene.service.asked).toHaveLength(before);
  });
});

describe('paths', () => {
  test.each([
    '/v1',
    '/v1/',
    '/v2/containers',
    '/v1/nope',
    '/v1/containers/web',
    '/V1/containers',
    '/v1/Containers',
    '/LIVEZ',
    '/livez/',
    '/readyz/',
    '/swagger',
    '/v1/containers//',
    '//v1/containers',
    '/v1//containers',
    '/%zz',
    '/v1/%2e%2e/livez',
    '/v1/containers%00',
    '/v1/containers;x=1',
    '*',
    '/..%2f..%2fetc/passwd',
    '/swagger/../livez',
    '/swagger/%2e%2e%2fpackage.json',
    '/swagger/nope.js',
    '/swagger/__proto__',
    '/swagger/constructor',
  ])('%s is unknown', async (path) => {
    const reply = await scene.ask(path, { token: null });
    expect(reply.status).toBe(404);
    expectErrorBody(reply);
  });

  test('404 comes before 401', async () => {
    expect((await scene.ask('/v1/nope', { token: null })).status).toBe(404);
  });

  test.each(plain.filter(({ target }) => target.startsWith('/v1/')))(
    '$method $target/ is the same',
    async ({ method, target }) => {
      const { status } = await scene.ask(target, { method });
      expect((await scene.ask(`${target}/`, { method })).status).toBe(status);
      expect((await scene.ask(`${target}/?x=y`, { method })).status).toBe(status);
    },
  );

  test('letters may be escaped, and the target may be absolute', async () => {
    expect((await scene.ask('/v1/%63ontainers')).status).toBe(200);
    expect((await scene.ask(`http://other.test/livez`)).status).toBe(200);
    expect((await scene.ask(`http://other.test/v1/containers/?name=x`)).status).toBe(200);
  });

  test('parameters that are not known are no concern', async () => {
    expect((await scene.ask('/livez?x=1&&=&%zz')).status).toBe(200);
    expect((await scene.ask('/v1/containers?limit=abc')).status).toBe(200);
  });
});

describe('bodies', () => {
  const mebibyte = 1_048_576;
  const targets = [
    ...plain.map(({ method, target }) => [method, target] as const),
    ['GET', '/nope'],
    ['DELETE', '/v1/check'],
    ['POST', '/swagger/index.html'],
  ] as const;

  test.each([...targets, ['GET', '/v1/events'], ['POST', '/v1/events']] as const)(
    '%s %s refuses one byte more than a mebibyte with 413, without a token',
    async (method, path) => {
      const reply = await scene.ask(path, { method, token: null, body: Buffer.alloc(mebibyte + 1) });
      expect(reply.status).toBe(413);
      expectErrorBody(reply);
    },
  );

  test.each(targets)('%s %s refuses it in chunks too', async (method, path) => {
    const reply = await scene.ask(path, { method, token: null, body: Buffer.alloc(mebibyte + 1), chunked: true });
    expect(reply.status).toBe(413);
    expectErrorBody(reply);
  });

  const ignoring = targets.filter(
    ([method, path]) => !plain.some((one) => one.readsBody && one.method === method && one.target === path),
  );

  test.each(ignoring)('%s %s takes a mebibyte, and ignores it', async (method, path) => {
    const { status } = await scene.ask(path, { method });
    expect((await scene.ask(path, { method, body: Buffer.alloc(mebibyte) })).status).toBe(status);
    expect((await scene.ask(path, { method, body: Buffer.alloc(mebibyte), chunked: true })).status).toBe(status);
  });

  test.each([
    'application/json',
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/vnd.docker.distribution.events.v1+json',
    'nonsense',
    '///;;',
    '',
  ])('of type %j is ignored', async (type) => {
    for (const body of ['', '{', '{"image":"x"}']) {
      const { status } = await scene.ask('/v1/check', { method: 'POST', headers: { 'content-type': type }, body });
      expect(status).toBe(200);
    }
    expect(scene.service.asked.at(-1)).toMatchObject({ images: [], containers: [] });
  });

  test('the reply to a body that is too large is read whole, though the client sends on', async () => {
    const reply = await scene.ask('/v1/update', { method: 'POST', body: Buffer.alloc(8 * mebibyte), chunked: true });
    expect(reply.status).toBe(413);
  });

  test('a client that asks first is told at once', async () => {
    const text = await exchange(
      scene.port,
      `POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Length: ${mebibyte + 1}\r\nExpect: 100-continue\r\n\r\n`,
    );
    expect(text).toMatch(/^HTTP\/1\.1 413 /);
    const small = await exchange(
      scene.port,
      'POST /nope HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nExpect: 100-continue\r\nConnection: close\r\n\r\nx',
    );
    expect(small).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 404 /);
    const old = await exchange(scene.port, 'POST /nope HTTP/1.0\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\nx');
    expect(old).toMatch(/^HTTP\/1\.1 404 /);
  });

  test('an expectation that nobody knows is passed over', async () => {
    expect((await scene.ask('/livez', { headers: { expect: 'the worst' } })).status).toBe(200);
  });
});

function exchange(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    let received = '';
    socket.on('data', (chunk) => (received += chunk.toString()));
    socket.on('close', () => resolve(received));
    socket.on('error', reject);
  });
}

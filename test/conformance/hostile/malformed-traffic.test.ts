import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { apiToken, ask, type HttpScene, startHttp } from '../../support/http/http-scene.ts';
import { startUpkeep } from '../../support/scene/run-upkeep.ts';
import { createScriptedService, watchedContainer } from '../../support/http/scripted-service.ts';

describe('a request that is none', () => {
  const service = createScriptedService();
  let scene: HttpScene;
  beforeAll(async () => {
    const containers = Array.from({ length: 2000 }, (_, index) => watchedContainer(`container-${index}`));
    service.script.inventory = { revision: 2, containers, images: [] };
    scene = await startHttp(service);
  });
  afterAll(() => scene.stop());

  test.each([
    ['no method', 'hello\r\n\r\n', 400],
    ['a method that nobody knows', 'FETCH /livez HTTP/1.1\r\nHost: x\r\n\r\n', 405],
    ['such a method for an unknown path', 'FETCH /nope HTTP/1.1\r\nHost: x\r\n\r\n', 404],
    ['a method in small letters', 'get /livez HTTP/1.1\r\nHost: x\r\n\r\n', 405],
    ['such a method without a version', 'FETCH /livez\r\n\r\n', 400],
    ['no host', 'GET /livez HTTP/1.1\r\n\r\n', 400],
    ['two hosts', 'GET /livez HTTP/1.1\r\nHost: x\r\nX: 1\r\nhOST: y\r\n\r\n', 400],
    ['one host twice, in HTTP/1.0', 'GET /livez HTTP/1.0\r\nHost: x\r\nHost: x\r\n\r\n', 400],
    ['a host with a user', 'GET /livez HTTP/1.1\r\nHost: me@x\r\n\r\n', 400],
    ['a host with a path', 'GET /livez HTTP/1.1\r\nHost: x/livez\r\n\r\n', 400],
    ['a host with spaces', 'GET /livez HTTP/1.1\r\nHost: x y\r\n\r\n', 400],
    ['a host with a port that is no number', 'GET /livez HTTP/1.1\r\nHost: x:http\r\n\r\n', 400],
    ['half an IPv6 address', 'GET /livez HTTP/1.1\r\nHost: [::1\r\n\r\n', 400],
    ['a header without a name', 'GET /livez HTTP/1.1\r\nHost: x\r\n: y\r\n\r\n', 400],
    ['a length that is no number', 'POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Length: ten\r\n\r\n', 400],
    ['two lengths', 'POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab', 400],
    [
      'a length and chunks',
      'POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
    ],
    ['a chunk that is none', 'POST /v1/check HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n', 400],
    ['too many header bytes', `GET /livez HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`, 431],
    ['a path that is too long', `GET /${'x'.repeat(40_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431],
    ['a handshake of TLS', `\u0016\u0003\u0001\u0002\u0000\u0001`, 400],
  ])('(%s) gets an answer in JSON where one can be given', async (_, text, status) => {
    const reply = await exchange(scene.port, text);
    expect(reply).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    const body = JSON.parse(reply.slice(reply.indexOf('\r\n\r\n') + 4)) as object;
    expect(body).toMatchObject({ error: expect.any(String), api_version: 'v1' });
    expect(reply.toLowerCase()).not.toMatch(/\r\nserver:|node|fastify/);
  });

  test.each([
    '',
    'x:',
    'X.example:8080',
    '127.0.0.1',
    '[::1]:8080',
    '[fe80::1%25eth0]',
    'my_service',
    "%41!$&'()*+,;=~",
  ])('the host %j is valid', async (host) => {
    const reply = await exchange(scene.port, `GET /livez HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    expect(reply).toMatch(/^HTTP\/1\.1 200 /);
  });

  test.each([
    ['FETCH /livez HTTP/1.1\r\nHost: x\r\n\r\n', 405],
    ['hello\r\n\r\n', 400],
  ])('(%j) gets one too on a connection that has been answered before', async (text, status) => {
    const socket = connect(scene.port, '127.0.0.1', () => socket.write('GET /livez HTTP/1.1\r\nHost: x\r\n\r\n'));
    let received = '';
    socket.on('data', (chunk) => (received += chunk.toString()));
    const closed = new Promise((resolve) => socket.once('close', resolve));
    await expect.poll(() => received).toContain('{"status":"ok"}');
    socket.write(text);
    await closed;
    expect([...received.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, each]) => Number(each))).toEqual([200, status]);
  });

  test.each(['/livez', '/v1/check', '/v1/events', '/nope'])(
    'a CONNECT behind a request for %s that waits for its reply harms nobody',
    async (path) => {
      const first = `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
      const reply = await exchange(scene.port, `${first}CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n${first}`);
      expect(reply.match(/HTTP\/1\.1/g)?.length ?? 0).toBeLessThanOrEqual(2);
      expect((await scene.ask('/livez')).status).toBe(200);
    },
  );

  test('what comes in the middle of a reply ends it', async () => {
    const socket = connect(scene.port, '127.0.0.1', () =>
      socket.write('GET /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer events-token-for-tests\r\n\r\n'),
    );
    let received = '';
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => (received += chunk.toString()));
    const closed = new Promise((resolve) => socket.once('close', resolve));
    await expect.poll(() => received).toContain('retry: 5000');
    socket.write('hello\r\n\r\n');
    await closed;
    expect(received.match(/HTTP\/1\.1/g)).toHaveLength(1);
  });

  test.each(['b', 'hello\r\n\r\n', 'FETCH /livez HTTP/1.1\r\nHost: x\r\n\r\n'])(
    '%j behind a request that waits for its reply does not take the place of the reply',
    async (behind) => {
      let end: () => void = () => undefined;
      service.script.checkEnds = new Promise<void>((resolve) => (end = resolve));
      const before = service.asked.length;
      const head = `POST /v1/check HTTP/1.1\r\nHost: x\r\nAuthorization: ${apiToken}\r\nContent-Length: 1\r\n\r\n`;
      const socket = connect(scene.port, '127.0.0.1', () => socket.write(`${head}a`));
      let received = '';
      socket.on('data', (chunk) => (received += chunk.toString()));
      const closed = new Promise((resolve) => socket.once('close', resolve));
      await expect.poll(() => service.asked.length).toBeGreaterThan(before);
      const refused = new Promise((resolve) => scene.http.server.once('clientError', resolve));
      socket.write(behind);
      await refused;
      end();
      await closed;
      service.script.checkEnds = undefined;
      expect([...received.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => status)).toEqual(['200']);
      expect(received).toContain('"containers":[]');
    },
  );

  test('10,000 header bytes are no fault', async () => {
    expect((await scene.ask('/livez', { headers: { 'x-much': 'x'.repeat(10_000) } })).status).toBe(200);
  });

  test('requests that are sent before the replies have come are answered in order', async () => {
    const paths = ['/livez', '/nope', '/v1/containers?name=x', '/readyz', '/v1/update', '/startupz'];
    const last = paths.length - 1;
    const text = paths
      .map((path, index) => `GET ${path} HTTP/1.1\r\nHost: x\r\n${index === last ? 'Connection: close\r\n' : ''}\r\n`)
      .join('');
    const reply = await exchange(scene.port, text);
    expect([...reply.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => status)).toEqual([
      '200',
      '404',
      '401',
      '200',
      '405',
      '200',
    ]);
  });

  test('random bytes break nothing', async () => {
    await Promise.all(
      Array.from({ length: 200 }, (_, index) => exchange(scene.port, randomBytes(1 + index * 7)).catch(() => '')),
    );
    expect((await scene.ask('/livez')).status).toBe(200);
  });

  test('a request that changes under way breaks nothing', async () => {
    const whole =
      'POST /v1/check?image=a HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer api-token-for-tests\r\nContent-Length: 3\r\n\r\nabc';
    for (let at = 0; at < whole.length; at += 3) {
      const broken = Buffer.from(whole);
      broken[at] = (broken[at] ?? 0) ^ 0x85;
      const socket = connect(scene.port, '127.0.0.1', () => socket.write(broken));
      socket.on('error', () => undefined);
      await sleep(1);
      socket.destroy();
    }
    expect((await scene.ask('/livez')).status).toBe(200);
    expect(scene.lines.filter(({ level }) => level === 'error')).toEqual([]);
  });

  test('who sends one byte at a time is answered, and who reads slowly gets all of it', async () => {
    const socket = connect(scene.port, '127.0.0.1');
    let received = '';
    socket.on('data', (chunk) => (received += chunk.toString()));
    const closed = new Promise((resolve) => socket.once('close', resolve));
    for (const byte of 'POST /nope HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc') {
      socket.write(byte);
      await sleep(1);
    }
    await closed;
    expect(received).toMatch(/^HTTP\/1\.1 404 /);

    const whole = (await scene.ask('/v1/containers/details')).text;
    const reader = connect(scene.port, '127.0.0.1', () =>
      reader.write(
        'GET /v1/containers/details HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer api-token-for-tests\r\n\r\n',
      ),
    );
    let bytes = 0;
    for await (const chunk of reader) {
      bytes += (chunk as Buffer).length;
      await sleep(2);
    }
    expect(bytes).toBeGreaterThan(Buffer.byteLength(whole));
  });

  test('a client that goes in the middle of its body, or of the reply, is forgotten', async () => {
    for (let each = 0; each < 50; each += 1) {
      const half = connect(scene.port, '127.0.0.1', () =>
        half.write('POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nabc'),
      );
      const deaf = connect(scene.port, '127.0.0.1', () =>
        deaf.write(
          'GET /v1/containers/details HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer api-token-for-tests\r\n\r\n',
        ),
      );
      for (const socket of [half, deaf]) socket.on('error', () => undefined);
      await sleep(4);
      for (const socket of [half, deaf]) socket.resetAndDestroy();
    }
    expect((await scene.ask('/livez')).status).toBe(200);
    await vi.waitUntil(async () => (await connectionsOf(scene)) <= 1, { timeout: 30_000 });
    expect(scene.lines.filter(({ level }) => level === 'error')).toEqual([]);
  });
});

describe('all of it at once, against the executable', () => {
  test('others are answered, memory stays bounded, nothing is left behind, and an update under way goes on', async () => {
    const demo = startUpkeep([
      'demo',
      '--http-api-port',
      '0',
      '--http-api-rate-limit',
      '1000000',
      '--log-level',
      'error',
    ]);
    await demo.seen('events token: ');
    const { address, events, api } = introductionOf(demo.output());
    const port = Number(new URL(address).port);
    const pid = demo.child.pid ?? 0;
    const filesBefore = openFiles(pid);
    const sockets: Socket[] = [];
    const open = (text: string, keepReading = true): Promise<unknown> => {
      const socket = connect({ port, host: '127.0.0.1' }, () => socket.write(text));
      socket.on('error', () => undefined);
      if (keepReading) socket.resume();
      sockets.push(socket);
      return new Promise((resolve) => socket.once('connect', resolve).once('close', resolve));
    };
    /** In groups, because the kernel accepts only some hundreds of pending connections. */
    const openMany = async (count: number, text: string, keepReading = true): Promise<void> => {
      for (let each = 0; each < count; each += 50)
        await Promise.all(Array.from({ length: 50 }, () => open(text, keepReading)));
    };
    const request = (path: string, token: string) =>
      `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`;

    const stormBeganMs = Date.now();
    await openMany(1000, 'GET /livez HTTP/1.1\r\nHost: x\r\n');
    await openMany(700, '');
    await openMany(250, request('/v1/containers/details', api).repeat(5), false);
    await openMany(50, request('/v1/events', events), false);
    // Some files that the start had open may be closed by now.
    await vi.waitUntil(() => openFiles(pid) >= filesBefore + 1950, { timeout: 15_000 });

    const tookMs: number[] = [];
    for (let each = 0; each < 150; each += 1) {
      for (let noise = 0; noise < 5; noise += 1) void open(randomBytes(64).toString('latin1'));
      const beganMs = performance.now();
      const target = each % 2 === 0 ? '/livez' : '/v1/containers';
      expect((await ask(address, target, { token: api })).status).toBe(200);
      tookMs.push(performance.now() - beganMs);
    }
    const peakMiB = peakResidentBytes(pid) / 1024 ** 2;
    const figures = `${median(tookMs).toFixed(1)} ms at the median, ${Math.max(...tookMs).toFixed(0)} ms at most`;
    console.log(`\nRESULT beside 2000 bad connections: ${figures}, at a peak of ${peakMiB.toFixed(0)} MiB`);
    expect(peakMiB).toBeLessThan(150);

    await demo.seen('Round 2');
    const [run] = (await ask(address, '/v1/history', { token: api })).json().entries;
    expect(run).toMatchObject({ trigger: 'schedule', updated: 2, failed: 1 });
    expect(Date.parse(run.timestamp)).toBeGreaterThan(stormBeganMs);

    for (const socket of sockets) socket.destroy();
    await vi.waitUntil(() => openFiles(pid) <= filesBefore + 5, { timeout: 30_000 });
    demo.child.kill('SIGINT');
    const { code, stdout } = await demo.ended;
    expect(code).toBe(0);
    expect(stdout).toMatch(/14 of 14 containers are running\n$/);
  });
});

function exchange(port: number, text: string | Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    let received = '';
    socket.on('data', (chunk) => (received += chunk.toString('latin1')));
    socket.on('close', () => resolve(received));
    socket.on('error', reject);
    // The server would wait for the rest of an incomplete request.
    setTimeout(() => socket.end(), 300);
  });
}

function connectionsOf({ http }: HttpScene): Promise<number> {
  return new Promise((resolve) => http.server.getConnections((_, count) => resolve(count)));
}

function introductionOf(text: string) {
  const [, address = ''] = /Page: (\S+)\//.exec(text) ?? [];
  const [, api = '', events = ''] = /API token: (\S+), events token: (\S+)/.exec(text) ?? [];
  return { address, api, events };
}

function peakResidentBytes(pid: number): number {
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
}

function openFiles(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

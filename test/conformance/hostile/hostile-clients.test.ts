import { Agent, request } from 'node:http';
import { readdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { ask, type HttpScene, type SceneOptions, startHttp } from '../../support/http/http-scene.ts';
import { startUpkeep } from '../../support/scene/run-upkeep.ts';
import { createScriptedService } from '../../support/http/scripted-service.ts';

let scene: HttpScene;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await scene.stop();
});

const service = () => createScriptedService();

async function start(options: SceneOptions = {}, scripted = service()): Promise<void> {
  scene = await startHttp(scripted, options);
}

/** Connects, sends the text, and never says more. */
async function open(text = '', { port = scene.port } = {}): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1' }, () => socket.write(text));
  sockets.push(socket);
  socket.on('error', () => undefined);
  socket.resume();
  await new Promise((resolve) => socket.once('connect', resolve).once('close', resolve));
  return socket;
}

async function openMany(count: number, text = ''): Promise<readonly Socket[]> {
  const opened: Socket[] = [];
  for (let each = 0; each < count; each += 1) opened.push(await open(text));
  return opened;
}

const stillOpen = (all: readonly Socket[]) => all.filter(({ closed }) => !closed).length;
const held = () => new Promise<number>((resolve) => scene.http.server.getConnections((_, count) => resolve(count)));

describe('open connections', () => {
  test.each([
    ['say nothing', ''],
    ['do not end their headers', 'GET /livez HTTP/1.1\r\nHost: x\r\n'],
    ['do not send their body', 'POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n'],
    ['have been refused', 'GET /nope HTTP/1.1\r\nHost: x\r\n\r\n'],
  ])('those that %s lock nobody out: the longest idle go first', async (_, text) => {
    await start({ limits: { maxConnections: 20 } });
    const first = await openMany(20, text);
    const later = await openMany(40, text);
    expect((await scene.ask('/livez')).status).toBe(200);
    await expect.poll(held).toBeLessThanOrEqual(20);
    await expect.poll(() => stillOpen(first)).toBe(0);
    expect(stillOpen(later)).toBeGreaterThan(10);
    expect(stillOpen(later.slice(-10))).toBe(10);
  });

  test('those that a proxy keeps for the next request outlast idle ones', async () => {
    await start({ limits: { maxConnections: 20 } });
    const agent = new Agent({ keepAlive: true, maxSockets: 10, maxFreeSockets: 10 });
    onTestFinished(() => agent.destroy());
    const ports = new Set<number | undefined>();
    const askThrough = () =>
      new Promise<number | undefined>((resolve, reject) => {
        const made = request({ port: scene.port, host: '127.0.0.1', path: '/livez', agent }, (response) => {
          ports.add(response.socket.localPort);
          response.resume().once('end', () => resolve(response.statusCode));
        });
        made.once('error', reject).end();
      });
    const ten = () => Promise.all(Array.from({ length: 10 }, askThrough));
    expect(new Set(await ten())).toEqual(new Set([200]));
    await openMany(100);
    expect(new Set(await ten())).toEqual(new Set([200]));
    expect(ports.size).toBe(10);
  });

  test('those that wait for their reply stay, and while all do the next one is refused', async () => {
    const scripted = service();
    let end = () => {};
    scripted.script.updateEnds = new Promise<void>((resolve) => (end = resolve));
    await start({ limits: { maxConnections: 5 } }, scripted);
    const updates = Array.from({ length: 5 }, () => scene.ask('/v1/update?container=web', { method: 'POST' }));
    await expect.poll(() => scripted.asked.length).toBe(5);
    const late = await open();
    await expect.poll(() => late.closed).toBe(true);
    end();
    expect((await Promise.all(updates)).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect((await scene.ask('/livez')).status).toBe(200);
  });

  test('event streams never take all of them', async () => {
    await start({ limits: { maxConnections: 8 } });
    const request = 'GET /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer events-token-for-tests\r\n\r\n';
    await openMany(6, request);
    await expect.poll(() => scene.http.streams.count()).toBe(6);
    expect((await scene.ask('/v1/events', { token: 'events-token-for-tests' })).status).toBe(503);
    expect((await scene.ask('/livez')).status).toBe(200);
    expect(scene.http.streams.count()).toBe(6);
  });
});

describe('requests that are refused', () => {
  const told = () => scene.lines.filter(({ message }) => message === 'Request').map(({ fields }) => fields['status']);
  const counted = () =>
    scene.lines.filter(({ message }) => message === 'More requests were refused').map(({ fields }) => fields);

  test.each([
    ['by the rate limit', 429, '/livez', 'api-token-for-tests'],
    ['for their token', 401, '/v1/containers', 'wrong'],
  ])('%s: the first ten of a client are told one by one, the others in one line', async (_, status, path, token) => {
    await start({ settings: status === 429 ? { rateLimit: 1, host: '0.0.0.0' } : { host: '0.0.0.0' } });
    const fine = status === 429 ? [200] : [];
    for (let each = 0; each < 35 + fine.length; each += 1) await scene.ask(path, { token });
    for (let each = 0; each < 3 + fine.length; each += 1) await scene.ask(path, { token, localAddress: '127.0.0.2' });
    await scene.http.stop();
    const refused = Array.from({ length: 13 }, () => status);
    expect(told().filter((each) => each === status)).toEqual(refused);
    expect(told()).toHaveLength(refused.length + 2 * fine.length);
    expect(counted()).toEqual([{ client: '127.0.0.1', refused: 25, [`status_${status}`]: 25 }]);
  });

  test.each([
    ['path', 404, '/nope'],
    ['method', 405, '/v1/update'],
  ])('for their %s: the first five hundred', async (_, status, path) => {
    await start();
    for (let each = 0; each < 520; each += 1) await scene.ask(path);
    await scene.http.stop();
    expect(told()).toHaveLength(500);
    expect(counted()).toEqual([{ client: '127.0.0.1', refused: 20, [`status_${status}`]: 20 }]);
  });

  test('preflights, which no limit counts, are counted too', async () => {
    await start({ settings: { corsOrigins: ['https://a.test'] } });
    const headers = { origin: 'https://a.test', 'access-control-request-method': 'GET' };
    for (let each = 0; each < 15; each += 1) await scene.ask('/livez', { method: 'OPTIONS', headers });
    await scene.http.stop();
    expect(told()).toHaveLength(10);
    expect(counted()).toEqual([{ client: '127.0.0.1', refused: 5, status_204: 5 }]);
  });

  test('by the rate limit, with a CONNECT behind them, harm nobody', async () => {
    await start({ settings: { rateLimit: 1 } });
    const socket = await open(
      `${'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(4)}CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n`,
    );
    await expect.poll(() => socket.closed).toBe(true);
    expect((await scene.ask('/livez')).status).toBe(429);
  });

  test('once by the rate limit lose their connection', async () => {
    await start({ settings: { rateLimit: 2 } });
    const socket = await open('GET /livez HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(5));
    let text = '';
    socket.on('data', (chunk) => (text += chunk.toString()));
    await expect.poll(() => socket.closed).toBe(true);
    expect([...text.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => status)).toEqual(['200', '200', '429']);
    const reply = await scene.ask('/livez');
    expect([reply.status, reply.headers['connection']]).toEqual([429, 'close']);
  });
});

test('what the process may have open bounds the connections: idle ones beyond lock nobody out', async () => {
  const demo = startUpkeep(['demo', '--http-api-port', '0', '--log-level', 'error'], { openFiles: 300 });
  onTestFinished(() => void demo.child.kill('SIGKILL'));
  await demo.seen('API token: ');
  const [, address = ''] = /Page: (\S+)\//.exec(demo.output()) ?? [];
  const port = Number(new URL(address).port);
  for (let each = 0; each < 600; each += 1) await open('', { port });
  for (let each = 0; each < 5; each += 1) expect((await ask(address, '/livez')).status).toBe(200);
  expect(readdirSync(`/proc/${demo.child.pid}/fd`).length).toBeLessThan(250);
});

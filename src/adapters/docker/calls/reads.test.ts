import { expect, test } from 'vitest';
import { connectedEngine } from '../../../../test/support/engine/connected-engine.ts';
import { refuse } from '../../../../test/support/engine/scripted-engine.ts';

test('ping() asks for a sign of life, which is no JSON', async () => {
  const { engine, server } = await connectedEngine({
    script: { 'GET /_ping': (_request: unknown, response: { end: (text: string) => void }) => response.end('OK') },
  });
  await engine.ping();
  await engine.ping();
  expect(server.requests.map(({ path }) => path)).toEqual(['/_ping', '/_ping']);
  expect(server.connections()).toBeLessThanOrEqual(2);
});

test('ping() throws why there is none', async () => {
  const { engine, server } = await connectedEngine({
    script: { '*': (_request, response) => refuse(response, 500, 'shutting down') },
  });
  await expect(engine.ping()).rejects.toMatchObject({
    code: 'engine-refused',
    message: 'Cannot reach the engine: the engine answered 500, "shutting down"',
  });
  await server.close();
  await expect(engine.ping()).rejects.toMatchObject({ code: 'engine-unreachable' });
});

test.each([
  [429, 'slow down', 'does not pass the call on (429, "slow down")'],
  [500, '<html><h1>Sorry</h1></html>', 'does not pass the call on (500, "Sorry")'],
  [503, 'no server', 'cannot reach it (503, "no server")'],
])('a %i of a proxy says nothing about the engine', async (status, body, why) => {
  const { engine } = await connectedEngine({
    script: { '*': (_request, response) => void response.writeHead(status).end(body) },
  });
  await expect(engine.inspectContainer('web')).rejects.toMatchObject({
    code: 'engine-unreachable',
    message: `Cannot inspect the container "web": the proxy before it ${why}`,
  });
});

test('ping() is answered as soon as the engine is back, whatever still waits from when it said nothing', async () => {
  let isBack = false;
  const { engine } = await connectedEngine({
    script: {
      '*': (_request: unknown, response: { end: (text: string) => void }) => {
        if (isBack) response.end('OK');
      },
    },
  });
  const stop = new AbortController();
  const waiting = Array.from({ length: 100 }, () => engine.listContainers({}, stop.signal).catch(() => undefined));
  await expect(engine.ping(AbortSignal.timeout(200))).rejects.toThrow();
  isBack = true;
  await engine.ping(AbortSignal.timeout(10_000));
  stop.abort();
  await Promise.all(waiting);
});

test.each([
  [1, undefined],
  [2, 'engine-refused'],
])('a read is repeated once if a process ended in the middle of it: %i times', async (times, code) => {
  let left = times;
  const { engine } = await connectedEngine({
    script: {
      'GET /images/app/json': (_request, response) => {
        if (left === 0) return void response.end('{"Id":"sha256:1"}');
        left -= 1;
        refuse(response, 500, 'read /proc/18744/cgroup: no such process');
      },
    },
  });
  const read = engine.inspectImage('app').catch((error: unknown) => error);
  expect(await read).toMatchObject(code === undefined ? { id: 'sha256:1' } : { code });
});

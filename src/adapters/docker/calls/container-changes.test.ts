import type { Engine } from '../../../domain/outside/outside.ts';
import { describe, expect, test } from 'vitest';
import { connectedEngine, engineAt } from '../../../../test/support/engine/connected-engine.ts';
import { docker28, refuse, type Answer, type Script } from '../../../../test/support/engine/scripted-engine.ts';

const recipe = { body: { Image: 'app:1' }, laterEndpoints: [] };

const done: Answer = (_, response) => void response.writeHead(204).end();
const unchanged: Answer = (_, response) => void response.writeHead(304).end();
const hang: Answer = () => undefined;
const reset: Answer = (_, response) => void response.socket?.resetAndDestroy();
const answers =
  (status: number, message: string): Answer =>
  (_, response) =>
    refuse(response, status, message);

/** Changing calls with the same kinds of outcome. */
const calls: Readonly<Record<string, (engine: Engine) => Promise<{ readonly kind: string }>>> = {
  createContainer: (engine) => engine.createContainer('web', recipe),
  renameContainer: (engine) => engine.renameContainer('id', 'web'),
  updateRestartPolicy: (engine) => engine.updateRestartPolicy('id', { Name: 'no', MaximumRetryCount: 0 }),
  startContainer: (engine) => engine.startContainer('id'),
  stopContainer: (engine) => engine.stopContainer('id', { timeoutSeconds: 0 }),
  removeContainer: (engine) => engine.removeContainer('id'),
  createNetwork: (engine) => engine.createNetwork({ id: '1', name: 'net', driver: 'bridge', recipe: { Name: 'net' } }),
  connectNetwork: (engine) => engine.connectNetwork({ containerId: 'id', networkId: 'net', endpoint: {} }),
  tagImage: (engine) => engine.tagImage('sha256:1', 'app:1'),
  removeImage: (engine) => engine.removeImage('app:1'),
};

describe.each(Object.entries(calls))('%s()', (name, call) => {
  test('is refused with the status and the words of the engine', async () => {
    const { engine } = await connectedEngine({ script: { '*': answers(500, 'no space left on device') } });
    expect(await call(engine)).toEqual({ kind: 'refused', status: 500, message: 'no space left on device' });
  });

  test('is unknown when the connection breaks off, or the answer does', async () => {
    const { engine, server } = await connectedEngine({ script: { '*': reset } });
    expect(await call(engine)).toEqual({ kind: 'unknown', message: expect.stringContaining('broke off') });
    server.script({
      '*': (_, response) => {
        response.writeHead(201, { 'content-length': '100' }).write('{"Id":');
        setTimeout(() => response.destroy(), 5);
      },
    });
    expect(await call(engine)).toMatchObject({ kind: 'unknown' });
  });

  test('is unknown when no answer comes in time', async () => {
    const deadlines = { changeMs: 120, stopMarginMs: 120 };
    const { engine, server } = await connectedEngine({ script: { '*': hang } }, { deadlines });
    expect(await call(engine)).toEqual({
      kind: 'unknown',
      message: expect.stringContaining('not answered for 120ms'),
    });
    await expect.poll(() => server.requests.length).toBe(1);
  });

  test.each([502, 504])('is unknown when a proxy lost the answer and says %i', async (status) => {
    const { engine } = await connectedEngine({ script: { '*': answers(status, 'bad gateway') } });
    expect(await call(engine)).toEqual({ kind: 'unknown', message: 'bad gateway' });
  });

  test.each([429, 500, 502, 504, 520])('is unknown when a proxy answers %i with a page of its own', async (status) => {
    const page: Answer = (_, response) => void response.writeHead(status).end('<html><h1>Sorry</h1></html>');
    const { engine } = await connectedEngine({ script: { '*': page } });
    expect(await call(engine)).toEqual({ kind: 'unknown', message: 'Sorry' });
  });

  test('is refused with 503 when the engine is out of reach', async () => {
    const refused = await call(engineAt('unix:///nowhere/docker.sock'));
    expect(refused).toMatchObject({ kind: 'refused', status: 503, message: expect.stringContaining('no such socket') });
  });

  test('is refused with 503 when the engine goes away before it is sent', async () => {
    const { engine, server } = await connectedEngine({ script: { 'GET /containers/json': [] } });
    await engine.listContainers();
    await server.close();
    expect(await call(engine)).toMatchObject({ kind: 'refused', status: 503 });
  });

  test('never goes over a connection that was used before', async () => {
    const { engine, server } = await connectedEngine({ script: { 'GET /containers/json': [], '*': done } });
    await engine.listContainers();
    const before = server.connections();
    await call(engine);
    expect(server.connections()).toBe(before + 1);
  });

  test.runIf(name !== 'removeContainer' && name !== 'removeImage')(
    'is refused with 404 when there is none',
    async () => {
      const { engine } = await connectedEngine({ script: { '*': answers(404, 'No such container: id') } });
      expect(await call(engine)).toMatchObject({ kind: 'refused', status: 404 });
    },
  );
});

describe('createContainer()', () => {
  test('sends name, platform and body, and tells the id', async () => {
    const { engine, server } = await connectedEngine({
      script: { 'POST /containers/create': { Id: 'new', Warnings: [] } },
    });
    const platform = { os: 'linux', architecture: 'arm', variant: 'v7' };
    expect(await engine.createContainer('a b&c', { ...recipe, platform })).toEqual({ kind: 'done', id: 'new' });
    await engine.createContainer('web', recipe);
    expect(server.requests).toMatchObject([
      {
        query: { name: 'a b&c', platform: 'linux/arm/v7' },
        body: { Image: 'app:1' },
        headers: { 'content-type': 'application/json' },
      },
      { query: { name: 'web' } },
    ]);
    expect(Object.keys(server.requests[1]?.query ?? {})).toEqual(['name']);
  });

  test('is unknown when the engine does not tell an id', async () => {
    const { engine } = await connectedEngine({ script: { '*': { Id: 7 } } });
    expect(await engine.createContainer('web', recipe)).toMatchObject({ kind: 'unknown' });
  });

  test('is refused with 409 for a taken name also by Podman, which says 500', async () => {
    const words =
      'container create: creating container storage: the container name "web" is already in use by 4e36f986ba44. You have to remove that container to be able to reuse that name: that name is already in use';
    const { engine } = await connectedEngine({ script: { '*': answers(500, words) } });
    expect(await engine.createContainer('web', recipe)).toEqual({ kind: 'refused', status: 409, message: words });
  });
});

describe('stopContainer()', () => {
  test('sends time and signal, the latter only where the API has it', async () => {
    const { engine, server } = await connectedEngine({ script: { '*': done } });
    await engine.stopContainer('id', { timeoutSeconds: 2.5, signal: 'SIGINT' });
    const older = await connectedEngine({
      script: { '*': done },
      version: { ...docker28, ApiVersion: '1.41' },
      apiVersion: () => '1.41',
    });
    await older.engine.stopContainer('id', { timeoutSeconds: 0, signal: 'SIGINT' });
    expect(server.requests.map(({ query }) => query)).toEqual([{ t: '3', signal: 'SIGINT' }]);
    expect(older.server.requests.map(({ version, query }) => [version, query])).toEqual([['1.41', { t: '0' }]]);
  });

  test('waits as long as the container may take, and somewhat longer', async () => {
    const late: Answer = (_, response) => void setTimeout(() => response.writeHead(204).end(), 300);
    const script: Script = { 'GET /containers/id/json': { Id: 'id', Config: { StopTimeout: 1 } }, '*': late };
    const { engine } = await connectedEngine({ script }, { deadlines: { changeMs: 10, stopMarginMs: 150 } });
    expect(await engine.stopContainer('id', {})).toEqual({ kind: 'done' });
    expect(await engine.stopContainer('id', { timeoutSeconds: 1 })).toEqual({ kind: 'done' });
    expect(await engine.stopContainer('id', { timeoutSeconds: 0 })).toMatchObject({ kind: 'unknown' });
  });

  test('is a noop when it was not running', async () => {
    const { engine } = await connectedEngine({ script: { '*': unchanged } });
    expect(await engine.stopContainer('id', { timeoutSeconds: 1 })).toEqual({ kind: 'noop' });
    expect(await engine.startContainer('id')).toEqual({ kind: 'noop' });
  });
});

describe('startContainer()', () => {
  test('says of a refusal by Podman whether it is for the command', async () => {
    const missing = 'runc: stat /x: no such file: OCI runtime attempted to invoke a command that was not found';
    const { engine, server } = await connectedEngine({ script: { '*': answers(500, missing) } });
    expect(await engine.startContainer('id')).toMatchObject({ kind: 'refused', commandUnusable: true });
    server.script({ '*': answers(500, 'address already in use') });
    expect(await engine.startContainer('id')).not.toHaveProperty('commandUnusable');
  });
});

describe('removeContainer()', () => {
  test('kills, and keeps the volumes', async () => {
    const { engine, server } = await connectedEngine({ script: { 'DELETE /containers/id': done } });
    expect(await engine.removeContainer('id')).toEqual({ kind: 'done' });
    expect(server.requests.map(({ query }) => query)).toEqual([{ force: '1', v: '0' }]);
  });

  test('is a noop when the engine says that there is none, but not when someone else does', async () => {
    const { engine, server } = await connectedEngine({ script: { '*': answers(404, 'No such container: id') } });
    expect(await engine.removeContainer('id')).toEqual({ kind: 'noop' });
    server.script({ '*': (_, response) => void response.writeHead(404).end('Not Found') });
    expect(await engine.removeContainer('id')).toMatchObject({ kind: 'refused', isForbidden: true });
  });

  const underWay = answers(409, 'removal of container id is already in progress');

  test('waits for a removal that someone else began', async () => {
    let looks = 0;
    const look: Answer = (_, response) => {
      looks += 1;
      if (looks < 3) response.end('{"Id":"id"}');
      else refuse(response, 404, 'No such container: id');
    };
    const { engine } = await connectedEngine({
      script: { 'DELETE /containers/id': underWay, 'GET /containers/id/json': look },
    });
    expect(await engine.removeContainer('id')).toEqual({ kind: 'done' });
    expect(looks).toBe(3);
  });

  test('does not wait for it without end', async () => {
    const script: Script = { 'DELETE /containers/id': underWay, 'GET /containers/id/json': { Id: 'id' } };
    const { engine } = await connectedEngine({ script }, { deadlines: { removalMs: 50 } });
    expect(await engine.removeContainer('id')).toMatchObject({ kind: 'refused', status: 409 });
  });
});

describe('waitUntilStopped()', () => {
  test('asks for the end of the running state', async () => {
    const { engine, server } = await connectedEngine({ script: { '*': { StatusCode: 0, Error: null } } });
    expect(await engine.waitUntilStopped('id', 1_000)).toBe(true);
    expect(server.requests).toMatchObject([
      { method: 'POST', path: '/containers/id/wait', query: { condition: 'not-running' } },
    ]);
  });

  test('is false when the time has passed, also when the engine has begun to answer', async () => {
    const { engine, server } = await connectedEngine({ script: { '*': hang } });
    expect(await engine.waitUntilStopped('id', 30)).toBe(false);
    server.script({ '*': (_, response) => void response.writeHead(200).flushHeaders() });
    expect(await engine.waitUntilStopped('id', 30)).toBe(false);
  });

  test('throws when the engine goes away, or has nothing to say', async () => {
    const { engine, server } = await connectedEngine({ script: { '*': reset } });
    await expect(engine.waitUntilStopped('id', 1_000)).rejects.toMatchObject({ code: 'engine-unreachable' });
    server.script({ '*': (_, response) => void response.writeHead(200).end() });
    await expect(engine.waitUntilStopped('id', 1_000)).rejects.toMatchObject({ code: 'engine-refused' });
  });
});

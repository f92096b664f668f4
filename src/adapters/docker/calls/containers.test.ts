import { describe, expect, test } from 'vitest';
import { connectedEngine } from '../../../../test/support/engine/connected-engine.ts';
import { refuse } from '../../../../test/support/engine/scripted-engine.ts';

const listed = (name: string, labels = {}) => ({
  Id: name.padEnd(64, '0'),
  Names: [`/${name}`],
  Image: 'app:1',
  ImageID: 'sha256:1',
  State: 'running',
  Status: 'Up 5 minutes (healthy)',
  Labels: labels,
  Created: 1_700_000_000,
  HostConfig: { NetworkMode: 'bridge' },
});

describe('listContainers()', () => {
  test('asks for stopped ones too, and translates', async () => {
    const { engine, server } = await connectedEngine({ script: { 'GET /containers/json': [listed('web')] } });
    expect(await engine.listContainers()).toEqual([
      {
        id: 'web'.padEnd(64, '0'),
        name: 'web',
        image: 'app:1',
        imageId: 'sha256:1',
        status: 'running',
        health: 'healthy',
        labels: {},
        createdAtMs: 1_700_000_000_000,
        networkMode: 'bridge',
      },
    ]);
    expect(server.requests).toMatchObject([{ version: '1.51', query: { all: '1', filters: '{}' } }]);
  });

  test('has the engine filter by name and label, and looks again at what comes back', async () => {
    const all = [
      listed('a.b'),
      listed('aXb'),
      listed('my-a.b'),
      listed('a.b-2', { own: 'x' }),
      listed('a.b-3', { own: 'y' }),
    ];
    const { engine, server } = await connectedEngine({ script: { 'GET /containers/json': all } });
    const names = async (filter: object) => (await engine.listContainers(filter)).map(({ name }) => name);
    expect(await names({ namePrefix: 'a.b' })).toEqual(['a.b', 'a.b-2', 'a.b-3']);
    expect(await names({ label: 'own' })).toEqual(['a.b-2', 'a.b-3']);
    expect(await names({ label: 'own=y', namePrefix: 'a' })).toEqual(['a.b-3']);
    expect(await names({ label: 'toString' })).toEqual([]);
    expect(server.requests.map(({ query }) => JSON.parse(query['filters'] ?? ''))).toEqual([
      { name: [String.raw`^/?a\.b`] },
      { label: ['own'] },
      { name: ['^/?a'], label: ['own=y'] },
      { label: ['toString'] },
    ]);
  });

  test('picks by whole ids: a few are sent, many are not, and none at all asks for nothing', async () => {
    const all = ['one', 'two', 'three'].map((name) => listed(name));
    const ids = all.slice(1).map(({ Id }) => Id);
    const { engine, server } = await connectedEngine({ script: { 'GET /containers/json': all } });
    const names = async (ids: readonly string[]) => (await engine.listContainers({ ids })).map(({ name }) => name);
    expect(await names(ids)).toEqual(['two', 'three']);
    expect(await names(['thr'])).toEqual([]);
    expect(await names([...ids, ...Array.from({ length: 99 }, (_, n) => `${n}`)])).toEqual(['two', 'three']);
    expect(await names([])).toEqual([]);
    expect(server.requests.map(({ query }) => JSON.parse(query['filters'] ?? ''))).toEqual([
      { id: ids },
      { id: ['thr'] },
      {},
    ]);
  });

  test('asks for ids, and for nothing when there are none to ask for', async () => {
    const all = [listed('one'), listed('two')];
    const { engine, server } = await connectedEngine({ script: { 'GET /containers/json': all } });
    const ids = ['two'.padEnd(64, '0')];
    expect((await engine.listContainers({ ids })).map(({ name }) => name)).toEqual(['two']);
    expect(await engine.listContainers({ ids: [] })).toEqual([]);
    expect(server.requests.map(({ query }) => JSON.parse(query['filters'] ?? ''))).toEqual([{ id: ids }]);
  });

  test("names the platform of a container if it is not the engine's", async () => {
    const on = (architecture: string, variant?: string) => ({
      ...listed(`${architecture}${variant ?? ''}`),
      ImageManifestDescriptor: { digest: `sha256:${'a'.repeat(64)}`, platform: { os: 'linux', architecture, variant } },
    });
    const all = [on('amd64'), on('amd64', 'v1'), on('386'), on('amd64', 'v3'), on('arm64', 'v8')];
    const { engine } = await connectedEngine({ script: { 'GET /containers/json': all } });
    const found = await engine.listContainers();
    expect(found.map(({ platform }) => platform?.architecture)).toEqual([
      undefined,
      undefined,
      '386',
      'amd64',
      'arm64',
    ]);
    expect(found.every(({ manifestDigest }) => manifestDigest !== undefined)).toBe(true);
  });

  test('passes over an entry without an id', async () => {
    const { engine } = await connectedEngine({ script: { 'GET /containers/json': [{}, null, 7, listed('web')] } });
    expect(await engine.listContainers()).toHaveLength(1);
  });

  test("says who refused, with the engine's words", async () => {
    const { engine, server } = await connectedEngine({
      script: { '*': (_, response) => refuse(response, 500, 'disk\u001B[31m on fire') },
    });
    await expect(engine.listContainers()).rejects.toMatchObject({
      code: 'engine-refused',
      message: String.raw`Cannot list containers: the engine answered 500, "disk\x1b[31m on fire"`,
    });
    server.script({ '*': (_, response) => void response.writeHead(403).end('<h1>403 Forbidden</h1>') });
    await expect(engine.listContainers()).rejects.toMatchObject({
      code: 'engine-denied',
      remedy: expect.stringContaining('proxy'),
    });
  });
});

describe('inspectContainer()', () => {
  test('is undefined when the engine says that there is none', async () => {
    const { engine } = await connectedEngine({
      script: { '*': (_, response) => refuse(response, 404, 'No such container: web') },
    });
    expect(await engine.inspectContainer('web')).toBeUndefined();
  });

  test.each([
    ['a router', (body: string) => ['application/json', `{"message":"${body}"}`], 'page not found', 'engine-refused'],
    ['another web server', (body: string) => ['text/html', `<h1>${body}</h1>`], 'Not Found', 'engine-denied'],
  ] as const)('does not take the 404 of %s for "no such container"', async (_, write, body, code) => {
    const { engine } = await connectedEngine({
      script: {
        '*': (_request, response) => {
          const [type, text] = write(body);
          response.writeHead(404, { 'content-type': type }).end(text);
        },
      },
    });
    await expect(engine.inspectContainer('web')).rejects.toMatchObject({ code });
  });

  test('keeps a name within its place in the path', async () => {
    const { engine, server } = await connectedEngine({
      script: { '*': (_, response) => refuse(response, 404, 'No such container') },
    });
    await engine.inspectContainer('../images/x?y=1#z');
    expect(server.requests).toMatchObject([{ path: '/containers/..%2Fimages%2Fx%3Fy%3D1%23z/json', query: {} }]);
  });

  test('takes a name that cannot be one for that of nobody', async () => {
    const { engine } = await connectedEngine({
      script: { '*': (_, response) => refuse(response, 404, 'No such container') },
    });
    for (const name of ['\uD800', '\0', '%', 'x'.repeat(5_000)])
      expect(await engine.inspectContainer(name)).toBeUndefined();
  });

  test('follows no redirect', async () => {
    const { engine, server } = await connectedEngine({
      script: { '*': (_, response) => void response.writeHead(301, { location: '/elsewhere' }).end() },
    });
    await expect(engine.inspectContainer('web')).rejects.toMatchObject({ code: 'engine-refused' });
    expect(server.requests).toHaveLength(1);
  });
});

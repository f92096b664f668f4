import { describe, expect, test } from 'vitest';
import { connectedEngine } from '../../../../test/support/engine/connected-engine.ts';
import type { Answer } from '../../../../test/support/engine/scripted-engine.ts';

const html = { 'content-type': 'text/html' };
const id = 'a'.repeat(64);

/** The refusals of real proxies: HAProxy's (Tecnativa), nginx's (LinuxServer), wollomatic's, Traefik's, Caddy's. */
const refusals: readonly (readonly [string, number, string, Record<string, string>])[] = [
  [
    'HAProxy',
    403,
    '<html><body><h1>403 Forbidden</h1>\nRequest forbidden by administrative rules.\n</body></html>\n',
    html,
  ],
  [
    'nginx',
    403,
    '<html>\r\n<head><title>403 Forbidden</title></head>\r\n<body>\r\n<center><h1>403 Forbidden</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n',
    html,
  ],
  ['nginx without the path', 404, '<html><head><title>404 Not Found</title></head><body><hr>nginx</body></html>', html],
  ['nginx without the method', 405, '<html><head><title>405 Not Allowed</title></head></html>', html],
  ['wollomatic without the method', 405, 'Method Not Allowed\n', { 'content-type': 'text/plain; charset=utf-8' }],
  ['wollomatic without the path', 403, 'Forbidden\n', { 'content-type': 'text/plain; charset=utf-8' }],
  ['Traefik', 404, '404 page not found\n', { 'content-type': 'text/plain' }],
  ['Caddy', 403, '', {}],
  ['a proxy with a login', 401, 'Unauthorized', {}],
];

describe.each(refusals)('a refusal by %s with %i', (_name, status, body, headers) => {
  const script = { '*': ((_, response) => void response.writeHead(status, headers).end(body)) satisfies Answer };

  test('of a read is denied, and never "does not exist"', async () => {
    const { engine } = await connectedEngine({ script });
    await expect(engine.inspectContainer(id)).rejects.toMatchObject({
      code: 'engine-denied',
      message: `Cannot inspect the container "${id}": a proxy before the engine forbids GET /containers/{id}/json (${status})`,
      remedy: expect.stringContaining('proxy'),
    });
    await expect(engine.listContainers()).rejects.toMatchObject({ code: 'engine-denied' });
    await expect(engine.waitUntilStopped(id, 1000)).rejects.toMatchObject({ code: 'engine-denied' });
  });

  test("of a change is a refusal that names the call, without the proxy's page", async () => {
    const { engine } = await connectedEngine({ script });
    const forbids = (call: string) => ({
      kind: 'refused',
      status: 403,
      isForbidden: true,
      message: `a proxy before the engine forbids ${call} (${status})`,
    });
    expect(await engine.startContainer(id)).toEqual(forbids('POST /containers/{id}/start'));
    expect(await engine.removeContainer(id)).toEqual(forbids('DELETE /containers/{id}'));
    expect(await engine.tagImage('sha256:1', 'upkeep-open:x')).toEqual(forbids('POST /images/sha256:1/tag'));
    expect(await engine.createContainer('web', { body: {}, laterEndpoints: [] })).toEqual(
      forbids('POST /containers/create'),
    );
  });

  test("of a pull is not told as the registry's", async () => {
    const { engine } = await connectedEngine({ script });
    const error: unknown = await engine.pullImage({ reference: 'nginx' }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: 'engine-denied',
      message: `Cannot pull "nginx": a proxy before the engine forbids POST /images/create (${status})`,
    });
    expect(JSON.stringify(error)).not.toContain('login');
  });
});

test.each([
  [404, '{"message":"No such container: web"}', undefined],
  [409, '{"message":"conflict"}', undefined],
  [503, '<html><body><h1>503 Service Unavailable</h1>\nNo server is available.\n</body></html>', undefined],
  [403, '{"message":"authorization denied by plugin opa: not yours"}', true],
])('%i %s of a change', async (status, body, isForbidden) => {
  const answer: Answer = (_, response) => void response.writeHead(status).end(body);
  const { engine } = await connectedEngine({ script: { '*': answer } });
  const outcome = await engine.startContainer('web');
  expect(outcome).toMatchObject({ kind: 'refused', status });
  expect('isForbidden' in outcome ? outcome.isForbidden : undefined).toBe(isForbidden);
  expect(JSON.stringify(outcome)).not.toContain('<');
});

test('a registry that denies the engine a pull is told as the registry', async () => {
  const body = '{"message":"pull access denied for x, repository does not exist or may require \'docker login\'"}';
  for (const status of [404, 403, 401]) {
    const answer: Answer = (_, response) => void response.writeHead(status).end(body);
    const { engine } = await connectedEngine({ script: { '*': answer } });
    await expect(engine.pullImage({ reference: 'x' })).rejects.toMatchObject({
      code: 'pull-failed',
      remedy: expect.stringContaining('login'),
    });
  }
});

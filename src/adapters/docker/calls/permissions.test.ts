import { expect, test } from 'vitest';
import { connectedEngine } from '../../../../test/support/engine/connected-engine.ts';
import { createFakeClock } from '../../../../test/support/clock/fake-clock.ts';
import { refuse, type Answer } from '../../../../test/support/engine/scripted-engine.ts';

/** Each engine repeats in its 404 the id that it was asked for. */
const absent: Answer = (request, response) => {
  const [id = ''] = /0{32}[0-9a-f]{32}/.exec(JSON.stringify([request.path, request.body])) ?? [];
  refuse(response, 404, `No such object: ${id}`);
};

/** A start that a proxy forbids with a status and a message in the engine's form; all else is permitted. */
const withoutStart =
  (status: number, message: (path: string) => string): Answer =>
  (request, response) =>
    request.path.endsWith('/start') ? refuse(response, status, message(request.path)) : absent(request, response);

test('the engine is asked once in some seconds, about an object that nobody can have made', async () => {
  const clock = createFakeClock();
  const { engine, server } = await connectedEngine({ script: { '*': absent } }, { clock });
  expect(await Promise.all([engine.forbiddenCalls(), engine.forbiddenCalls()])).toEqual([[], []]);
  const asked = server.requests.length;
  const ids = new Set(server.requests.flatMap(({ path }) => path.match(/0{32}[0-9a-f]{32}/) ?? []));
  expect(ids.size).toBe(1);
  for (const { method, path } of server.requests.filter(({ method }) => method === 'DELETE'))
    expect([method, path]).toEqual([method, expect.stringContaining([...ids][0] ?? 'none')]);
  await engine.forbiddenCalls();
  expect(server.requests).toHaveLength(asked);
  await clock.advance(20_001);
  await engine.forbiddenCalls();
  expect(server.requests).toHaveLength(2 * asked);
});

test('while calls are forbidden, it is asked again after seconds, and a grant is noticed', async () => {
  const clock = createFakeClock();
  const forbid: Answer = (_, response) => void response.writeHead(405).end('Method Not Allowed');
  const isStart = /^POST \/containers\/[0-9a-f]{64}\/start$/;
  let allowed = false;
  const answer: Answer = (request, response) =>
    (allowed || !isStart.test(`${request.method} ${request.path}`) ? absent : forbid)(request, response);
  const { engine } = await connectedEngine({ script: { '*': answer } }, { clock });
  expect(await engine.forbiddenCalls()).toEqual(['start']);
  allowed = true;
  expect(await engine.forbiddenCalls()).toEqual(['start']);
  await clock.advance(5001);
  expect(await engine.forbiddenCalls()).toEqual([]);
});

test('a refused call shows that the remembered answer is wrong', async () => {
  const forbid: Answer = (_, response) => void response.writeHead(403).end('<html>no</html>');
  let forbids = false;
  const answer: Answer = (request, response) =>
    (forbids && request.method === 'DELETE' ? forbid : absent)(request, response);
  const { engine } = await connectedEngine({ script: { '*': answer } });
  expect(await engine.forbiddenCalls()).toEqual([]);
  forbids = true;
  expect(await engine.removeContainer('a'.repeat(64))).toMatchObject({ kind: 'refused', isForbidden: true });
  expect(await engine.forbiddenCalls()).toEqual(['remove', 'untag']);
});

test('a permission that is taken away by a restart of the proxy is missed at the next question', async () => {
  const clock = createFakeClock();
  let answer = absent;
  const { engine, server } = await connectedEngine({ script: { '*': (...all) => answer(...all) } }, { clock });
  expect(await engine.forbiddenCalls()).toEqual([]);
  answer = withoutStart(403, () => 'forbidden');
  await clock.advance(59_000);
  expect(await engine.forbiddenCalls()).toEqual(['start']);
  answer = absent;
  await clock.advance(5001);
  expect(await engine.forbiddenCalls()).toEqual([]);
  answer = withoutStart(403, () => 'forbidden');
  const cut: Answer = (_, response) => void response.destroy();
  server.script({ 'POST /containers/web/rename': cut, '*': (...all) => answer(...all) });
  expect(await engine.renameContainer('web', 'shop')).toMatchObject({ kind: 'unknown' });
  expect(await engine.forbiddenCalls()).toEqual(['start']);
});

test.each([
  [401, () => 'Not authorized'],
  [403, () => 'blocked by policy'],
  [403, () => 'Permission denied'],
  [403, () => 'denied'],
  [405, () => 'Method POST is not allowed'],
  [404, () => 'Not Found'],
  [404, () => 'page not found'],
  [404, (path: string) => `Route POST:/v1.51${path} not found`],
])('%i in the form of the engine is the refusal of a proxy, not the absence of the container', async (status, say) => {
  const { engine } = await connectedEngine({ script: { '*': withoutStart(status, say) } });
  expect(await engine.forbiddenCalls()).toEqual(['start']);
});

test.each([
  ['GET', '/images/json', 'no images'],
  ['POST', '/images/create', 'no such image'],
  ['POST', /wait$/, 'no such container'],
])("an engine's 404 to %s %s without an id is no refusal", async (method, path, message) => {
  const answer: Answer = (request, response) =>
    request.method === method && request.path.match(path) !== null
      ? refuse(response, 404, message)
      : absent(request, response);
  const { engine } = await connectedEngine({ script: { '*': answer } });
  expect(await engine.forbiddenCalls()).toEqual([]);
});

test('an engine that cannot be asked is not one that permits everything', async () => {
  const { engine, server } = await connectedEngine({ script: { '*': absent } });
  await server.close();
  await expect(engine.forbiddenCalls()).rejects.toMatchObject({ code: 'engine-unreachable' });
});

import { expect, test } from 'vitest';
import { connectedEngine } from '../../../../test/support/engine/connected-engine.ts';
import { createFakeClock } from '../../../../test/support/clock/fake-clock.ts';
import { refuse, type Answer } from '../../../../test/support/engine/scripted-engine.ts';

const absent: Answer = (_, response) => refuse(response, 404, 'No such container');

test('the engine is asked once in an hour, about an object that nobody can have made', async () => {
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
  await clock.advance(3_600_001);
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

test('an engine that cannot be asked is not one that permits everything', async () => {
  const { engine, server } = await connectedEngine({ script: { '*': absent } });
  await server.close();
  await expect(engine.forbiddenCalls()).rejects.toMatchObject({ code: 'engine-unreachable' });
});

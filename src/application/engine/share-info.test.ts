import { expect, test } from 'vitest';
import { countCalls } from '../../../test/support/engine/counted-engine.ts';
import { createSandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import { shareInfo } from './share-engine.ts';

function begin() {
  const scene = createSandboxScene();
  const { engine, calls } = countCalls(scene.sandbox.engine);
  return { scene, calls, shared: shareInfo({ info: engine.info }, scene.clock) };
}

test('an answer of the engine about itself serves for ten seconds, and its clock goes on', async () => {
  const { scene, calls, shared } = begin();
  const first = await shared.info();
  await scene.clock.advance(9999);
  expect(await shared.info()).toEqual({ ...first, nowMs: first.nowMs + 9999 });
  expect(calls.info).toBe(1);
  await scene.clock.advance(1);
  expect((await shared.info()).nowMs).toBe(first.nowMs + 10_000);
  expect(calls.info).toBe(2);
});

test('a failure and an abort are never shared', async () => {
  const { scene, shared } = begin();
  await shared.info();
  await expect(shared.info(AbortSignal.abort(new Error('no more')))).rejects.toThrow('no more');
  let isDown = true;
  const failing = shareInfo(
    {
      info: (signal?: AbortSignal) => (isDown ? Promise.reject(new Error('down')) : scene.sandbox.engine.info(signal)),
    },
    scene.clock,
  );
  await expect(failing.info()).rejects.toThrow('down');
  isDown = false;
  expect(await failing.info()).toMatchObject({ nowMs: expect.any(Number) });
});

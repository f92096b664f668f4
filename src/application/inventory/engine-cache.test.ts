import { expect, onTestFinished, test } from 'vitest';
import { createSandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import { ServiceError } from '../../domain/text/errors.ts';
import type { Engine } from '../../domain/outside/outside.ts';
import { createEngineCache } from './engine-cache.ts';

test('an engine that returns after hours is listed soon, also if its first answer is an error', async () => {
  const { clock, startProcess } = createSandboxScene();
  const { outside } = startProcess();
  const { engine } = outside;
  const away = new ServiceError('engine-unreachable', 'Cannot reach the engine: it is away');
  let failures = Infinity;
  let comeBack = () => {};
  const returned = new Promise<void>((resolve) => (comeBack = resolve));
  const events: Engine['events'] = async function* (signal, onBreak = () => {}) {
    onBreak(away);
    await returned;
    yield* engine.events(signal, onBreak);
  };
  const listContainers: Engine['listContainers'] = (...asked) => {
    failures -= 1;
    return failures < 0 ? engine.listContainers(...asked) : Promise.reject(away);
  };
  const retries = { maxRetryMs: 600_000, goneRetryMs: 600_000 };
  const cache = createEngineCache({ ...outside, engine: { ...engine, events, listContainers } }, retries);
  onTestFinished(() => cache.close());
  void cache.follow();
  await clock.sleep(5 * 3_600_000);
  failures = 1;
  comeBack();
  await clock.sleep(5000);
  expect(cache.listing()).toBeDefined();
});

test('the phase places the full readings within each minute', async () => {
  const { clock, startProcess } = createSandboxScene();
  const { outside } = startProcess();
  const { engine } = outside;
  const readAtS: number[] = [];
  const beganMs = clock.monotonicMs();
  const listContainers: Engine['listContainers'] = (...asked) => {
    readAtS.push(Math.round((clock.monotonicMs() - beganMs) / 1000));
    return engine.listContainers(...asked);
  };
  const cache = createEngineCache({ ...outside, engine: { ...engine, listContainers } }, { phase: 0.75 });
  onTestFinished(() => cache.close());
  void cache.follow();
  await clock.sleep(140_000);
  expect(readAtS.filter((second) => second > 1)).toEqual([15, 75, 135]);
});

test('a caller that catches up sees what was changed before, even if the engine announces no change', async () => {
  const { clock, sandbox, registry, startProcess } = createSandboxScene();
  registry.store.publish('app:1', { version: '1' });
  await sandbox.engine.pullImage({ reference: 'app:1' });
  const { outside } = startProcess();
  const events: Engine['events'] = async function* (signal) {
    yield { kind: 'connected' };
    await clock.sleep(Infinity, signal).catch(() => undefined);
  };
  const cache = createEngineCache({ ...outside, engine: { ...outside.engine, events } });
  onTestFinished(() => cache.close());
  await cache.follow();
  sandbox.control.runContainer('late', { Image: 'app:1' });
  await cache.catchUp();
  expect(cache.listing()?.containers.map(({ name }) => name)).toContain('late');
});

test('a caller catches up at once where nothing is followed, and after a second with an engine that is silent', async () => {
  const { clock, startProcess } = createSandboxScene();
  const { outside } = startProcess();
  let isSilent = false;
  const listContainers: Engine['listContainers'] = (asked, signal) =>
    isSilent ? clock.sleep(3_600_000, signal).then(() => []) : outside.engine.listContainers(asked, signal);
  const cache = createEngineCache({ ...outside, engine: { ...outside.engine, listContainers } });
  onTestFinished(() => cache.close());
  const beganMs = clock.monotonicMs();
  await cache.catchUp();
  expect(clock.monotonicMs() - beganMs).toBe(0);
  await cache.follow();
  isSilent = true;
  const silentMs = clock.monotonicMs();
  await cache.catchUp();
  expect(clock.monotonicMs() - silentMs).toBe(1000);
});

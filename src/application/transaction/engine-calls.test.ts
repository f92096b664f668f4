import { expect, test } from 'vitest';
import { countCalls } from '../../../test/support/engine/counted-engine.ts';
import { createSandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import { defaultSettings } from '../../domain/settings/effective-settings.ts';
import { listAll } from '../engine/listing.ts';
import { createPlanner } from '../check/make-plan.ts';
import { runTransaction } from './run-transaction.ts';

async function callsOfOne() {
  const scene = createSandboxScene();
  const settings = { ...defaultSettings, healthWindowMs: 0 };
  scene.registry.store.publish('app:1', { version: '1' });
  await scene.sandbox.engine.pullImage({ reference: 'app:1' });
  const HostConfig = { RestartPolicy: { Name: 'unless-stopped' } };
  const id = scene.sandbox.control.runContainer('web', { Image: 'app:1', HostConfig });
  const digest = scene.registry.store.publish('app:1', { version: '2' }).digest;
  const { outside } = scene.startProcess();
  const stale = [{ id, name: 'web', reference: 'app:1', digest }];
  const { plan } = await createPlanner(outside, settings)(stale, await listAll(outside, undefined));
  const [planned] = plan.transactions;
  if (planned === undefined) throw new Error('nothing was planned');
  const { engine, calls } = countCalls(outside.engine);
  const outcomes = await scene.clock.run(() =>
    runTransaction({ ...outside, engine }, settings, planned, { runId: 'run' }),
  );
  expect(outcomes.map(({ outcome }) => outcome)).toEqual(['updated']);
  return calls;
}

test('an update of one container reads what its steps depend on, and no more', async () => {
  const { inspectContainer = 0, info = 0, ...calls } = await callsOfOne();
  expect(calls).toEqual({
    // One question to the engine in some seconds.
    forbiddenCalls: 2,
    listNetworks: 1,
    listContainers: 1,
    containerChanges: 1,
    inspectImage: 4,
    pullImage: 1,
    tagImage: 2,
    createContainer: 1,
    renameContainer: 3,
    updateRestartPolicy: 3,
    stopContainer: 1,
    startContainer: 1,
    removeImage: 1,
    removeContainer: 1,
  });
  // The health check's own are among these.
  expect(inspectContainer).toBeLessThanOrEqual(7);
  expect(info).toBeLessThanOrEqual(3);
});

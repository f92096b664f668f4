import { expect, test } from 'vitest';
import { createSandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import type { Engine } from '../../domain/outside/outside.ts';
import { defaultSettings } from '../../domain/settings/effective-settings.ts';
import { createPlanner } from '../check/make-plan.ts';
import { listAll } from '../engine/listing.ts';
import { runTransaction } from './run-transaction.ts';

/** An update of one container. The engine of its transaction is the sandbox's, changed by `meddle`. */
async function updateWith(meddle: (engine: Engine, scene: ReturnType<typeof createSandboxScene>) => Partial<Engine>) {
  const scene = createSandboxScene();
  const settings = { ...defaultSettings, healthWindowMs: 0 };
  scene.registry.store.publish('app:1', { version: '1' });
  await scene.sandbox.engine.pullImage({ reference: 'app:1' });
  const HostConfig = { RestartPolicy: { Name: 'unless-stopped' } };
  const id = scene.sandbox.control.runContainer('web', { Image: 'app:1', HostConfig });
  const { digest } = scene.registry.store.publish('app:1', { version: '2' });
  const { outside } = scene.startProcess();
  const stale = [{ id, name: 'web', reference: 'app:1', digest }];
  const { plan } = await createPlanner(outside, settings)(stale, await listAll(outside, undefined));
  const [planned] = plan.transactions;
  if (planned === undefined) throw new Error('nothing was planned');
  const calls: string[] = [];
  const changed = { ...outside.engine, ...meddle(outside.engine, scene) };
  const engine: Engine = {
    ...changed,
    inspectContainer: (which, signal) => {
      calls.push(`inspect ${which === id ? 'old' : 'new'}`);
      return changed.inspectContainer(which, signal);
    },
    stopContainer: (which, options) => (calls.push('stop'), changed.stopContainer(which, options)),
    startContainer: (which) => (calls.push('start'), changed.startContainer(which)),
    removeImage: (which) => (calls.push('unmark'), changed.removeImage(which)),
    removeContainer: (which) => (calls.push('remove'), changed.removeContainer(which)),
  };
  const [outcome] = await scene.clock.run(() =>
    runTransaction({ ...outside, engine }, settings, planned, { runId: 'run' }),
  );
  return { scene, id, calls, outcome, web: await scene.sandbox.engine.inspectContainer('web') };
}

/** The inspections directly before a call. */
function readBefore(calls: readonly string[], call: string): readonly string[] {
  const at = calls.indexOf(call);
  return calls.slice(0, at).slice(calls.slice(0, at).findLastIndex((one) => !one.startsWith('inspect')) + 1);
}

test('a stop and the removal of the mark follow from readings of the last moments', async () => {
  const { calls, outcome } = await updateWith(() => ({}));
  expect(outcome?.outcome).toBe('updated');
  expect(readBefore(calls, 'start')).toEqual(['inspect old']);
  expect(readBefore(calls, 'remove')).toEqual(['inspect new']);
});

test('a reading that is older than any restart of an engine serves no stop', async () => {
  const { calls, outcome } = await updateWith((engine, { clock }) => ({
    renameContainer: async (id, name) => {
      const renamed = await engine.renameContainer(id, name);
      if (name === 'web') await clock.sleep(300);
      return renamed;
    },
    updateRestartPolicy: async (id, policy) => {
      await clock.sleep(300);
      return engine.updateRestartPolicy(id, policy);
    },
  }));
  expect(outcome?.outcome).toBe('updated');
  expect(readBefore(calls, 'stop').toSorted()).toEqual(expect.arrayContaining(['inspect new', 'inspect old']));
});

test('nothing serves after a call without an answer', async () => {
  let isLost = false;
  const { calls, outcome } = await updateWith((engine) => ({
    renameContainer: async (id, name) => {
      const renamed = await engine.renameContainer(id, name);
      if (name !== 'web' || isLost) return renamed;
      isLost = true;
      return { kind: 'unknown', message: 'the connection broke off' };
    },
  }));
  expect(outcome?.outcome).toBe('updated');
  expect(readBefore(calls, 'stop').slice(-2).toSorted()).toEqual(['inspect new', 'inspect old']);
});

test('the old container is not removed when someone removes the new one after the mark', async () => {
  const { id, web, calls } = await updateWith((engine, { sandbox }) => ({
    removeImage: async (which) => {
      const removed = await engine.removeImage(which);
      sandbox.control.removeContainer('web');
      return removed;
    },
  }));
  expect(calls.filter((call) => call === 'remove')).toEqual([]);
  expect(web).toMatchObject({ id, state: { status: 'running' } });
});

test('an old container that someone started during the swap is seen before the new one starts', async () => {
  let isStarted = false;
  const { calls, outcome } = await updateWith((engine) => ({
    stopContainer: async (id, options) => {
      const stopped = await engine.stopContainer(id, options);
      if (!isStarted) await engine.startContainer(id);
      isStarted = true;
      return stopped;
    },
  }));
  expect(outcome?.outcome).toBe('updated');
  expect(calls.filter((call) => call === 'stop' || call === 'start')).toEqual(['stop', 'stop', 'start']);
});

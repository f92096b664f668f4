import { describe, expect, test } from 'vitest';
import { createSandboxScene, type SandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import type { Behaviour } from '../../../sandbox/base/behaviour.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import { defaultSettings, type ServiceSettings } from '../../domain/settings/effective-settings.ts';
import { createApplication } from '../create-application.ts';
import { recoverTransactions } from '../recovery/recover.ts';

const settings: ServiceSettings = { ...defaultSettings, healthWindowMs: 1000 };
const old: Behaviour = { listens: [{ port: 80, status: 200 }] };

const asks = { 'upkeep.health-probe': 'http://:80/healthz' };
type Parts = { readonly body?: object; readonly nextLabels?: Readonly<Record<string, string>> };

/** A container that runs the first version; the second is published. */
async function staleScene(next: Behaviour, { body = { Labels: asks }, nextLabels = {} }: Parts = {}) {
  const scene = createSandboxScene();
  scene.registry.store.publish('web:1', { version: '1', behaviour: old });
  await scene.sandbox.engine.pullImage({ reference: 'web:1' });
  const id = scene.sandbox.control.runContainer('web', { Image: 'web:1', ...body });
  scene.registry.store.publish('web:1', { version: '2', behaviour: next, config: { Labels: nextLabels } });
  return { scene, id };
}

async function update(
  { clock, startProcess }: SandboxScene,
  more: (outside: Outside) => Partial<Outside> = () => ({}),
) {
  const { outside } = startProcess();
  const application = createApplication({ ...outside, ...more(outside) }, settings);
  const { containers } = await clock.run(() => application.update({ trigger: 'command', images: [], containers: [] }));
  return containers[0];
}

const stateOf = async ({ sandbox }: SandboxScene) => {
  const container = await sandbox.engine.inspectContainer('web');
  return {
    id: container?.id,
    status: container?.state.status,
    names: Object.keys(sandbox.control.snapshot().containers),
  };
};

describe('an update with a probe', () => {
  test('goes through when it passes', async () => {
    const { scene, id } = await staleScene({ listens: [{ port: 80, status: 204, afterMs: 5000 }] });
    expect(await update(scene)).toMatchObject({ outcome: 'updated' });
    expect((await stateOf(scene)).id).not.toBe(id);
  });

  test('goes back when it does not, naming the probe and what it said, and does not try that version again', async () => {
    const { scene, id } = await staleScene({ listens: [{ port: 80, status: 500 }] });
    const reason =
      'the new version of "web" failed: its health probe http://:80/healthz did not pass within 1m1s: it answered with status 500';
    expect(await update(scene)).toMatchObject({ outcome: 'rolled_back', reason });
    expect(await stateOf(scene)).toMatchObject({ id, status: 'running' });
    expect(await update(scene)).not.toMatchObject({ outcome: 'rolled_back' });
  });

  test('is not begun where the probe cannot be asked', async () => {
    const { scene, id } = await staleScene(old);
    const outcome = await update(scene, ({ engine }) => ({
      engine: { ...engine, info: async () => ({ ...(await engine.info()), containerReach: 'remote' }) },
    }));
    expect(outcome).toMatchObject({
      outcome: 'failed',
      reason:
        'Cannot update "web": its health probe http://:80/healthz cannot be asked: the engine is on another host. Use a probe that begins with exec:, which runs in the container',
    });
    expect(await stateOf(scene)).toMatchObject({ id, status: 'running' });
  });

  test('does not mind a label that only the new image brings', async () => {
    const { scene, id } = await staleScene(
      { listens: [{ port: 80, status: 500 }] },
      { body: {}, nextLabels: { 'upkeep.health-probe': 'http://:80/healthz' } },
    );
    expect(await update(scene)).toMatchObject({ outcome: 'updated' });
    expect((await stateOf(scene)).id).not.toBe(id);
  });

  test('minds its own label, whatever the new image brings', async () => {
    const { scene, id } = await staleScene(
      { listens: [{ port: 80, status: 500 }] },
      { nextLabels: { 'upkeep.health-probe': 'none' } },
    );
    expect(await update(scene)).toMatchObject({ outcome: 'rolled_back' });
    expect((await stateOf(scene)).id).toBe(id);
  });

  test('that was interrupted in the health check asks again at the next start', async () => {
    for (const [status, place] of [
      [200, 'new'],
      [500, 'old'],
    ] as const) {
      const { scene, id } = await staleScene({ listens: [{ port: 80, status }] });
      const { outside, connection } = scene.startProcess();
      const prober: Outside['prober'] = {
        probe: () => {
          connection.crash();
          return Promise.reject(new Error('killed'));
        },
      };
      const application = createApplication({ ...outside, prober }, settings);
      await scene.clock
        .run(() => application.update({ trigger: 'command', images: [], containers: [] }))
        .catch(() => undefined);
      const next = scene.startProcess();
      const report = await scene.clock.run(() => recoverTransactions(next.outside, settings));
      expect(report.transactions).toMatchObject([{ result: place === 'new' ? 'finished' : 'undone' }]);
      const now = await stateOf(scene);
      expect([now.status, now.id === id]).toEqual(['running', place === 'old']);
      expect(now.names).toEqual(['web']);
    }
  });
});

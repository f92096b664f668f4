import { describe, expect, test } from 'vitest';
import { createSandboxScene, type SandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import type { Instance } from '../../domain/outside/outside.ts';
import { defaultSettings } from '../../domain/settings/effective-settings.ts';
import { journalPrefix } from '../../domain/image/labels.ts';
import { recoverTransactions } from './recover.ts';
import { runTransaction } from '../transaction/run-transaction.ts';

const image = 'registry.test/app:stable';
const settings = { ...defaultSettings, healthWindowMs: 1000, stopTimeoutMs: 1000 };

/** The updater was killed after the stop of a container and before the start of its successor. */
async function interrupted(
  updater: Partial<Instance> = {},
  itsContainer = 'none',
  labelsOfNext: Readonly<Record<string, string>> = {},
  labels: Readonly<Record<string, string>> = {},
  { scene = createSandboxScene(), name = 'web' } = {},
): Promise<{ readonly scene: SandboxScene; readonly webId: string }> {
  const { sandbox, registry, clock } = scene;
  registry.store.publish(image, { version: '1' });
  await sandbox.engine.pullImage({ reference: image });
  const webId = sandbox.control.runContainer(name, { Image: image, Labels: labels });
  const { digest } = registry.store.publish(image, { version: '2', config: { Labels: labelsOfNext } });
  const container = (await sandbox.engine.inspectContainer(webId))!;
  const { outside, connection } = scene.startProcess(
    sandbox.connect({ faults: [{ at: 'startContainer', fault: { kind: 'crash', when: 'before' } }] }),
  );
  const containerId = itsContainer === 'none' ? undefined : sandbox.control.runContainer('updater', { Image: image });
  const instance = { ...outside.instance, ...updater, containerId };
  const planned = {
    id: webId,
    after: [],
    requires: [],
    members: [
      {
        container,
        cause: 'stale' as const,
        reference: image,
        digest,
        hardDependencies: [],
        desiredEndState: 'running' as const,
        waitsFor: [],
      },
    ],
  };
  await clock.run(() => runTransaction({ ...outside, instance }, settings, planned, { runId: 'run' })).catch(() => []);
  connection.crash();
  if (itsContainer === 'stopped') await clock.run(() => sandbox.control.stopContainer('updater'));
  return { scene, webId };
}

async function recover({ clock, startProcess }: SandboxScene) {
  const { outside, connection } = startProcess();
  const { transactions } = await clock.run(() => recoverTransactions(outside, settings));
  return { transactions, changes: connection.calls.length };
}

describe('recoverTransactions()', () => {
  test('brings the old container back and says so', async () => {
    const { scene } = await interrupted();
    expect((await recover(scene)).transactions).toEqual([
      { containers: ['web'], result: 'undone', reason: 'the update had been interrupted' },
    ]);
    expect(await recover(scene)).toEqual({ transactions: [], changes: 0 });
  });

  test('brings back each of ten containers whose successors someone has removed', async () => {
    const names = Array.from({ length: 10 }, (_, index) => `web${index}`);
    const scene = createSandboxScene();
    for (const name of names) await interrupted({}, 'none', {}, {}, { scene, name });
    for (const name of names) scene.sandbox.control.removeContainer(name);
    const { transactions } = await recover(scene);
    expect(transactions.map(({ containers: [name], result }) => `${name} ${result}`).toSorted()).toEqual(
      names.map((name) => `${name} undone`),
    );
    const { containers } = scene.sandbox.control.snapshot();
    expect(names.filter((name) => containers[name]?.running !== true)).toEqual([]);
  });

  test('names the notification targets of the label of its container', async () => {
    const { scene } = await interrupted({}, 'none', {}, { 'upkeep.notify': 'ops, mail' });
    expect((await recover(scene)).transactions).toMatchObject([
      { containers: ['web'], result: 'undone', recipients: { web: ['ops', 'mail'] } },
    ]);
  });

  test('leaves the transaction of an owner that it cannot ask about alone for two hours, then takes it over', async () => {
    const { scene } = await interrupted({ owner: 'another host' });
    expect(await recover(scene)).toMatchObject({ transactions: [{ result: 'left' }], changes: 0 });
    await scene.clock.sleep(2 * 3_600_000);
    expect((await recover(scene)).transactions).toMatchObject([{ result: 'undone' }]);
  });

  test.each([
    ['stopped', 'undone'],
    ['running', 'left'],
  ])(
    'asks the engine about an owner that ran in one of its containers: %s, so the transaction is %s',
    async (state, result) => {
      const { scene } = await interrupted({ owner: 'another host' }, state);
      expect((await recover(scene)).transactions).toMatchObject([{ result }]);
    },
  );

  test('is not kept from it by a new image that disables its containers', async () => {
    const { scene, webId } = await interrupted({}, 'none', { 'upkeep.enable': 'false' });
    expect((await recover(scene)).transactions).toMatchObject([{ containers: ['web'], result: 'undone' }]);
    expect(scene.sandbox.control.snapshot().containers).toMatchObject({ web: { id: webId, running: true } });
  });

  test('does not touch what a newer version has begun, nor the container that it parked', async () => {
    const { scene } = await interrupted();
    const { sandbox } = scene;
    const { containers } = sandbox.control.snapshot();
    const successor = containers['web']!;
    sandbox.control.removeContainer(successor.id);
    sandbox.control.addContainer('web.upkeep-new', {
      Image: image,
      Labels: { ...successor.settings.Config.Labels, [`${journalPrefix}v`]: '2' },
    });
    const { transactions, changes } = await recover(scene);
    expect(transactions).toMatchObject([{ containers: ['web.upkeep-new'], result: 'left' }]);
    expect(changes).toBe(0);
  });

  test('a container of someone else that has taken the name is left in peace, and the old one stays parked', async () => {
    const { scene, webId } = await interrupted();
    const { sandbox } = scene;
    sandbox.control.removeContainer('web');
    const stranger = sandbox.control.runContainer('web', { Image: image });
    const { transactions } = await recover(scene);
    expect(transactions).toMatchObject([
      { result: 'left', reason: expect.stringContaining('another container has the name') },
    ]);
    const { containers } = sandbox.control.snapshot();
    expect(containers['web']).toMatchObject({ id: stranger, running: true });
    expect(Object.values(containers).find(({ id }) => id === webId)).toMatchObject({ running: false });
    expect(await recover(scene)).toMatchObject({ changes: 0 });
  });
});

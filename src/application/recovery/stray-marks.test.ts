import { expect, test } from 'vitest';
import type { PlannedFault } from '../../../sandbox/engine/calls.ts';
import { createSandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import { transactionMarksOf } from '../../domain/transaction/transaction-names.ts';
import { defaultSettings } from '../../domain/settings/effective-settings.ts';
import { createApplication } from '../create-application.ts';

const full = { trigger: 'command', images: [], containers: [] } as const;
const settings = { ...defaultSettings, healthWindowMs: 1000 };

/**
 * An update creates its successor so late that a second process treats its mark as stray, and a third one moves the tag
 * again for its own update.
 */
async function updateWithLateSuccessor(faults: readonly PlannedFault[] = []) {
  const scene = createSandboxScene();
  const { engine, control } = scene.sandbox;
  scene.registry.store.publish('app:1', { version: '1' });
  await engine.pullImage({ reference: 'app:1' });
  const HostConfig = { RestartPolicy: { Name: 'always', MaximumRetryCount: 0 } };
  const oldId = control.runContainer('app', { Image: 'app:1', HostConfig });
  scene.registry.store.publish('app:1', { version: '2' });
  const marks = async () => transactionMarksOf(await engine.listImages());
  const recover = () => createApplication(scene.startProcess().outside, settings).recover();
  const act = async () => {
    const [mark] = await marks();
    expect(mark?.oldId).toBe(oldId);
    await recover();
    expect(await marks()).toEqual([]);
    await engine.tagImage(mark?.imageId ?? '', 'app:1');
  };
  const late: PlannedFault = { at: 'createContainer', fault: { kind: 'third-party', when: 'before', act } };
  const first = scene.startProcess(scene.sandbox.connect({ faults: [late, ...faults] }));
  const session = createApplication(first.outside, settings).update(full);
  return { engine, session, marks, recover };
}

test('a mark that another instance took for a stray one is set again', async () => {
  const { engine, session, marks } = await updateWithLateSuccessor();
  expect((await session).containers).toMatchObject([{ name: 'app', outcome: 'updated' }]);
  expect(await marks()).toEqual([]);
  const app = await engine.inspectContainer('app');
  expect((await engine.inspectImage('app:1'))?.id).toBe(app?.imageId);
});

test('so the restart policy comes back when the update dies later', async () => {
  const { engine, session, marks, recover } = await updateWithLateSuccessor([
    { at: ({ detail }) => detail.includes('upkeep-drop'), fault: { kind: 'crash', when: 'after' } },
  ]);
  await session;
  expect(await marks()).toHaveLength(1);
  await recover();
  const app = await engine.inspectContainer('app');
  expect(app).toMatchObject({ state: { status: 'running' } });
  expect(app?.settings.HostConfig.RestartPolicy).toMatchObject({ Name: 'always' });
  expect(await marks()).toEqual([]);
});

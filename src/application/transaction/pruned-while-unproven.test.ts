import { expect, test } from 'vitest';
import type { Engine } from '../../domain/outside/outside.ts';
import { applicationWith, createStaleWeb, updateAll } from '../../../test/support/scene/race-scene.ts';

const bad = [
  ['ends later', { version: '3', behaviour: { exitsAfterMs: 5000, exitCode: 4 } }, 'exited with code 4'],
  [
    'is never healthy',
    {
      version: '3',
      behaviour: { health: { kind: 'unhealthy' } },
      config: { Healthcheck: { Test: ['CMD', 'true'], Interval: 1e9, Retries: 1 } },
    },
    'unhealthy',
  ],
] as const;

/** Updates, and removes the stopped old containers as soon as the new ones run, which are one or `newOnes`. */
async function updateWithoutWayBack(
  { scene, old }: Awaited<ReturnType<typeof createStaleWeb>>,
  remove: (old: string) => void,
  { newOnes = 1, calls = () => ({}) }: { newOnes?: number; calls?: (engine: Engine) => Partial<Engine> } = {},
) {
  const { outside } = scene.startProcess();
  let starts = 0;
  const application = applicationWith(outside, {
    startContainer: async (id) => {
      const outcome = await outside.engine.startContainer(id);
      starts += 1;
      if (starts === newOnes) remove(old);
      return outcome;
    },
    ...calls(outside.engine),
  });
  const { containers: rows } = await scene.clock.run(() => application.update(updateAll));
  return { rows, row: rows[0], left: scene.sandbox.control.snapshot().containers };
}

const policy = { RestartPolicy: { Name: 'always' } };

test.each(bad)('a version that %s is rolled back, also if the old container was pruned', async (_, release, reason) => {
  const web = await createStaleWeb(policy);
  const before = await web.scene.sandbox.engine.inspectContainer('web');
  web.scene.registry.store.publish('app:1', release);
  const { row, left } = await updateWithoutWayBack(web, web.scene.sandbox.control.pruneContainers);
  expect(row).toMatchObject({ outcome: 'rolled_back', reason: expect.stringContaining(reason) });
  expect(row?.reason).toContain('a prune had removed it, so it was created again');
  expect(left).toMatchObject({ web: { running: true, imageId: before?.imageId } });
  expect(Object.keys(left)).toEqual(['web']);
});

test.each(bad)('a version that %s stays if a person removed the old container, and it is told', async (_, release) => {
  const web = await createStaleWeb(policy);
  web.scene.registry.store.publish('app:1', release);
  const { row, left } = await updateWithoutWayBack(web, (id) => web.scene.sandbox.control.removeContainer(id));
  expect(row).toMatchObject({
    outcome: 'failed',
    reason: expect.stringContaining('the old container was removed meanwhile, so the new version stays'),
  });
  expect(Object.keys(left)).toEqual(['web']);
});

test('the bad version of a group stays without a way back, and it is told', async () => {
  const web = await createStaleWeb(policy);
  const { control } = web.scene.sandbox;
  control.runContainer('app', { Image: 'app:1', HostConfig: { ...policy, NetworkMode: 'container:web' } });
  web.scene.registry.store.publish('app:1', bad[0][1]);
  const { rows } = await updateWithoutWayBack(web, control.pruneContainers, { newOnes: 2 });
  expect(rows.map(({ outcome }) => outcome)).not.toContain('updated');
  expect(rows.map(({ reason }) => reason).join()).toContain('so the new version stays');
});

test('a pruned container is found if the answer to its creation is lost', async () => {
  const web = await createStaleWeb(policy);
  web.scene.registry.store.publish('app:1', bad[0][1]);
  const { row, left } = await updateWithoutWayBack(web, web.scene.sandbox.control.pruneContainers, {
    calls: (engine) => ({
      createContainer: async (name, recipe) => {
        const outcome = await engine.createContainer(name, recipe);
        return name === 'web.upkeep-standin' ? { kind: 'unknown', message: 'the connection broke off' } : outcome;
      },
    }),
  });
  expect(row).toMatchObject({ outcome: 'rolled_back' });
  expect(Object.keys(left)).toEqual(['web']);
});

test('a good version without a way back proves itself all the same, and is completed', async () => {
  const web = await createStaleWeb(policy);
  const { row, left } = await updateWithoutWayBack(web, web.scene.sandbox.control.pruneContainers);
  expect(row).toMatchObject({ outcome: 'updated' });
  expect(left['web']?.settings.HostConfig.RestartPolicy).toMatchObject(policy.RestartPolicy);
  expect(Object.keys(left)).toEqual(['web']);
  expect(Object.keys(web.scene.sandbox.control.snapshot().tags)).toEqual(['app:1']);
});

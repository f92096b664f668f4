import { expect, onTestFinished, test } from 'vitest';
import { createSandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import { defaultSettings } from '../../domain/settings/effective-settings.ts';
import { createCheck } from '../../../test/support/scene/create-check.ts';
import { createEngineCache } from './engine-cache.ts';
import { createUnwatched } from './inventory.ts';

test('createUnwatched() names each container that a check does not look at, with the same reason', async () => {
  const scene = createSandboxScene();
  for (const reference of ['db:1', 'web:1']) {
    scene.registry.store.publish(reference, { version: reference });
    await scene.sandbox.engine.pullImage({ reference });
  }
  const { runContainer } = scene.sandbox.control;
  runContainer('web', { Image: 'web:1' });
  runContainer('db', { Image: 'db:1' });
  runContainer('other', { Image: 'web:1', Labels: { 'upkeep.enable': 'false' } });
  runContainer('blue', { Image: 'web:1', Labels: { 'upkeep.scope': 'blue' } });
  const { outside } = scene.startProcess();
  const settings = { ...defaultSettings, skipImageNames: ['db:.*'], disableContainers: ['no-one'] };
  const mirror = createEngineCache(outside);
  onTestFinished(() => mirror.close());
  const unwatched = createUnwatched({ settings, instance: outside.instance, listing: mirror.listing });
  expect(unwatched()).toEqual([]);
  await mirror.follow();
  const report = await createCheck(outside, settings)({ runId: '1', applyCooldown: false, images: [], containers: [] });
  expect(unwatched().map(({ name, reason }) => ({ name, reason }))).toEqual(report.unwatched);
  expect(unwatched()).toContainEqual({
    name: 'other',
    image: 'web:1',
    reason: 'is disabled by its label',
    kind: 'disabled by label',
  });
  expect(
    unwatched()
      .map(({ name }) => name)
      .toSorted(),
  ).toEqual(['blue', 'db', 'other']);
  expect(unwatched()).toBe(unwatched());
});

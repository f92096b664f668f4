import { expect, test } from 'vitest';
import { countCalls } from '../../../test/support/engine/counted-engine.ts';
import { createSandboxScene } from '../../../test/support/scene/sandbox-outside.ts';
import { containerSummary } from '../../../test/support/scene/builders.ts';
import type { Engine } from '../../domain/outside/outside.ts';
import { listAll } from './listing.ts';
import { createEngineCache } from '../inventory/engine-cache.ts';

test('a container without an image causes no question about one, and no warning', async () => {
  const { outside, complaints } = createSandboxScene().startProcess();
  const { engine, calls } = countCalls(outside.engine);
  const rootfs = containerSummary('rootfs', { image: '', imageId: '' });
  const listContainers: Engine['listContainers'] = () => Promise.resolve([rootfs]);
  const world = { ...outside, engine: { ...engine, listContainers } };
  expect((await listAll(world, undefined)).containers).toEqual([rootfs]);
  const mirror = createEngineCache(world);
  await mirror.follow();
  expect(mirror.listing()?.containers).toEqual([rootfs]);
  await mirror.close();
  expect([calls.inspectImage, calls.inspectContainer, complaints]).toEqual([undefined, undefined, []]);
});

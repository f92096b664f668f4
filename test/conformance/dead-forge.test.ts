import { afterEach, expect, test } from 'vitest';
import type { Forges } from '../../src/domain/notes/notes.ts';
import { startWholeService, type WholeService } from '../support/http/whole-service.ts';

let scene: WholeService;
afterEach(() => scene.stop());

/** A forge that never answers, until the service stops. */
function deadForge(): Forges & { readonly asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    read: ({ repository }, signal) => {
      asked.push(repository.path);
      return new Promise((_, reject) => {
        signal?.addEventListener('abort', () => reject(new Error('stopped')), { once: true });
      });
    },
    close: () => Promise.resolve(),
  };
}

const images = 58;

async function start(forges: Forges | undefined): Promise<void> {
  scene = await startWholeService({ ...(forges && { forges }) });
  for (let each = 0; each < images; each += 1) {
    const image = `acme/app${each}:latest`;
    scene.publish(image, '', { version: '1.0.0' });
    await scene.run(`app${each}`, image, { 'upkeep.source': `https://github.com/acme/app${each}` });
    scene.publish(image, '', { version: '2.0.0' });
  }
}

test('a forge that never answers keeps no check and no update of 58 images waiting', async () => {
  const forge = deadForge();
  await start(forge);
  for (let round = 0; round < 2; round += 1) {
    const { count, containers } = (await scene.ask('/v1/check', { method: 'POST' })).json();
    expect(count).toBe(images);
    expect(containers.every(({ update_available: isNewer }: { update_available: boolean }) => isNewer)).toBe(true);
    expect(containers[0].notes).toMatchObject({ state: 'unread' });
  }
  expect(forge.asked.length).toBeGreaterThan(0);
  const { summary } = (await scene.ask('/v1/update?image=acme/app1&image=acme/app2', { method: 'POST' })).json();
  expect(summary).toMatchObject({ updated: 2, failed: 0 });
  expect((await scene.ask('/readyz', { token: null })).status).toBe(200);
});

test('a check asks the registries as often with a dead forge as without release notes', async () => {
  const requests: number[] = [];
  for (const forges of [undefined, deadForge()]) {
    await start(forges);
    await scene.ask('/v1/check', { method: 'POST' });
    const before = scene.registry.store.requests();
    await scene.ask('/v1/check', { method: 'POST' });
    requests.push(scene.registry.store.requests() - before);
    if (forges === undefined) await scene.stop();
  }
  expect(requests[1]).toBe(requests[0]);
});

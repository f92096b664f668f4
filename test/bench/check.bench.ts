import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createOciRegistry } from '../../src/adapters/oci/registry.ts';
import { createSystemClock } from '../../src/adapters/process/clock.ts';
import { createSandboxEngine } from '../../src/adapters/sandbox/engine.ts';
import { createSandboxRegistry } from '../../src/adapters/sandbox/registry.ts';
import { buildRelease } from '../../src/adapters/sandbox/release.ts';
import { createApplication } from '../../src/application/create-application.ts';
import type { Application } from '../../src/application/application.ts';
import { defaultSettings } from '../../src/domain/settings.ts';
import { median, reportRatio } from './ratios.ts';

/** Checking against a registry that takes 50 ms: the floor is that, times the waves that the requests in flight allow. */

const latencyMs = 50;
const inFlight = defaultSettings.checkConcurrency;
const runs = 15;
const release = { version: '1' };

let server: ChildProcessWithoutNullStreams;
let port: number;
let lines: AsyncIterator<string>;

const clock = createSystemClock();
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

beforeAll(async () => {
  const { digest } = buildRelease(release);
  server = spawn(process.execPath, [
    fileURLToPath(new URL('slow-registry.mjs', import.meta.url)),
    String(latencyMs),
    digest,
  ]);
  lines = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
  port = Number((await lines.next()).value);
});
afterAll(async () => {
  server.kill();
  await once(server, 'exit');
});

async function headsSince(): Promise<number> {
  server.stdin.write('\n');
  return Number((await lines.next()).value);
}

/** An application over `containers` running containers of `images` distinct references, all fresh. */
async function watching(
  containers: number,
  images: number,
): Promise<{ application: Application; close: () => Promise<void> }> {
  const { store } = createSandboxRegistry({ clock });
  const { engine, control } = createSandboxEngine({ clock, registries: store });
  const references = Array.from({ length: images }, (_, index) => `127.0.0.1:${port}/bench/image-${index}:stable`);
  for (const reference of references) {
    store.publish(reference, release);
    await engine.pullImage({ reference });
  }
  for (let index = 0; index < containers; index += 1)
    control.runContainer(`bench-${index}`, { Image: references[index % images] });
  const registry = createOciRegistry({ clock, version: 'bench' });
  const instance = { owner: 'bench', containerId: undefined, ownerState: () => 'self' as const };
  const application = createApplication(
    { engine, registry, clock, log: silent, instance, newId: () => 'run' },
    defaultSettings,
  );
  return {
    application,
    close: async () => {
      control.close();
      await registry.close();
    },
  };
}

async function timeCheck({ application }: { application: Application }, containers: number): Promise<number> {
  const begunAt = performance.now();
  const report = await application.check({ images: [], containers: [] });
  const tookMs = performance.now() - begunAt;
  expect(report.containers.filter(({ status }) => status === 'fresh')).toHaveLength(containers);
  return tookMs;
}

test.each([58, 500, 2000])('checking %i distinct images', async (images) => {
  const scene = await watching(images, images);
  await timeCheck(scene, images);
  await headsSince();
  const times: number[] = [];
  for (let run = 0; run < runs; run += 1) times.push(await timeCheck(scene, images));
  expect(await headsSince()).toBe(images * runs);
  reportRatio(
    `checking ${images} distinct images, ${inFlight} requests in flight, ${latencyMs} ms each`,
    median(times),
    Math.ceil(images / inFlight) * latencyMs,
    1.15,
  );
  await scene.close();
});

test('1,000 containers that share 50 images', async () => {
  const scene = await watching(1000, 50);
  await headsSince();
  const tookMs = await timeCheck(scene, 1000);
  console.log(`1,000 containers that share 50 images: ${await headsSince()} HEADs, ${tookMs.toFixed(0)} ms`);
  await scene.close();
});

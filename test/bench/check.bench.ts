import { type ChildProcessWithoutNullStreams, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildRelease } from '../../sandbox/registry/registry-store.ts';
import { defaultSettings } from '../../src/domain/settings/effective-settings.ts';
import { bundled } from './rig/bundled.ts';
import { median, reportRatio } from './rig/ratios.ts';

/**
 * Checks against a registry that takes 50 ms. The floor is the time of a single request, times the number of waves that
 * the limit of parallel requests causes.
 */

const latencyMs = 50;
const inFlight = defaultSettings.checkConcurrency;
const runs = 15;
/** Requests of two weeks of hourly checks of 58 images, so that the compiler has optimised the code. */
const warmUpRequests = 20_000;

const checkTimes = bundled(new URL('rig/check-times.mjs', import.meta.url));

let server: ChildProcessWithoutNullStreams;
let port: number;
let lines: AsyncIterator<string>;

beforeAll(async () => {
  const { digest } = buildRelease({ version: '1' });
  server = spawn(process.execPath, [
    fileURLToPath(new URL('rig/slow-registry.mjs', import.meta.url)),
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

test.each([58, 500, 2000])('checking %i distinct images', async (images) => {
  const warmUps = Math.ceil(warmUpRequests / images);
  const { checks, alone, cpuMs } = await measure({ containers: images, images, warmUps, runs });
  expect(await headsSince()).toBe(images * (warmUps + runs));
  reportRatio(
    `checking ${images} distinct images, ${inFlight} requests in flight, ${latencyMs} ms each`,
    median(checks),
    Math.ceil(images / inFlight) * median(alone),
    1.15,
  );
  console.log(`checking ${images} distinct images: ${cpuMs.toFixed(0)} ms of CPU time each`);
});

test('1,000 containers that share 50 images', async () => {
  const { checks } = await measure({ containers: 1000, images: 50, warmUps: 0, runs: 1 });
  console.log(`1,000 containers that share 50 images: ${await headsSince()} HEADs, ${median(checks).toFixed(0)} ms`);
});

type Scene = {
  readonly containers: number;
  readonly images: number;
  readonly warmUps: number;
  readonly runs: number;
};

/** Milliseconds. `cpuMs` is the mean of the checks. */
type Times = { readonly checks: readonly number[]; readonly alone: readonly number[]; readonly cpuMs: number };

async function measure({ containers, images, warmUps, runs: timed }: Scene): Promise<Times> {
  const script = [checkTimes, port, containers, images, warmUps, timed];
  const { stdout } = await promisify(execFile)(process.execPath, script.map(String));
  return JSON.parse(stdout) as Times;
}

async function headsSince(): Promise<number> {
  server.stdin.write('\n');
  return Number((await lines.next()).value);
}

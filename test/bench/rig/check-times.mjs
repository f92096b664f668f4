// The measurement of test/bench/check.bench.ts, bundled and in its own process. `check-times.mjs PORT CONTAINERS IMAGES
// WARM_UPS RUNS` checks this number of new containers of this number of images. It prints the milliseconds of each run
// after the warm-ups, as JSON, and as `cpuMs` the CPU time of one check. `alone`: times of a bare client's single requests.
// They are measured before the checks, because in between they would make the compiler optimise the shared code again.
import { Agent, request } from 'node:http';
import { createOciRegistry } from '../../../src/adapters/oci/registry.ts';
import { createSystemClock } from '../../../src/adapters/process/clock.ts';
import { createSandboxEngine } from '../../../sandbox/engine/engine.ts';
import { createSandboxRegistry } from '../../../sandbox/registry/registry.ts';
import { createApplication } from '../../../src/application/create-application.ts';
import { defaultSettings } from '../../../src/domain/settings/effective-settings.ts';

const [port, containers, images, warmUps, runs] = process.argv.slice(2).map(Number);
const clock = createSystemClock();
const { store } = createSandboxRegistry({ clock });
const { engine, control } = createSandboxEngine({ clock, registries: store });
const references = Array.from({ length: images }, (_, index) => `127.0.0.1:${port}/bench/image-${index}:stable`);
for (const reference of references) {
  store.publish(reference, { version: '1' });
  await engine.pullImage({ reference });
}
for (let index = 0; index < containers; index += 1)
  control.runContainer(`bench-${index}`, { Image: references[index % images] });
const silent = { debug() {}, info() {}, warn() {}, error() {} };
const application = createApplication(
  {
    engine,
    registry: createOciRegistry({ clock, version: 'bench' }),
    clock,
    log: silent,
    instance: { owner: 'bench', containerId: undefined, isMainProcess: false, ownerState: () => 'self' },
    newId: () => 'run',
  },
  defaultSettings,
);
const agent = new Agent({ keepAlive: true });

const aloneWarmUps = 50;
const [checks, alone] = [[], []];
for (let run = 0; run < aloneWarmUps; run += 1) await askAlone();
for (let run = 0; run < runs; run += 1) alone.push(await timed(askAlone));
for (let run = 0; run < warmUps; run += 1) await check();
const before = process.cpuUsage();
for (let run = 0; run < runs; run += 1) checks.push(await timed(check));
const { user, system } = process.cpuUsage(before);
console.log(JSON.stringify({ checks, alone, cpuMs: (user + system) / 1000 / runs }));
process.exit();

async function timed(work) {
  const begunAt = performance.now();
  await work();
  return performance.now() - begunAt;
}

async function check() {
  const report = await application.check({ images: [], containers: [] });
  const fresh = report.containers.filter(({ status }) => status === 'fresh').length;
  if (fresh !== containers) throw new Error(`${fresh} of ${containers} containers are fresh`);
}

function askAlone() {
  return new Promise((resolve, reject) => {
    const asked = request({ agent, port, host: '127.0.0.1', path: '/v2/alone/manifests/stable', method: 'GET' });
    asked.on('response', (response) => response.resume().on('end', resolve));
    asked.on('error', reject);
    asked.end();
  });
}

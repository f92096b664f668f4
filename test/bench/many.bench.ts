import { afterEach, expect, onTestFinished, test } from 'vitest';
import { webServer } from '../lab/registry/catalogue.ts';
import { describeInLab } from '../lab/describe-in-lab.ts';
import { pushImage } from '../lab/registry/push.ts';
import { apiToken, ask } from '../support/http/http-scene.ts';
import { cpuMsOf } from '../support/scene/process-use.ts';
import { startUpkeep } from '../support/scene/run-upkeep.ts';
import { median, reportRatio } from './rig/ratios.ts';

/** Updates by a running service, so that the start of Node does not count. */
describeInLab('updates of many', (lab) => {
  const { engine, registry } = lab;
  const many = 50;
  /** Number of containers that Upkeep pulls, stops and starts at once. */
  const atOnce = 4;
  const windowMs = 10_000;
  const longWindowMs = 30_000;
  const names = Array.from({ length: many }, (_, index) => `web${String(index).padStart(2, '0')}`);
  const image = (name: string) => `${registry.host}/bench-many/${name}:stable`;
  afterEach(() => engine.clear());

  test('fifty containers of fifty images, beside a stop and a start of each', async () => {
    await eachOf(names, (name) => release(name, 'v1'));
    await eachOf(names, async (name) => {
      await engine.pull(image(name));
      await engine.run(name, image(name), { StopTimeout: 1 });
      await engine.create(`${name}-next`, image(name), { StopTimeout: 1, Labels: { 'upkeep.enable': 'false' } });
    });
    const floorMs = await timeOf(() =>
      eachOf(names, async (name) => {
        await engine.call('POST', `/containers/${name}/stop`);
        await engine.call('POST', `/containers/${name}-next/start`);
      }),
    );
    await eachOf(names, async (name) => {
      await engine.call('DELETE', `/containers/${name}-next?force=1`);
      await engine.call('POST', `/containers/${name}/start`);
      await release(name, 'v2');
    });

    const { service, update } = await startService('--health-window', `${windowMs / 1000}s`);
    const before = cpuMsOf(service);
    let containers: readonly Updated[] = [];
    const allMs = await timeOf(async () => (containers = await update()));
    expect(containers.map(({ outcome }) => outcome)).toEqual(names.map(() => 'updated'));
    reportRatio('fifty containers of fifty images, without the health window', allMs - windowMs, floorMs, 1.5);
    const down = median(containers.map(({ down_ms }) => down_ms));
    console.log(`fifty containers of fifty images: each down for ${down.toFixed(0)} ms (aim 600)`);
    console.log(`fifty containers of fifty images: ${cpuMsOf(service) - before} ms of CPU (aim 1500)`);
  });

  test('thirty containers of one image, of which one goes first', async () => {
    const thirty = names.slice(0, 30);
    const of30 = 'bench-many/one';
    await pushImage(registry, of30, 'stable', webServer('one-v1'));
    await engine.pull(`${registry.host}/${of30}:stable`);
    await eachOf(thirty, (name) => engine.run(name, `${registry.host}/${of30}:stable`, { StopTimeout: 1 }));
    await pushImage(registry, of30, 'stable', webServer('one-v2'));
    const { update } = await startService('--health-window', `${longWindowMs / 1000}s`);
    let containers: readonly Updated[] = [];
    const allMs = await timeOf(async () => (containers = await update()));
    expect(containers.map(({ outcome }) => outcome)).toEqual(thirty.map(() => 'updated'));
    reportRatio('thirty containers of one image, beside one health window', allMs, longWindowMs, 2.5);
  });

  test('one container without a health window, from the request until the new one runs', async () => {
    const [name = ''] = names;
    await release(name, 'v1');
    await engine.pull(image(name));
    await engine.run(name, image(name), { StopTimeout: 1 });
    const { update } = await startService('--health-window', '0s');
    const taken: number[] = [];
    for (let run = 0; run < 9; run += 1) {
      await release(name, `v${run + 2}`);
      const begunAt = Date.now();
      await update();
      const { body } = await engine.call('GET', `/containers/${name}/json`);
      taken.push(Date.parse((body as { State: { StartedAt: string } }).State.StartedAt) - begunAt);
    }
    console.log(`one container without a health window: runs after ${median(taken).toFixed(0)} ms (aim 1100)`);
  });

  const release = (name: string, version: string) =>
    pushImage(registry, `bench-many/${name}`, 'stable', webServer(`${name}-${version}`));

  async function startService(...args: readonly string[]) {
    const api = ['--http-api-update', '--http-api-port', '0', '--http-api-token', apiToken];
    const service = startUpkeep(['run', ...api, ...args], { socket: engine.socket });
    onTestFinished(async () => {
      service.child.kill('SIGTERM');
      await service.ended;
    });
    await service.seen('No periodic updates');
    const url = /"address":"([^"]+)"/.exec(service.output())?.[1] ?? '';
    const update = async () => {
      const { status, text } = await ask(url, '/v1/update', { method: 'POST' });
      expect(status, text).toBe(200);
      return (JSON.parse(text) as { containers?: readonly Updated[] }).containers ?? [];
    };
    return { service, update };
  }

  /** At most `atOnce` at a time. */
  async function eachOf(all: readonly string[], act: (name: string) => Promise<unknown>): Promise<void> {
    const left = [...all];
    const work = async () => {
      for (let name = left.shift(); name !== undefined; name = left.shift()) await act(name);
    };
    await Promise.all(Array.from({ length: atOnce }, work));
  }
});

type Updated = { readonly outcome: string; readonly down_ms: number };

async function timeOf(act: () => Promise<unknown>): Promise<number> {
  const begunAt = performance.now();
  await act();
  return performance.now() - begunAt;
}

import { join } from 'node:path';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { catalogue, webServer } from '../lab/registry/catalogue.ts';
import { describeInLab } from '../lab/describe-in-lab.ts';
import { createFaultProxy, type FaultProxy, type ProxiedCall } from '../lab/proxy/fault-proxy.ts';
import { pushImage } from '../lab/registry/push.ts';
import { apiToken, ask } from '../support/http/http-scene.ts';
import { cpuMsOf } from '../support/scene/process-use.ts';
import { runUpkeep, startUpkeep } from '../support/scene/run-upkeep.ts';

/**
 * Counts requests to a real engine, by kind, with the shipped executable. It measures no time, so there is no ratio.
 */
describeInLab('engine calls of a run', (lab) => {
  const { engine, registry } = lab;
  const containers = 10;
  const image = (number: number) => `${registry.host}/calls/web${number}:stable`;
  afterEach(() => engine.clear());

  test('from process start, and in a running service', async () => {
    for (let number = 0; number < containers; number += 1) {
      await pushImage(registry, `calls/web${number}`, 'stable', catalogue['plain-v1']);
      await engine.pull(image(number));
      await engine.run(`web${number}`, image(number), { StopTimeout: 1 });
    }
    const socketPath = join(lab.dir, 'calls.sock');
    const proxy = await createFaultProxy({ listen: { socketPath }, upstream: { socketPath: engine.socket } });
    onTestFinished(() => proxy.close());
    const counted = counter(proxy);
    const upkeep = async (...args: string[]) => {
      const { code, stderr } = await runUpkeep(args, { socket: socketPath });
      expect(code, stderr).toBe(0);
    };
    let version = 1;
    /** The version changes each time, between two images. */
    const release = () =>
      pushImage(registry, 'calls/web3', 'stable', catalogue[(version += 1) % 2 === 0 ? 'plain-v2' : 'plain-v1']);

    await counted('a check of ten, from process start', () => upkeep('check'));
    await release();
    await counted('a run over ten with one stale, from process start', () => upkeep('update'));
    await release();
    await counted('update of one of ten by name, from process start', () => upkeep('update', 'web3'));
    await release();
    await counted('the same, with --health-window 0s', () => upkeep('update', 'web3', '--health-window', '0s'));

    const api = ['--http-api-update', '--http-api-port', '0', '--http-api-token', apiToken];
    const service = startUpkeep(['run', ...api], { socket: socketPath });
    await service.seen('No periodic updates');
    const url = /"address":"([^"]+)"/.exec(service.output())?.[1] ?? '';
    const post = async (path: string) => {
      const { status, text } = await ask(url, path, { method: 'POST' });
      expect(status, text).toBe(200);
    };
    await release();
    await counted('a first run over ten with one stale, in a running service', () => post('/v1/update'));
    await release();
    await counted('a later run over ten with one stale, in a running service', () => post('/v1/update'));
    await release();
    await counted('update of one of ten by name, in a running service', () => post('/v1/update?container=web3'));
    await counted('a run over ten with nothing stale, in a running service', () => post('/v1/update'));
    service.child.kill('SIGTERM');
    expect((await service.ended).code).toBe(0);
  });

  test('for each update of forty images, and the processor time', async () => {
    const many = 40;
    const numbers = Array.from({ length: many }, (_, number) => number);
    const release = async (version: string) => {
      for (const number of numbers)
        await pushImage(registry, `calls/many${number}`, 'stable', webServer(`many${number}-${version}`));
    };
    const imageOf = (number: number) => `${registry.host}/calls/many${number}:stable`;
    await release('v1');
    for (const number of numbers) {
      await engine.pull(imageOf(number));
      await engine.run(`many${number}`, imageOf(number), {
        StopTimeout: 1,
        HostConfig: { RestartPolicy: { Name: 'unless-stopped' } },
      });
    }
    await release('v2');
    const socketPath = join(lab.dir, 'many-calls.sock');
    const proxy = await createFaultProxy({ listen: { socketPath }, upstream: { socketPath: engine.socket } });
    onTestFinished(() => proxy.close());
    const groups = 'health,update,metrics,containers,check,history';
    const api = ['--http-api-endpoints', groups, '--http-api-port', '0', '--http-api-token', apiToken];
    const service = startUpkeep(['run', ...api, '--health-window', '0s'], { socket: socketPath });
    await service.seen('No periodic updates');
    const url = /"address":"([^"]+)"/.exec(service.output())?.[1] ?? '';
    const post = async () => {
      const { status, text } = await ask(url, '/v1/update', { method: 'POST' });
      expect(status, text).toBe(200);
      return (JSON.parse(text) as { containers: readonly { outcome: string }[] }).containers;
    };
    for (const [which, next] of [
      ['first', 'v3'],
      ['later', 'v4'],
    ] as const) {
      const before = { calls: proxy.calls.length, cpuMs: cpuMsOf(service) };
      const updated = await post();
      expect(updated.filter(({ outcome }) => outcome === 'updated')).toHaveLength(many);
      // The test image has written a file, whose origin takes four reads.
      const calls = proxy.calls
        .slice(before.calls)
        .filter(({ method, path }) => method !== 'HEAD' && !path.endsWith('/changes'));
      const each = calls.length / many;
      const kinds = [...countsOf(calls)].map(([kind, count]) => `${(count / many).toFixed(1)} ${kind}`).join(', ');
      console.log(
        `forty updates, ${which} run: ${each.toFixed(1)} calls each (at most ${maxCallsEach}, aim 20): ${kinds}`,
      );
      console.log(
        `forty updates, ${which} run: ${((cpuMsOf(service) - before.cpuMs) / many).toFixed(1)} ms of CPU each (aim 30)`,
      );
      if (which === 'later') expect(each).toBeLessThanOrEqual(maxCallsEach);
      await release(next);
    }
    service.child.kill('SIGTERM');
    expect((await service.ended).code).toBe(0);
  });
});

/** For each update of a run, without the files that a container has written. */
const maxCallsEach = 28;

/** Prints the calls of a piece of work by kind, the most frequent first. */
function counter({ calls }: FaultProxy): (what: string, work: () => Promise<unknown>) => Promise<void> {
  return async (what, work) => {
    const before = calls.length;
    await work();
    const parts = [...countsOf(calls.slice(before))].map(([kind, count]) => `${count} ${kind}`).join(', ');
    console.log(`${what}: ${calls.length - before} calls: ${parts}`);
  };
}

/** The most frequent kind first. */
function countsOf(calls: readonly ProxiedCall[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const call of calls) counts.set(kindOf(call), (counts.get(kindOf(call)) ?? 0) + 1);
  return new Map([...counts].toSorted(([, one], [, other]) => other - one));
}

/** `GET /containers/{}/json`: without version, ids, names and query. */
function kindOf({ method, path }: ProxiedCall): string {
  const [plain = ''] = path.replace(/^\/v\d+\.\d+/, '').split('?');
  return `${method} ${plain.replace(/^\/(containers|images)\/(?!json$|create$).+?(\/(?:json|tag|push|rename|update|start|stop|wait|logs))?$/, '/$1/{}$2')}`;
}

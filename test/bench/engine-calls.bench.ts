import { join } from 'node:path';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { catalogue } from '../lab/registry/catalogue.ts';
import { describeInLab } from '../lab/describe-in-lab.ts';
import { createFaultProxy, type FaultProxy, type ProxiedCall } from '../lab/proxy/fault-proxy.ts';
import { pushImage } from '../lab/registry/push.ts';
import { apiToken, ask } from '../support/http/http-scene.ts';
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
});

/** Prints the calls of a piece of work by kind, the most frequent first. */
function counter({ calls }: FaultProxy): (what: string, work: () => Promise<unknown>) => Promise<void> {
  return async (what, work) => {
    const before = calls.length;
    await work();
    const counts = new Map<string, number>();
    for (const call of calls.slice(before)) counts.set(kindOf(call), (counts.get(kindOf(call)) ?? 0) + 1);
    const sorted = [...counts].toSorted(([, one], [, other]) => other - one);
    const parts = sorted.map(([kind, count]) => `${count} ${kind}`).join(', ');
    console.log(`${what}: ${calls.length - before} calls: ${parts}`);
  };
}

/** `GET /containers/{}/json`: without version, ids, names and query. */
function kindOf({ method, path }: ProxiedCall): string {
  const [plain = ''] = path.replace(/^\/v\d+\.\d+/, '').split('?');
  return `${method} ${plain.replace(/^\/(containers|images)\/(?!json$|create$).+?(\/(?:json|tag|push|rename|update|start|stop|wait|logs))?$/, '/$1/{}$2')}`;
}

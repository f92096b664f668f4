import type { ChildProcess } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { createFaultProxy, type FaultRule } from '../../lab/proxy/fault-proxy.ts';
import { catalogue } from '../../lab/registry/catalogue.ts';
import { apiToken, ask } from '../../support/http/http-scene.ts';
import { runUpkeep, startUpkeep } from '../../support/scene/run-upkeep.ts';
import { effectsScene } from '../effects/scene.ts';

describeInLab('a container that a command beside the service has left down', (lab) => {
  const { engine } = lab;
  const { stale, inspect, names } = effectsScene(lab, 'left-by-a-command');
  const ends: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0).toReversed()) await end();
    await engine.clear();
  });

  const state = ['--state-dir', mkdtempSync(join(lab.dir, 'left-by-a-command-'))];

  async function serve() {
    const api = ['--http-api-endpoints', 'all', '--http-api-host', '127.0.0.1', '--http-api-port', '0'];
    const service = startUpkeep(['run', ...api, '--http-api-token', apiToken, ...state, '--no-color'], {
      socket: engine.socket,
    });
    ends.push(async () => {
      service.child.kill('SIGTERM');
      await service.ended;
    });
    await service.seen('No periodic updates');
    const [, url = ''] = /"address":"([^"]+)"/.exec(service.output()) ?? [];
    return { service, get: async (path: string) => (await ask(url, path)).json() };
  }

  async function update(name: string, rule: (child: () => ChildProcess | undefined) => FaultRule) {
    const socketPath = `${lab.dir}/left-by-a-command.sock`;
    const proxy = await createFaultProxy({ listen: { socketPath }, upstream: { socketPath: engine.socket } });
    let child: ChildProcess | undefined;
    proxy.arm(rule(() => child));
    const run = await runUpkeep(['update', name, ...state, '--health-window', '1s'], {
      socket: socketPath,
      onStart: (begun) => (child = begun),
    });
    await proxy.close();
    return run;
  }

  test.each([
    [
      'killed before the start of the new one',
      'never',
      (child: () => ChildProcess | undefined): FaultRule => ({
        at: ({ path, change }) => change !== undefined && path.endsWith('/start'),
        fault: { kind: 'kill', when: 'before', kill: () => void child()?.kill('SIGKILL') },
      }),
    ],
    [
      'which the engine refused to start again after a failed update',
      'no',
      (): FaultRule => ({
        at: ({ path, change }) => change !== undefined && path.endsWith('/start'),
        fault: { kind: 'answer', status: 500, body: '{"message":"no task"}', when: 'before' },
        times: 1000,
      }),
    ],
  ])('%s: the service brings it back by itself', async (_, name, rule) => {
    const { Id } = await stale(name, { next: catalogue.crash });
    const { service, get } = await serve();
    expect((await get('/v1/containers/details')).unfinished).toBeUndefined();
    await update(name, rule);
    await expect
      .poll(async () => (await engine.inspect(Id))?.State.Running, { timeout: 60_000, interval: 200 })
      .toBe(true);
    await expect.poll(names, { timeout: 20_000, interval: 200 }).toEqual([name]);
    expect((await inspect(name)).Id).toBe(Id);
    expect((await get('/v1/containers/details')).unfinished).toBeUndefined();
    await service.seen('An interrupted update was repaired');
  });
});

import type { ChildProcess } from 'node:child_process';
import { afterEach, expect, test } from 'vitest';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { createFaultProxy } from '../../lab/proxy/fault-proxy.ts';
import { apiToken, ask } from '../../support/http/http-scene.ts';
import { startReceiver } from '../../support/notify/receiver.ts';
import { runUpkeep, startUpkeep } from '../../support/scene/run-upkeep.ts';
import { effectsScene } from '../effects/scene.ts';

describeInLab('a container that was left down, because another one has its name', (lab) => {
  const { engine } = lab;
  const { image, stale, run, inspect, names } = effectsScene(lab, 'left-down');
  const ends: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0).toReversed()) await end();
    await engine.clear();
  });

  const parked = 'web.upkeep-old-a';

  /** An updater dies after the stop of the old container. Someone replaces the new one, which does not run. */
  async function leaveDown() {
    await run('calm');
    const { Id } = await stale('web', { config: { HostConfig: { RestartPolicy: { Name: 'always' } } } });
    const socketPath = `${lab.dir}/left-down.sock`;
    const proxy = await createFaultProxy({ listen: { socketPath }, upstream: { socketPath: engine.socket } });
    let child: ChildProcess | undefined;
    proxy.arm({
      at: ({ path, change }) => change !== undefined && path.includes('/start'),
      fault: { kind: 'kill', when: 'before', kill: () => void child?.kill('SIGKILL') },
    });
    await runUpkeep(['update', 'web'], { socket: socketPath, onStart: (begun) => (child = begun) });
    await proxy.close();
    await engine.call('DELETE', '/containers/web?force=1');
    await engine.run('web', image('calm'));
    expect(await names()).toEqual(['calm', 'web', parked]);
    return Id;
  }

  async function serve() {
    const receiver = await startReceiver();
    const tokens = ['--http-api-token', apiToken, '--http-api-events-token', `${apiToken}-events`];
    const api = ['--http-api-endpoints', 'all', '--http-api-host', '127.0.0.1', '--http-api-port', '0', ...tokens];
    const service = startUpkeep(
      ['run', ...api, '--no-startup-message', '--notification-url', receiver.url, '--no-color'],
      { socket: engine.socket },
    );
    ends.push(async () => {
      service.child.kill('SIGTERM');
      await service.ended;
      await receiver.close();
    });
    await service.seen('No periodic updates');
    const [, url = ''] = /"address":"([^"]+)"/.exec(service.output()) ?? [];
    const get = async (path: string) => (await ask(url, path)).json();
    const messages = () => receiver.taken().map(({ text }) => text);
    return { url, get, messages };
  }

  const soon = { timeout: 60_000, interval: 200 };

  test('is shown everywhere and told once, and runs within a minute after the name is free', async () => {
    const id = await leaveDown();
    const { url, get, messages } = await serve();
    const words = `another container has the name "web", so "${parked}" stays stopped`;
    const entry = { name: parked, state: 'repair pending', down: true, reason: expect.stringContaining(words) };
    expect((await get('/v1/containers/details')).unfinished).toMatchObject([entry]);
    expect(await get('/readyz')).toMatchObject({ down: [parked] });
    expect((await ask(url, '/v1/metrics')).text).toContain('upkeep_containers_down 1');
    for (const command of ['check', 'containers']) {
      const { stdout } = await runUpkeep([command], { socket: engine.socket });
      expect(stdout.indexOf(parked), stdout).toBeGreaterThan(0);
      expect(stdout.indexOf(parked)).toBeLessThan(stdout.indexOf('calm'));
    }
    const recovered = await runUpkeep(['recover'], { socket: engine.socket });
    expect(recovered.stdout).toContain(words);
    expect(recovered.code).not.toBe(0);
    await expect.poll(messages, soon).toHaveLength(1);
    expect(messages()[0]).toContain(words);

    await engine.call('POST', '/containers/web/rename?name=mine');
    await expect.poll(messages, soon).toHaveLength(2);
    expect(messages()[1]).toContain('Undid the update of web');
    const { Id, State, HostConfig } = await inspect('web');
    expect([Id, State.Running, HostConfig.RestartPolicy.Name]).toEqual([id, true, 'always']);
    expect((await get('/v1/containers/details')).unfinished).toBeUndefined();
    expect(await get('/readyz')).not.toHaveProperty('down');
    expect(await names()).toEqual(['calm', 'mine', 'web']);
  });

  test('is told to be solved when a person removes it', async () => {
    await leaveDown();
    const { get, messages } = await serve();
    await expect.poll(messages, soon).toHaveLength(1);
    await engine.call('DELETE', `/containers/${parked}`);
    await expect.poll(messages, soon).toHaveLength(2);
    expect(messages()[1]).toContain('Nothing left to repair in the update of web');
    expect((await get('/v1/containers/details')).unfinished).toBeUndefined();
    expect((await inspect('web')).State.Running).toBe(true);
  });
});

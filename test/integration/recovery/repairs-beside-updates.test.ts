import type { ChildProcess } from 'node:child_process';
import { afterEach, expect, test } from 'vitest';
import { catalogue } from '../../lab/registry/catalogue.ts';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import type { ImageSpec } from '../../lab/registry/image.ts';
import { createFaultProxy } from '../../lab/proxy/fault-proxy.ts';
import { apiToken, ask } from '../../support/http/http-scene.ts';
import { runUpkeep, startUpkeep, type UpkeepProcess } from '../../support/scene/run-upkeep.ts';
import { effectsScene } from '../effects/scene.ts';

const window = (value: string) => ({
  Labels: { 'upkeep.health-window': value },
  HostConfig: { RestartPolicy: { Name: 'always' } },
});

/** Nothing in these tests waits for the end of a window of 10 minutes. */
describeInLab('the repair of a container whose health window is 10 minutes', (lab) => {
  const { engine } = lab;
  const { stale, inspect, names } = effectsScene(lab, 'beside');
  let services: UpkeepProcess[] = [];
  let before: Readonly<Record<string, string>> = {};
  afterEach(async () => {
    for (const { child } of services) child.kill('SIGKILL');
    await Promise.all(services.map(({ ended }) => ended));
    services = [];
    await engine.clear();
  });

  /** Each is updated by a process that dies while the new versions prove themselves; `other` only becomes stale. */
  async function interrupted(slow: readonly string[], next: ImageSpec = catalogue['plain-v2'], config?: object) {
    for (const name of slow) {
      const { Id } = await stale(name, { next, config: config ?? window('10m') });
      before = { ...before, [name]: Id };
    }
    await die(slow, ['update', ...slow]);
    for (const name of ['other', 'third'])
      before = { ...before, [name]: (await stale(name, { config: window('200ms') })).Id };
  }

  /** Runs a command that is killed right after the start of the last new container. */
  async function die(slow: readonly string[], args: readonly string[]) {
    const socketPath = `${lab.dir}/beside.sock`;
    const proxy = await createFaultProxy({ listen: { socketPath }, upstream: { socketPath: engine.socket } });
    let child: ChildProcess | undefined;
    let starts = 0;
    proxy.arm({
      at: ({ change, path }) => change !== undefined && path.endsWith('/start') && (starts += 1) === slow.length,
      fault: { kind: 'kill', when: 'after', kill: () => void child?.kill('SIGKILL') },
    });
    await runUpkeep(args, { socket: socketPath, onStart: (begun) => (child = begun) });
    await proxy.close();
  }

  async function serve(windowOfOthers = '200ms') {
    const tokens = ['--http-api-token', apiToken, '--http-api-events-token', `${apiToken}-events`];
    const api = ['--http-api-endpoints', 'all', '--http-api-host', '127.0.0.1', '--http-api-port', '0', ...tokens];
    const service = startUpkeep(['run', ...api, '--health-window', windowOfOthers], { socket: engine.socket });
    services.push(service);
    await service.seen('"listening"');
    const [, url = ''] = /"address":"([^"]+)"/.exec(service.output()) ?? [];
    const update = async (query: string) => {
      const reply = await ask(url, `/v1/update${query}`, { method: 'POST' });
      return { status: reply.status, ...reply.json() };
    };
    return { service, url, update };
  }

  const isReplaced = async (name: string) => (await inspect(name)).Id !== before[name];
  const imageOf = (name: string) => `?image=${lab.registry.host}/beside/${name}`;

  test.each([
    ['that runs', catalogue['plain-v2'], window('10m')],
    [
      'that is not healthy yet',
      catalogue.sick,
      { Labels: { 'upkeep.health-timeout': '10m' }, HostConfig: { RestartPolicy: { Name: 'unless-stopped' } } },
    ],
  ])('with a new version %s lets go at a start: others are updated, and readyz answers', async (_, next, config) => {
    await interrupted(['web'], next, config);
    const { service, url, update } = await serve();
    await service.seen('Still repairing an interrupted update of web');
    expect((await ask(url, '/readyz')).status).toBe(200);
    const reply = await update(imageOf('other'));
    expect(reply).toMatchObject({ status: 200, summary: { updated: 1, failed: 0 } });
    expect(await isReplaced('other')).toBe(true);

    const all = await update('');
    expect(all, JSON.stringify(all)).toMatchObject({ status: 200 });
    expect(await isReplaced('third')).toBe(true);
    const web = all.containers.find(({ name }: { name: string }) => name === 'web');
    expect(web).toMatchObject({ reason: 'an interrupted update of "web" is being repaired' });
    expect((await names()).filter((name) => name.startsWith('web'))).toEqual(['web', expect.stringContaining('-old-')]);

    // Another crash: the next start goes on where this one ended, and a stop signal ends it within seconds.
    service.child.kill('SIGKILL');
    await service.ended;
    const second = await serve();
    await second.service.seen('Still repairing an interrupted update of web');
    second.service.child.kill('SIGTERM');
    expect((await second.service.ended).code).toBe(0);
    expect((await names()).filter((name) => name.startsWith('web'))).toEqual(['web', expect.stringContaining('-old-')]);

    // The new version ends before its time is over.
    const third = await serve();
    await third.service.seen('Still repairing an interrupted update of web');
    await engine.call('POST', '/containers/web/kill');
    await third.service.seen('An interrupted update was repaired');
    await expectOld('web');
  });

  test('lets go in a run that finds it, also if there are several', async () => {
    const { service, update } = await serve();
    await interrupted(['web', 'db']);
    const reply = await update(imageOf('other'));
    expect(reply, service.output()).toMatchObject({ status: 200, summary: { updated: 1, failed: 0 } });
    expect((await update(imageOf('third'))).summary).toMatchObject({ updated: 1 });
    for (const name of ['web', 'db']) await engine.call('POST', `/containers/${name}/kill`);
    for (const name of ['web', 'db']) await repaired(service, name);
    for (const name of ['web', 'db']) await expectOld(name);
  });

  test('that was rolled back lets go too, and others can be rolled back meanwhile', async () => {
    await stale('web');
    await stale('other', { config: window('200ms') });
    expect((await runUpkeep(['update', '--health-window', '200ms'], { socket: engine.socket })).code).toBe(0);
    before = { web: (await inspect('web')).Id, other: (await inspect('other')).Id };
    await die(['web'], ['rollback', 'web']);
    const { service, url } = await serve('10m');
    await service.seen('Still repairing an interrupted update of web');
    const reply = await ask(url, '/v1/rollback?container=other', { method: 'POST' });
    expect(reply.status, reply.text).toBe(200);
    expect(await isReplaced('other')).toBe(true);
    await engine.call('POST', '/containers/web/kill');
    await repaired(service, 'web');
    await expectOld('web');
  });

  async function repaired({ seen }: UpkeepProcess, name: string) {
    await seen(`"containers":["${name}"],"result":"undone"`);
  }

  async function expectOld(name: string) {
    const { Id, State } = await inspect(name);
    expect([Id, State.Running]).toEqual([before[name], true]);
    expect((await names()).filter((one) => one.startsWith(name))).toEqual([name]);
  }
});

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createDockerEngine } from '../../../src/adapters/docker/engine.ts';
import { createOciRegistry } from '../../../src/adapters/oci/registry.ts';
import { createProber } from '../../../src/adapters/probe/prober.ts';
import { createSystemClock } from '../../../src/adapters/process/clock.ts';
import { createInstance } from '../../../src/adapters/process/instance.ts';
import type { Application } from '../../../src/application/application.ts';
import { createApplication } from '../../../src/application/create-application.ts';
import type { Inventory, TrackedContainer } from '../../../src/domain/inventory.ts';
import { defaultSettings } from '../../../src/domain/settings/effective-settings.ts';
import { catalogue } from '../../lab/registry/catalogue.ts';
import { describeInLab } from '../../lab/describe-in-lab.ts';
import { pushImage } from '../../lab/registry/push.ts';
import { silentLog } from '../../support/test-log.ts';

/** The inventory on a real engine follows the changes of others. */
describeInLab('the inventory of a real engine', (lab) => {
  const { engine, registry } = lab;
  const image = (tag: string) => `${registry.host}/inventory:${tag}`;
  const rename = (name: string, to: string) => engine.call('POST', `/containers/${name}/rename?name=${to}`);
  const remove = (name: string) => engine.call('DELETE', `/containers/${name}?force=1`);

  beforeAll(async () => {
    await pushImage(registry, 'inventory', 'one', catalogue['plain-v1']);
    await pushImage(registry, 'inventory', 'two', catalogue['plain-v2']);
  });
  afterEach(() => engine.clear());

  async function follow(socket = engine.socket, tellsStartTimes = false): Promise<Application> {
    const clock = createSystemClock();
    const docker = createDockerEngine({ host: `unix://${socket}`, clock });
    const oci = createOciRegistry({
      clock,
      version: 'test',
      insecureRegistries: () => Promise.resolve(['127.0.0.0/8']),
    });
    const application = createApplication(
      {
        engine: docker,
        registry: oci,
        prober: createProber(),
        clock,
        log: silentLog,
        instance: createInstance(),
        newId: randomUUID,
      },
      { ...defaultSettings, includeStopped: true, healthWindowMs: 500 },
      {},
      { tellsStartTimes },
    );
    onTestFinished(async () => {
      await application.close();
      await Promise.all([docker.close(), oci.close()]);
    });
    await application.follow();
    return application;
  }

  test('shows a rename, a run, an end and a removal as soon as they are announced', async ({ annotate }) => {
    await engine.pull(image('one'));
    await engine.run('web', image('one'), { StopTimeout: 1 });
    const { inventory } = await follow();
    const lags: Record<string, number[]> = { rename: [], run: [], end: [], remove: [] };
    for (let round = 0; round < 10; round += 1) {
      const [from, to] = round % 2 === 0 ? ['web', 'site'] : ['site', 'web'];
      await rename(from, to);
      lags['rename']?.push(
        await lag(inventory, (now) => named(now, to) !== undefined && named(now, from) === undefined),
      );
      await engine.run('extra', image('one'));
      lags['run']?.push(await lag(inventory, (now) => named(now, 'extra')?.status === 'running'));
      await engine.call('POST', '/containers/extra/stop?t=0');
      lags['end']?.push(await lag(inventory, (now) => named(now, 'extra')?.status === 'exited'));
      await remove('extra');
      lags['remove']?.push(await lag(inventory, (now) => named(now, 'extra') === undefined));
    }
    for (const [what, times] of Object.entries(lags)) await annotate(`${what}: seen after ${told(times)}`);
  });

  test('shows what an image is called, whatever its tag does', async () => {
    await engine.pull(image('one'));
    await engine.run('web', image('one'));
    const { inventory } = await follow();
    const before = named(inventory(), 'web');
    expect(before).toMatchObject({ image: image('one'), digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) });
    await engine.pull(image('two'));
    const parameters = new URLSearchParams({ repo: `${registry.host}/inventory`, tag: 'one' });
    await engine.call('POST', `/images/${encodeURIComponent(image('two'))}/tag?${String(parameters)}`);
    await rename('web', 'site');
    await lag(inventory, (now) => named(now, 'site') !== undefined);
    expect(named(inventory(), 'site')).toEqual({ ...before, name: 'site' });

    // A new inventory sees a bare id in the list, and inspects the container.
    const later = await follow();
    expect(contentOf(later.inventory())).toEqual(contentOf(inventory()));
  });

  test('shows what an update made, with what was found out on the way', async () => {
    await pushImage(registry, 'inventory', 'moving', catalogue['plain-v1']);
    await engine.pull(image('moving'));
    await engine.run('web', image('moving'), { StopTimeout: 1 });
    const application = await follow();
    const { digest } = await pushImage(registry, 'inventory', 'moving', catalogue['plain-v2']);
    await application.check({ images: [], containers: [] });
    expect(named(application.inventory(), 'web')).toMatchObject({ stale: true, latestDigest: digest });
    await application.update({ images: [], containers: [], trigger: 'command' });
    await lag(application.inventory, (now) => now.containers.length === 1 && named(now, 'web')?.digest === digest);
    expect(named(application.inventory(), 'web')).toMatchObject({
      stale: false,
      staleness: 'fresh',
      latestDigest: digest,
      status: 'running',
    });
  });

  test('tells when containers were started, and again after each start: by people, by the engine, by a crash of it', async () => {
    const other = await lab.startEngine({ name: 'starts' });
    onTestFinished(() => other.remove());
    await other.pull(image('one'));
    await other.run('web', image('one'), { StopTimeout: 0, HostConfig: { RestartPolicy: { Name: 'always' } } });
    const { inventory } = await follow(other.socket, true);
    const startOf = async () => Date.parse((await other.inspect('web'))?.State.StartedAt ?? '');
    const isShown = async () => {
      const startedAtMs = await startOf();
      await lag(inventory, (now) => named(now, 'web')?.startedAtMs === startedAtMs);
      return startedAtMs;
    };
    const times = [await isShown()];
    await other.call('POST', '/containers/web/restart?t=0');
    times.push(await isShown());
    await other.call('POST', '/containers/web/kill');
    await other.waitFor('web', ({ State }) => !State.Running);
    await other.call('POST', '/containers/web/start');
    times.push(await isShown());
    await other.call('POST', '/containers/web/stop?t=0');
    await lag(inventory, (now) => named(now, 'web')?.status === 'exited');
    expect(named(inventory(), 'web')).not.toHaveProperty('startedAtMs');
    await other.call('POST', '/containers/web/start');
    times.push(await isShown());
    await other.powerCut();
    await other.start();
    await other.waitFor('web', ({ State }) => State.Running);
    times.push(await isShown());
    expect(new Set(times).size).toBe(5);
  });

  test('is as a fresh look after everything at once', async () => {
    for (const tag of ['one', 'two']) await engine.pull(image(tag));
    const { inventory } = await follow();
    const work = Array.from({ length: 12 }, async (_, index) => {
      const name = `many-${index}`;
      await engine.run(name, image(index % 2 === 0 ? 'one' : 'two'), { StopTimeout: 0 });
      if (index % 3 === 0) await rename(name, `renamed-${index}`);
      if (index % 4 === 1) await remove(name);
      if (index % 4 === 2) await engine.call('POST', `/containers/${name}/pause`);
      if (index % 4 === 3) await engine.call('POST', `/containers/${index % 3 === 0 ? `renamed-${index}` : name}/stop`);
    });
    await Promise.all(work);
    const fresh = contentOf((await follow()).inventory());
    await lag(inventory, (now) => contentOf(now) === fresh);
  });

  test('catches up with an engine that was away', async () => {
    const other = await lab.startEngine({ name: 'inventory' });
    onTestFinished(() => other.remove());
    await other.pull(image('one'));
    await other.run('web', image('one'));
    const { inventory } = await follow(other.socket);
    expect(named(inventory(), 'web')?.status).toBe('running');
    await other.powerCut();
    await sleep(300);
    expect(named(inventory(), 'web')?.status).toBe('running');
    await other.start();
    await lag(inventory, (now) => named(now, 'web')?.status === 'exited');
  });
});

function named({ containers }: Inventory, name: string): TrackedContainer | undefined {
  return containers.find((container) => container.name === name);
}

function contentOf({ containers, images }: Inventory): string {
  return JSON.stringify({ containers, images });
}

/** Waits until the inventory passes; returns the time in milliseconds. */
async function lag(inventory: () => Inventory, passes: (now: Inventory) => boolean): Promise<number> {
  const beganMs = performance.now();
  while (!passes(inventory())) {
    if (performance.now() - beganMs > 20_000) throw new Error(`not seen: ${contentOf(inventory())}`);
    await sleep(1);
  }
  return performance.now() - beganMs;
}

function told(times: readonly number[]): string {
  const sorted = times.toSorted((one, other) => one - other);
  const [median, most] = [sorted[Math.floor(sorted.length / 2)], sorted.at(-1)].map((ms) => Math.round(ms ?? 0));
  return `${median} ms at the median, ${most} ms at most`;
}

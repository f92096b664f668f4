import { readFileSync, writeFileSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import { catalogue, webServer } from '../lab/registry/catalogue.ts';
import { describeInLab } from '../lab/describe-in-lab.ts';
import type { Inspected } from '../lab/engine/engine-client.ts';
import { hasContainerdStore, imageIdOf } from '../lab/engine/image-id.ts';
import type { ImageSpec } from '../lab/registry/image.ts';
import { isPodman } from '../lab/engine/podman.ts';
import { type Pushed, pushImage, pushIndex } from '../lab/registry/push.ts';
import { skipBecause } from '../lab/skip-because.ts';
import { runUpkeep, type UpkeepRun } from '../support/scene/run-upkeep.ts';

type Entry = {
  readonly name: string;
  readonly status: string;
  readonly reason: string;
  readonly update_available: boolean;
  readonly error?: string;
};
type Outcome = {
  readonly name: string;
  readonly outcome: string;
  readonly reason: string;
  readonly log?: string;
  readonly downtime_ms?: number;
};

/** An update on a real engine and a real registry, with the shipped executable. */
describeInLab('upkeep on a real engine', (lab) => {
  const { engine, registry } = lab;
  afterEach(() => engine.clear());

  const at = (repository: string, tag = 'stable') => `${registry.host}/${repository}:${tag}`;
  const push = (repository: string, spec: ImageSpec, tag = 'stable'): Promise<Pushed> =>
    pushImage(registry, `main/${repository}`, tag, spec);
  const image = (repository: string, tag = 'stable') => at(`main/${repository}`, tag);
  const upkeep = (...args: string[]): Promise<UpkeepRun> => runUpkeep(args, { socket: engine.socket });
  const updateWithin = async (window: string, ...args: string[]) => {
    const run = await upkeep('update', '--json', '--health-window', window, ...args);
    const { containers } = parse(run) as { containers: Outcome[] };
    return { run, outcomes: Object.fromEntries(containers.map((container) => [container.name, container])) };
  };
  const update = (...args: string[]) => updateWithin('3s', ...args);

  /** A running container on the old version of an image whose tag has moved to the new one. */
  async function stale(
    name: string,
    old: ImageSpec,
    next: ImageSpec,
    config: object = {},
  ): Promise<{ before: Inspected; next: Pushed }> {
    await push(name, old);
    await engine.pull(image(name));
    const id = await engine.run(name, image(name), { StopTimeout: 2, ...config });
    const before = (await engine.inspect(id))!;
    return { before, next: await push(name, next) };
  }

  test('check tells stale from fresh, pinned, local, monitored and failed, and changes nothing', async () => {
    await stale('stale', catalogue.v1, catalogue.v2);
    await push('fresh', catalogue.v1);
    await engine.pull(image('fresh'));
    await engine.run('fresh', image('fresh'));
    const pinned = await push('pinned', catalogue.v1);
    await engine.pull(`${registry.host}/main/pinned@${pinned.digest}`);
    await engine.run('pinned', `${registry.host}/main/pinned@${pinned.digest}`);
    await engine.call('POST', `/images/${encodeURIComponent(image('fresh'))}/tag?repo=built-here&tag=dev`);
    await engine.run('monitored', image('fresh'), { Labels: { 'upkeep.monitor-only': 'true' } });
    await push('gone', webServer('gone'), 'once');
    await engine.pull(image('gone', 'once'));
    await engine.run('gone', image('gone', 'once'));
    await engine.call(
      'POST',
      `/images/${encodeURIComponent(image('gone', 'once'))}/tag?repo=${encodeURIComponent(`${registry.host}/main/gone`)}&tag=never-pushed`,
    );
    await engine.run('failed', image('gone', 'never-pushed'));
    const before = await engine.call('GET', '/containers/json?all=1');

    const run = await upkeep('check', '--json');
    const entries = Object.fromEntries(
      (parse(run) as { containers: Entry[] }).containers.map((entry) => [entry.name, entry]),
    );
    expect(run.code).toBe(3);
    expect(entries['stale']).toMatchObject({ status: 'stale', update_available: true });
    expect(entries['fresh']).toMatchObject({ status: 'fresh', update_available: false });
    expect(entries['pinned']).toMatchObject({ status: 'pinned', update_available: false });
    expect(entries['failed']).toMatchObject({
      status: 'unknown',
      update_available: false,
      error: expect.stringContaining('never-pushed'),
    });
    expect(ids(await engine.call('GET', '/containers/json?all=1'))).toEqual(ids(before));
    expect((await upkeep('check', '--exit-code')).code).toBe(10);
  });

  test('check knows an image that was built here and has never been in a registry', async (context) => {
    if (hasContainerdStore || isPodman)
      skipBecause(context, 'this engine gives what was built here a digest, as if it had been pulled');
    await push('base', catalogue['plain-v1']);
    await engine.pull(image('base'));
    const id = await engine.run('maker', image('base'));
    await engine.call('POST', `/commit?container=${id}&repo=local-build&tag=1`, {});
    await engine.run('local', 'local-build:1');
    const run = await upkeep('check', '--json', 'local');
    expect((parse(run) as { containers: Entry[] }).containers).toMatchObject([
      { name: 'local', status: 'local', update_available: false },
    ]);
  });

  test('update replaces exactly the stale ones; all that a person has set survives, the new image’s own defaults take effect', async (context) => {
    if (isPodman) skipBecause(context, 'Podman does not tell of an address that was chosen through the API');
    await engine.call('POST', '/networks/create', { Name: 'front', IPAM: { Config: [{ Subnet: '10.88.0.0/24' }] } });
    await engine.call('POST', '/networks/create', { Name: 'back' });
    await push('web', catalogue['volume-v1']);
    await engine.pull(image('web'));
    const id = await engine.create('web', image('web'), {
      Env: ['MINE=1', 'APP_VERSION=overridden'],
      Labels: { 'my.label': 'kept', 'upkeep.enable': 'true' },
      StopTimeout: 2,
      HostConfig: {
        NetworkMode: 'front',
        Binds: ['named:/named'],
        PortBindings: { '8080/tcp': [{ HostIp: '127.0.0.1', HostPort: '18088' }] },
        RestartPolicy: { Name: 'on-failure', MaximumRetryCount: 4 },
        Memory: 64_000_000,
        CapAdd: ['NET_ADMIN'],
        ExtraHosts: ['db.test:10.0.0.9'],
        Tmpfs: { '/cache': 'size=1m' },
        LogConfig: { Type: 'json-file', Config: { 'max-size': '1m' } },
      },
      NetworkingConfig: { EndpointsConfig: { front: { IPAMConfig: { IPv4Address: '10.88.0.10' }, Aliases: ['www'] } } },
    });
    await engine.call('POST', '/networks/back/connect', { Container: id, EndpointConfig: { Aliases: ['inner'] } });
    await engine.call('POST', `/containers/${id}/start`);
    const before = (await engine.inspect(id))!;
    for (const mount of before.Mounts)
      if (mount['Type'] === 'volume') writeFileSync(`${String(mount['Source'])}/marker`, String(mount['Destination']));
    const spec = catalogue['volume-v2'];
    const next = await push('web', {
      ...spec,
      config: {
        ...spec.config,
        Labels: { ...spec.config?.Labels, 'new.label': 'new' },
        Env: [...(spec.config?.Env ?? []), 'NEW=1'],
      },
    });
    await push('other', catalogue.v1);
    await engine.pull(image('other'));
    const otherId = await engine.run('other', image('other'));

    const { run, outcomes } = await update();
    expect(run.code, run.stderr).toBe(0);
    expect(outcomes['web']).toMatchObject({ outcome: 'updated' });
    expect(outcomes['other']).toMatchObject({ outcome: 'fresh' });
    expect((await engine.inspect('other'))?.Id).toBe(otherId);

    const after = (await engine.inspect('web'))!;
    expect(after.Image).toBe(imageIdOf(next));
    expect(after.Config.Image).toBe(image('web'));
    expect(after.Config['Env']).toEqual(expect.arrayContaining(['MINE=1', 'APP_VERSION=overridden', 'NEW=1']));
    expect(after.Config.Labels).toMatchObject({
      'my.label': 'kept',
      'upkeep.enable': 'true',
      'new.label': 'new',
      'org.opencontainers.image.version': 'v2',
    });
    for (const field of [
      'Binds',
      'PortBindings',
      'RestartPolicy',
      'Memory',
      'CapAdd',
      'ExtraHosts',
      'Tmpfs',
      'LogConfig',
      'NetworkMode',
    ]) {
      expect(after.HostConfig[field], field).toEqual(before.HostConfig[field]);
    }
    const { front, back } = after.NetworkSettings.Networks;
    expect(front).toMatchObject({ IPAddress: '10.88.0.10', Aliases: expect.arrayContaining(['www']) });
    expect(back).toMatchObject({ Aliases: expect.arrayContaining(['inner']) });
    expect(mounts(after)).toEqual(mounts(before));
    for (const mount of after.Mounts)
      if (mount['Type'] === 'volume')
        expect(readFileSync(`${String(mount['Source'])}/marker`, 'utf8')).toBe(mount['Destination']);
    expect((await (await fetch('http://127.0.0.1:18088/')).text()).trim()).toBe('v2');
    expect(await names()).toEqual(['other', 'web']);
  });

  test.each([
    ['ends at once', catalogue['plain-v1'], catalogue.crash, 'exited with code 3'],
    ['ends later', catalogue['plain-v1'], catalogue['crash-later'], 'exited with code 4'],
    ['fails its HEALTHCHECK', catalogue.v1, catalogue.sick, 'unhealthy'],
    ['cannot be started', catalogue['plain-v1'], catalogue.unstartable, 'cannot be started'],
  ])(
    'a new version that %s is rolled back: the old one runs again under its name, with its data',
    async (_what, old, next, reason) => {
      const { before, next: pushed } = await stale('web', old, next, {
        HostConfig: { Binds: ['data:/data'], RestartPolicy: { Name: 'unless-stopped' } },
      });
      writeFileSync(`${String(before.Mounts[0]?.['Source'])}/marker`, 'precious');
      // On a loaded machine, a version that ends after 2 s ends later.
      const { run, outcomes } = await updateWithin('20s', '--health-timeout', '20s');
      expect(run.code).toBe(1);
      expect(outcomes['web']?.outcome).toBe('rolled_back');
      // If a policy cannot be changed later, an exit may show as a restart.
      expect(outcomes['web']?.reason).toMatch(isPodman ? new RegExp(`${reason}|it was restarted`) : reason);
      const after = (await engine.inspect('web'))!;
      expect(after).toMatchObject({
        Id: before.Id,
        State: { Running: true },
        HostConfig: { RestartPolicy: { Name: 'unless-stopped' } },
      });
      expect(readFileSync(`${String(after.Mounts[0]?.['Source'])}/marker`, 'utf8')).toBe('precious');
      expect(await names()).toEqual(['web']);
      const tagged = (await engine.call('GET', `/images/${encodeURIComponent(image('web'))}/json`)).body as {
        Id: string;
      };
      expect(tagged.Id).toBe(before.Image);
      expect(tagged.Id).not.toBe(imageIdOf(pushed));
    },
  );

  test('the last log lines of a version that failed are in the report', async () => {
    await stale('web', catalogue['plain-v1'], catalogue.crash);
    const { outcomes } = await update();
    expect(outcomes['web']?.log).toContain('boom');
  });

  test('containers that live in the network namespace of another move with it, also when they are not watched', async () => {
    const { next } = await stale('vpn', catalogue['plain-v1'], catalogue['plain-v2']);
    await push('app', webServer('app', { Cmd: ['sleep', '1000000'] }));
    await engine.pull(image('app'));
    await engine.run('app', image('app'), { StopTimeout: 1, HostConfig: { NetworkMode: 'container:vpn' } });
    const { run, outcomes } = await update('vpn');
    expect(run.code, run.stderr).toBe(0);
    expect(outcomes['vpn']?.outcome).toBe('updated');
    expect(outcomes['app']?.outcome).toBe('restarted');
    const vpn = (await engine.inspect('vpn'))!;
    const app = (await engine.inspect('app'))!;
    expect(vpn.Image).toBe(imageIdOf(next));
    expect(app.HostConfig['NetworkMode']).toBe(`container:${vpn.Id}`);
    expect(app.State.Running).toBe(true);
    expect(await names()).toEqual(['app', 'vpn']);
  });

  test('Podman: a container whose address may have been chosen is not begun, and it is said why', async (context) => {
    if (!isPodman) skipBecause(context, 'only Podman hides chosen addresses');
    await engine.call('POST', '/networks/create', { Name: 'own', IPAM: { Config: [{ Subnet: '10.87.0.0/24' }] } });
    const address = { own: { IPAMConfig: { IPv4Address: '10.87.0.10' } } };
    const { before } = await stale('web', catalogue['plain-v1'], catalogue['plain-v2'], {
      HostConfig: { NetworkMode: 'own' },
      NetworkingConfig: { EndpointsConfig: address },
    });
    const { outcomes } = await update();
    expect(outcomes['web']?.outcome).not.toBe('updated');
    expect(outcomes['web']?.reason).toContain('address');
    expect(await engine.inspect('web')).toMatchObject({ Id: before.Id, State: { Running: true } });
  });

  test('legacy links point at the successor', async (context) => {
    if (isPodman) skipBecause(context, 'Podman has no legacy links');
    const { next } = await stale('db', catalogue['plain-v1'], catalogue['plain-v2']);
    await push('app', webServer('app'));
    await engine.pull(image('app'));
    await engine.run('app', image('app'), { StopTimeout: 1, HostConfig: { Links: ['db:database'] } });
    const { outcomes, run } = await update();
    expect(outcomes, run.stderr).toMatchObject({ db: { outcome: 'updated' }, app: { outcome: 'restarted' } });
    expect((await engine.inspect('db'))?.Image).toBe(imageIdOf(next));
    expect((await engine.inspect('app'))?.HostConfig['Links']).toEqual(['/db:/app/database']);
  });

  test('--cleanup removes the image that nothing uses any more, and no other', async () => {
    const { before } = await stale('web', catalogue['plain-v1'], catalogue['plain-v2']);
    const second = await stale('kept', catalogue.v1, catalogue.v2);
    const stopped = await engine.create('stopped', second.before.Image);
    const { run } = await update('--cleanup');
    expect(run.code, run.stderr).toBe(0);
    expect((await engine.call('GET', `/images/${before.Image}/json`)).status).toBe(404);
    expect((await engine.call('GET', `/images/${second.before.Image}/json`)).status).toBe(200);
    expect((await engine.inspect(stopped))?.Image).toBe(second.before.Image);
  });

  test('an index is compared by what it holds for this platform', async () => {
    await pushIndex(registry, 'main/multi', 'stable', catalogue['plain-v1']);
    await engine.pull(image('multi'));
    await engine.run('multi', image('multi'));
    await pushIndex(registry, 'main/multi', 'stable', catalogue['plain-v1'], { attestations: true });
    const again = parse(await upkeep('check', '--json')) as { containers: Entry[] };
    expect(again.containers).toMatchObject([{ name: 'multi', status: 'fresh' }]);
    await pushIndex(registry, 'main/multi', 'stable', catalogue['plain-v2'], { attestations: true });
    expect((await update()).outcomes['multi']?.outcome).toBe('updated');
  });

  test('an image for another platform is never begun', async () => {
    const { before } = await stale('web', catalogue['plain-v1'], catalogue['plain-v1']);
    await pushIndex(registry, 'main/web', 'stable', catalogue['plain-v2'], {
      platforms: [{ os: 'linux', architecture: 'arm64' }],
    });
    const { outcomes } = await update();
    expect(outcomes['web']?.outcome).not.toBe('updated');
    expect(outcomes['web']?.reason).toMatch(/platform|amd64/);
    expect((await engine.inspect('web'))?.Id).toBe(before.Id);
  });

  test('update --dry-run says what would move and changes nothing', async () => {
    const { before } = await stale('web', catalogue['plain-v1'], catalogue['plain-v2']);
    const run = await upkeep('update', '--dry-run');
    expect(run.code, run.stderr).toBe(0);
    expect(run.stdout).toContain('web');
    expect((await engine.inspect('web'))?.Id).toBe(before.Id);
  });

  test('update --dry-run --verify creates each new container aside, compares it and takes it back', async () => {
    const { before, next } = await stale('web', catalogue['plain-v1'], catalogue['plain-v2'], {
      Volumes: { '/scratch': {} },
      HostConfig: { Binds: ['data:/data'], Memory: 64_000_000, RestartPolicy: { Name: 'always' } },
    });
    const volumes = async () => {
      const { body } = await engine.call('GET', '/volumes');
      return (body as { Volumes: { Name: string }[] }).Volumes.map(({ Name }) => Name).sort();
    };
    const volumesBefore = await volumes();
    const run = await upkeep('update', '--dry-run', '--verify', '--json');
    expect(run.code, run.stderr).toBe(0);
    expect(parse(run)).toMatchObject({ dry_run: true, verified: [{ containers: ['web'], faithful: true }] });
    const after = (await engine.inspect('web'))!;
    expect([after.Id, after.State.StartedAt]).toEqual([before.Id, before.State.StartedAt]);
    expect(await names()).toEqual(['web']);
    expect(await volumes()).toEqual(volumesBefore);
    const tagged = await engine.call('GET', `/images/${encodeURIComponent(image('web'))}/json`);
    expect((tagged.body as { Id: string }).Id).toBe(before.Image);
    expect((await engine.call('GET', `/images/${imageIdOf(next)}/json`)).status).toBe(200);
  });

  async function names(): Promise<string[]> {
    const { body } = await engine.call('GET', '/containers/json?all=1');
    return (body as { Names: string[] }[]).map(({ Names }) => (Names[0] ?? '').slice(1)).sort();
  }
});

function parse({ stdout, stderr }: UpkeepRun): unknown {
  try {
    return JSON.parse(stdout);
  } catch {
    throw new Error(`no JSON on standard output: ${stdout}\n${stderr}`);
  }
}

function ids({ body }: { readonly body: unknown }): string[] {
  return (body as { Id: string }[]).map(({ Id }) => Id);
}

function mounts({ Mounts }: Inspected): string[] {
  return Mounts.map(
    (mount) =>
      `${String(mount['Type'])} ${String(mount['Name'])} ${String(mount['Destination'])} ${String(mount['RW'])}`,
  ).sort();
}

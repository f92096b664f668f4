import { describe, expect, test } from 'vitest';
import { create, inspect, run, statusOf, type Body, type GetFixture, type Program } from './fixture.ts';

export function creatingRows(fixture: GetFixture): void {
  async function attempt(name: string, body: Body, program: Program = 'service') {
    const { engine, image } = fixture();
    return engine.createContainer(name, { body: { Image: image(program), ...body }, laterEndpoints: [] });
  }

  describe('createContainer(): what comes from the image', () => {
    test('settings that nobody asked for', async () => {
      await create(fixture(), 'one', 'defaults');
      expect((await inspect(fixture(), 'one')).settings.Config).toMatchObject({
        Env: ['PATH=/bin', 'FROM_IMAGE=1', 'BOTH=image'],
        Labels: { from: 'image', both: 'image' },
        ExposedPorts: { '8080/tcp': {} },
        WorkingDir: '/tmp',
        User: 'root',
        StopSignal: 'SIGTERM',
        Entrypoint: null,
      });
    });

    test('what was asked for comes first, the rest is added', async () => {
      await create(fixture(), 'one', 'defaults', {
        Env: ['BOTH=own', 'OWN=1'],
        Labels: { both: 'own', own: '1' },
        ExposedPorts: { '9090/tcp': {} },
        WorkingDir: '/etc',
        StopSignal: 'SIGINT',
      });
      expect((await inspect(fixture(), 'one')).settings.Config).toMatchObject({
        Env: ['BOTH=own', 'OWN=1', 'PATH=/bin', 'FROM_IMAGE=1'],
        Labels: { from: 'image', both: 'own', own: '1' },
        ExposedPorts: { '8080/tcp': {}, '9090/tcp': {} },
        WorkingDir: '/etc',
        StopSignal: 'SIGINT',
      });
    });

    test("an entrypoint of one's own drops the image's command", async () => {
      await create(fixture(), 'one', 'defaults', { Entrypoint: ['sleep'] });
      expect((await inspect(fixture(), 'one')).settings.Config).toMatchObject({ Entrypoint: ['sleep'], Cmd: null });
    });

    test("a command of one's own keeps the image's entrypoint", async () => {
      await create(fixture(), 'one', 'service', { Cmd: ['sleep', '1'] });
      expect((await inspect(fixture(), 'one')).settings.Config).toMatchObject({
        Entrypoint: null,
        Cmd: ['sleep', '1'],
      });
    });

    test('a health check takes from the image only what it leaves out', async () => {
      await create(fixture(), 'one', 'sick', { Healthcheck: { Retries: 7 } });
      expect((await inspect(fixture(), 'one')).settings.Config.Healthcheck).toEqual({
        Test: ['CMD-SHELL', 'echo sick; exit 1'],
        Interval: 100_000_000,
        Retries: 7,
      });
    });

    test('a volume for each path the image declares, named with 64 hex digits', async () => {
      await create(fixture(), 'one', 'storing', { Volumes: { '/more': {} } });
      const { Mounts, Config } = (await inspect(fixture(), 'one')).settings;
      expect(Config.Volumes).toEqual({ '/data': {}, '/more': {} });
      expect(Mounts.map(({ Type, Destination, RW }) => [Type, Destination, RW].join(' ')).toSorted()).toEqual([
        'volume /data true',
        'volume /more true',
      ]);
      for (const { Name } of Mounts) expect(Name).toMatch(/^[0-9a-f]{64}$/);
      expect(await fixture().volumes()).toHaveLength(2);
    });
  });

  describe('createContainer(): what was asked for', () => {
    test('the host name is the short id unless given', async () => {
      const id = await create(fixture(), 'one', 'service');
      await create(fixture(), 'two', 'service', { Hostname: 'own-name' });
      expect((await inspect(fixture(), 'one')).settings.Config.Hostname).toBe(id.slice(0, 12));
      expect((await inspect(fixture(), 'two')).settings.Config.Hostname).toBe('own-name');
    });

    test('nothing: the engine shows its defaults', async () => {
      await create(fixture(), 'one', 'service');
      const { HostConfig, Networks } = (await inspect(fixture(), 'one')).settings;
      expect(HostConfig).toMatchObject({
        Binds: null,
        PortBindings: null,
        AutoRemove: false,
        Privileged: false,
        LogConfig: { Type: 'json-file', Config: {} },
        ShmSize: 67_108_864,
        Memory: 0,
        Links: null,
        VolumesFrom: null,
      });
      expect(['default', 'bridge']).toContain(HostConfig.NetworkMode);
      expect(HostConfig.RestartPolicy).toMatchObject({ MaximumRetryCount: 0 });
      expect(['', 'no']).toContain(HostConfig.RestartPolicy?.Name);
      expect(Object.keys(Networks)).toEqual(['bridge']);
    });

    test('host settings stay as they are', async () => {
      const HostConfig = {
        RestartPolicy: { Name: 'on-failure', MaximumRetryCount: 3 },
        Memory: 64_000_000,
        MemorySwap: 128_000_000,
        CapAdd: ['NET_ADMIN'],
        CapDrop: ['MKNOD'],
        Dns: ['10.0.0.1'],
        ExtraHosts: ['db:10.0.0.2'],
        SecurityOpt: ['no-new-privileges'],
        ReadonlyRootfs: true,
        Init: true,
        Tmpfs: { '/scratch': 'size=1m' },
        Sysctls: { 'net.core.somaxconn': '1024' },
        LogConfig: { Type: 'json-file', Config: { 'max-size': '1m' } },
        PortBindings: { '80/tcp': [{ HostIp: '127.0.0.1', HostPort: '18099' }] },
      };
      await create(fixture(), 'one', 'service', { HostConfig });
      expect((await inspect(fixture(), 'one')).settings.HostConfig).toMatchObject(HostConfig);
    });

    test('named volumes and binds, with their modes', async () => {
      const Binds = ['named:/named:ro', '/tmp:/host'];
      const Mounts = [{ Type: 'volume', Source: 'other', Target: '/other' }];
      await create(fixture(), 'one', 'service', { HostConfig: { Binds, Mounts } });
      const { settings } = await inspect(fixture(), 'one');
      expect(settings.HostConfig).toMatchObject({ Binds, Mounts });
      const mounts = settings.Mounts.map(({ Type, Name, Destination, RW }) =>
        [Destination, Type, Name, RW].join(' '),
      ).toSorted();
      expect(mounts).toEqual(['/host bind  true', '/named volume named false', '/other volume other true']);
      expect((await fixture().volumes()).toSorted()).toEqual(['named', 'other']);
    });

    test('an anonymous volume of the image gives way to a mount at its path', async () => {
      await create(fixture(), 'one', 'storing', { HostConfig: { Binds: ['kept:/data'] } });
      expect((await inspect(fixture(), 'one')).settings.Mounts).toMatchObject([{ Name: 'kept', Destination: '/data' }]);
      expect(await fixture().volumes()).toEqual(['kept']);
    });

    test("another container's volumes, read-only where asked", async () => {
      await create(fixture(), 'source', 'storing');
      await create(fixture(), 'one', 'service', { HostConfig: { VolumesFrom: ['source:ro'] } });
      const [source] = (await inspect(fixture(), 'source')).settings.Mounts;
      const { Mounts, HostConfig } = (await inspect(fixture(), 'one')).settings;
      expect(Mounts).toMatchObject([{ Name: source?.Name, Destination: '/data', RW: false }]);
      expect(HostConfig.VolumesFrom).toEqual(['source:ro']);
    });

    test("another container's network: its name becomes its id", async () => {
      const target = await create(fixture(), 'target', 'service');
      await create(fixture(), 'one', 'service', {
        HostConfig: { NetworkMode: 'container:target', PidMode: 'container:target' },
      });
      const { HostConfig, Networks } = (await inspect(fixture(), 'one')).settings;
      expect(HostConfig).toMatchObject({ NetworkMode: `container:${target}`, PidMode: `container:${target}` });
      expect(Networks).toEqual({});
    });

    test('legacy links follow the container, not the name', async () => {
      await run(fixture(), 'db', 'service');
      await create(fixture(), 'web', 'service', { HostConfig: { Links: ['db:store'] } });
      const links = async () => (await inspect(fixture(), 'web')).settings.HostConfig.Links;
      expect(await links()).toEqual(['/db:/web/store']);
      await fixture().engine.renameContainer('db', 'db.parked');
      expect(await links()).toEqual(['/db.parked:/web/store']);
    });
  });

  describe('createContainer(): what it refuses', () => {
    test('a name that is taken: 409, and the holder keeps it', async () => {
      const id = await create(fixture(), 'one', 'service');
      const outcome = await attempt('one', {});
      expect(statusOf(outcome)).toBe('refused 409');
      expect(outcome).toMatchObject({ message: expect.stringContaining(id) });
      expect((await inspect(fixture(), 'one')).id).toBe(id);
    });

    test('all but one of those who want the same name at once', async () => {
      const outcomes = await Promise.all(Array.from({ length: 8 }, () => attempt('wanted', {})));
      expect(outcomes.map(statusOf).toSorted()).toEqual(['done', ...Array.from({ length: 7 }, () => 'refused 409')]);
      expect(await fixture().engine.listContainers({ namePrefix: 'wanted' })).toHaveLength(1);
    });

    test('an image that the engine does not have: 404', async () => {
      expect(statusOf(await attempt('one', { Image: 'nowhere.test/nothing:1' }))).toBe('refused 404');
      expect(statusOf(await attempt('one', { Image: `sha256:${'0'.repeat(64)}` }))).toBe('refused 404');
      expect(await fixture().engine.inspectContainer('one')).toBeUndefined();
    });

    test.each(['x', '-begins-with-a-dash', 'with space', 'with/slash', 'ünïcode'])('the name %j: 400', async (name) => {
      expect(statusOf(await attempt(name, {}))).toBe('refused 400');
    });

    test('no command at all: 400', async () => {
      expect(statusOf(await attempt('one', {}, 'silent'))).toBe('refused 400');
    });

    test('to restart what it is to remove: 400', async () => {
      const HostConfig = { AutoRemove: true, RestartPolicy: { Name: 'always' } };
      expect(statusOf(await attempt('one', { HostConfig }))).toBe('refused 400');
    });

    test.each([{ Name: 'sometimes' }, { Name: 'always', MaximumRetryCount: 2 }])(
      'the restart policy %j: 400',
      async (RestartPolicy) => {
        expect(statusOf(await attempt('one', { HostConfig: { RestartPolicy } }))).toBe('refused 400');
      },
    );

    test('volumes of a container that is gone: 400, and the name stays free', async () => {
      const outcome = await attempt('one', { HostConfig: { VolumesFrom: ['0123456789ab'] } });
      expect(statusOf(outcome)).toBe('refused 400');
      await create(fixture(), 'one', 'service');
    });

    test('a process namespace of a container that is gone: 400; a network of one only at the start', async () => {
      expect(statusOf(await attempt('one', { HostConfig: { PidMode: 'container:gone' } }))).toBe('refused 400');
      expect(statusOf(await attempt('one', { HostConfig: { NetworkMode: 'container:gone' } }))).toBe('done');
      expect(statusOf(await fixture().engine.startContainer('one'))).toMatch(/^refused (404|500)$/);
    });

    test.each([
      ['a host name', { Hostname: 'own' }],
      ['a port to publish', { HostConfig: { PortBindings: { '80/tcp': [{ HostPort: '18099' }] } } }],
      ['an exposed port', { ExposedPorts: { '80/tcp': {} } }],
    ])("%s in another container's network: 400", async (_, body: Body) => {
      await create(fixture(), 'target', 'service');
      const HostConfig = { ...body.HostConfig, NetworkMode: 'container:target' };
      expect(statusOf(await attempt('one', { ...body, HostConfig }))).toBe('refused 400');
    });

    test('several networks, below API 1.44', async () => {
      const { engine, addNetwork } = fixture();
      for (const name of ['blue', 'green']) await addNetwork(name);
      const outcome = await attempt('one', {
        HostConfig: { NetworkMode: 'blue' },
        NetworkingConfig: { EndpointsConfig: { blue: {}, green: {} } },
      });
      const { apiVersion } = await engine.info();
      expect(statusOf(outcome)).toBe(Number(apiVersion.split('.')[1]) < 44 ? 'refused 400' : 'done');
    });

    test('a platform that the image is not for: 404', async () => {
      const { engine, image } = fixture();
      const recipe = { body: { Image: image('service') }, laterEndpoints: [] };
      const platform = { os: 'linux', architecture: 's390x', variant: '' };
      expect(statusOf(await engine.createContainer('one', { ...recipe, platform }))).toBe('refused 404');
    });
  });
}

import { describe, expect, test } from 'vitest';
import { digestOf, idOf, inspectedContainer } from '../../../../test/support/scene/builders.ts';
import type { CreateBody } from '../../../../test/support/engine/engine-inspect.ts';
import { imageOf, networkOf, recipeScene } from '../../../../test/support/engine/recipe-scene.ts';
import type { Container, ContainerConfig, HostConfig, ImageConfig } from '../container.ts';
import { anonymousVolumeNames } from './volumes.ts';

const plain = imageOf('plain');

/** The body for the successor of a container that was created from `body` and an image with these `defaults`. */
function bodyOf(body: CreateBody, defaults: ImageConfig = {}, apiVersion = '1.41'): CreateBody {
  const image = imageOf('old', defaults);
  const { run, recipe } = recipeScene(apiVersion);
  return recipe(run(image, body), image).body;
}

function hostConfigOf(hostConfig: HostConfig, apiVersion?: string): HostConfig {
  return bodyOf({ HostConfig: hostConfig }, {}, apiVersion).HostConfig ?? {};
}

/** Settings as an older or another engine shows them. */
function withSettings(
  container: Container,
  {
    Config,
    HostConfig,
    ...rest
  }: { Config?: Partial<ContainerConfig>; HostConfig?: HostConfig } & Partial<
    Pick<Container['settings'], 'Mounts' | 'Networks'>
  >,
): Container {
  const { settings } = container;
  return {
    ...container,
    settings: {
      ...settings,
      ...rest,
      Config: { ...settings.Config, ...Config },
      HostConfig: { ...settings.HostConfig, ...HostConfig },
    },
  };
}

const inFront = { HostConfig: { NetworkMode: 'front' } };
const toBack = { networkId: networkOf('back').id, networkName: 'back', endpoint: { Aliases: ['b'] } };

describe('API version', () => {
  test('below 1.44 the create takes the main network, the others are connected by id afterwards', () => {
    const { run, recipe } = recipeScene('1.41');
    const { body, laterEndpoints } = recipe(run(plain, inFront, [toBack]), plain);
    expect(body.NetworkingConfig?.EndpointsConfig).toEqual({ front: {} });
    expect(laterEndpoints).toEqual([toBack]);
  });

  test('the main network is that of the mode, by name or id, in whatever order the engine lists them', () => {
    for (const NetworkMode of ['front', networkOf('front').id, networkOf('front').id.slice(0, 12)]) {
      const { run, recipe } = recipeScene('1.41');
      const container = run(
        plain,
        { HostConfig: { NetworkMode }, NetworkingConfig: { EndpointsConfig: { front: {} } } },
        [toBack],
      );
      const Networks = Object.fromEntries(Object.entries(container.settings.Networks).toReversed());
      const { body, laterEndpoints } = recipe(withSettings(container, { Networks }), plain);
      expect(body.NetworkingConfig?.EndpointsConfig).toEqual({ front: {} });
      expect(laterEndpoints).toEqual([toBack]);
    }
  });

  test('from 1.44 the create takes all networks', () => {
    const { run, recipe } = recipeScene('1.44');
    const { body, laterEndpoints } = recipe(run(plain, inFront, [toBack]), plain);
    expect(body.NetworkingConfig?.EndpointsConfig).toEqual({ front: {}, back: { Aliases: ['b'] } });
    expect(laterEndpoints).toEqual([]);
  });
});

describe('Hostname', () => {
  test('the short id is left to the engine, a chosen one is copied', () => {
    expect(bodyOf({})).not.toHaveProperty('Hostname');
    expect(bodyOf({ Hostname: 'box' }).Hostname).toBe('box');
  });

  test('is left out beside the namespaces of others, where the engine refuses it', () => {
    const { run, recipe } = recipeScene();
    const frozen = withSettings(run(plain, { HostConfig: { UTSMode: 'host' } }), { Config: { Hostname: 'frozen' } });
    expect(recipe(frozen, plain).body).not.toHaveProperty('Hostname');
    expect(bodyOf({ HostConfig: { NetworkMode: `container:${idOf('x')}` } })).not.toHaveProperty('Hostname');
  });

  test('on the host network the engine’s own name is left to the engine, another is copied', () => {
    expect(bodyOf({ HostConfig: { NetworkMode: 'host' } })).not.toHaveProperty('Hostname');
    expect(bodyOf({ Hostname: 'box', HostConfig: { NetworkMode: 'host' } }).Hostname).toBe('box');
  });
});

test('Domainname, Tty, OpenStdin, StdinOnce, Attach*, StopTimeout and NetworkDisabled are copied', () => {
  const body = {
    Domainname: 'example.org',
    Tty: true,
    OpenStdin: true,
    StdinOnce: true,
    AttachStdin: true,
    AttachStdout: false,
    AttachStderr: true,
    StopTimeout: 0,
    NetworkDisabled: true,
  };
  expect(bodyOf(body)).toMatchObject(body);
  expect(bodyOf({ StopTimeout: null }).StopTimeout).toBeNull();
});

test('Domainname is left out in another’s network, where the engine writes down that one’s', () => {
  const { run, recipe } = recipeScene();
  const container = run(plain, { HostConfig: { NetworkMode: `container:${idOf('x')}` } });
  expect(recipe(withSettings(container, { Config: { Domainname: 'of.it' } }), plain).body).not.toHaveProperty(
    'Domainname',
  );
});

describe('Env', () => {
  const defaults = { Env: ['PATH=/bin', 'A=1'] };

  test('what the image gave is left out; overrides, additions, empty and bare ones stay in their order', () => {
    const own = ['B=2', 'A=mine', 'EMPTY=', 'BARE'];
    expect(bodyOf({ Env: own }, defaults).Env).toEqual(own);
    expect(bodyOf({}, defaults)).not.toHaveProperty('Env');
    expect(bodyOf({ Env: ['A=1', 'B=2'] }, defaults).Env).toEqual(['B=2']);
  });

  test('of several lines for one name all stay, because the last is in force', () => {
    expect(bodyOf({ Env: ['A=2', 'A=1'] }, defaults).Env).toEqual(['A=2', 'A=1']);
  });

  test('an image’s name given twice is inherited whole, or its first beside own lines, as the engine does', () => {
    const twice = { Env: ['A=1', 'A=2'] };
    expect(bodyOf({}, twice)).not.toHaveProperty('Env');
    expect(bodyOf({ Env: ['B=1'] }, twice).Env).toEqual(['B=1']);
    expect(bodyOf({ Env: ['A=2'] }, twice).Env).toEqual(['A=2']);
  });
});

describe('Cmd/Entrypoint', () => {
  const defaults = { Entrypoint: ['entry'], Cmd: ['arg'] };
  const commandOf = (own: CreateBody, image: ImageConfig) => {
    const { Entrypoint, Cmd } = bodyOf(own, image);
    return { Entrypoint, Cmd };
  };

  test.each([
    ['both are the image’s', {}, defaults, {}],
    ['only Cmd is own', { Cmd: ['mine'] }, defaults, { Cmd: ['mine'] }],
    ['only Entrypoint is own: Cmd stays null', { Entrypoint: ['mine'] }, defaults, { Entrypoint: ['mine'], Cmd: null }],
    ['both are own', { Entrypoint: ['e'], Cmd: ['c'] }, defaults, { Entrypoint: ['e'], Cmd: ['c'] }],
    [
      'Entrypoint is the image’s and Cmd empty: without Entrypoint the engine would add the image’s Cmd',
      { Entrypoint: ['entry'] },
      defaults,
      { Entrypoint: ['entry'], Cmd: null },
    ],
    [
      '[""] resets, which is shown as null',
      { Entrypoint: [''], Cmd: ['c'] },
      defaults,
      { Entrypoint: [''], Cmd: ['c'] },
    ],
    ['[] resets too and is shown as such', { Entrypoint: [], Cmd: ['c'] }, defaults, { Entrypoint: [], Cmd: ['c'] }],
    ['an empty Cmd is not null', { Entrypoint: ['e'], Cmd: [] }, defaults, { Entrypoint: ['e'], Cmd: [] }],
    ['the image has no entrypoint', { Cmd: ['mine'] }, { Cmd: ['arg'] }, { Cmd: ['mine'] }],
    ['the image’s [""] is no entrypoint', {}, { Entrypoint: [''], Cmd: ['arg'] }, {}],
    ['the image has nothing', { Entrypoint: ['e'] }, { Cmd: null }, { Entrypoint: ['e'], Cmd: null }],
  ])('%s', (_, own, image, expected) => {
    expect(commandOf(own, image)).toEqual({ Entrypoint: undefined, Cmd: undefined, ...expected });
  });
});

test('User, WorkingDir and StopSignal are left out when they are the image’s or empty', () => {
  const defaults = { User: 'app', WorkingDir: '/app', StopSignal: 'SIGINT' };
  const own = { User: '1000', WorkingDir: '/srv', StopSignal: 'SIGQUIT' };
  expect(bodyOf(own, defaults)).toMatchObject(own);
  for (const field of Object.keys(own)) {
    expect(bodyOf({}, defaults)).not.toHaveProperty(field);
    expect(bodyOf({})).not.toHaveProperty(field);
  }
});

describe('Labels', () => {
  test('the image’s are left out, overrides, additions and compose’s stay', () => {
    const own = { a: 'mine', c: '', 'com.docker.compose.project': 'p', 'upkeep.enable': 'true' };
    expect(bodyOf({ Labels: { ...own, b: '1' } }, { Labels: { a: '1', b: '1' } }).Labels).toEqual(own);
  });

  test('an earlier journal goes, the new one comes', () => {
    const { run, recipe } = recipeScene();
    const container = run(plain, { Labels: { 'upkeep.tx.id': 'old', 'upkeep.tx.v': '1', 'upkeep.scope': 's' } });
    const { body } = recipe(container, plain, { journal: { 'upkeep.tx.id': 'new' } });
    expect(body.Labels).toEqual({ 'upkeep.scope': 's', 'upkeep.tx.id': 'new' });
  });

  test('com.docker.compose.image becomes the new image’s id, or compose would recreate the container', () => {
    const { run, recipe } = recipeScene();
    const container = run(plain, { Labels: { 'com.docker.compose.image': plain.id } });
    const { body } = recipe(container, plain, { newImageId: digestOf('new') });
    expect(body.Labels).toEqual({ 'com.docker.compose.image': digestOf('new') });
    expect(bodyOf({}).Labels).toEqual({});
  });

  test('names of the object prototype are mere names', () => {
    const Labels = JSON.parse('{"__proto__":"x","constructor":"y","toString":"z"}') as Record<string, string>;
    expect(Object.entries(bodyOf({ Labels }).Labels ?? {})).toEqual(Object.entries(Labels));
  });
});

describe('ExposedPorts', () => {
  test('the image’s are left out unless they are published: unexposed they silently would not be', () => {
    const defaults = { ExposedPorts: { '80/tcp': {}, '443/tcp': {} } };
    const body = { ExposedPorts: { '9/udp': {} }, HostConfig: { PortBindings: { '80/tcp': [{ HostPort: '8080' }] } } };
    expect(bodyOf(body, defaults).ExposedPorts).toEqual({ '9/udp': {}, '80/tcp': {} });
    expect(bodyOf({}, defaults)).not.toHaveProperty('ExposedPorts');
  });
});

describe('Volumes (anonymous)', () => {
  const defaults = { Volumes: { '/data': {} } };

  test('the image’s are left out, and each is pinned by name in HostConfig.Mounts', () => {
    const { run, recipe } = recipeScene();
    const image = imageOf('volumes', defaults);
    const container = run(image, { Volumes: { '/own': {} } });
    const { body } = recipe(container, image);
    const named = new Map(container.settings.Mounts.map(({ Destination, Name }) => [Destination, Name]));
    expect(body.Volumes).toEqual({ '/own': {} });
    expect(body.HostConfig?.Mounts).toEqual([
      { Type: 'volume', Source: named.get('/data'), Target: '/data' },
      { Type: 'volume', Source: named.get('/own'), Target: '/own' },
    ]);
    expect(body.Labels).toEqual({ 'upkeep.tx.anon': '["/data","/own"]' });
  });

  test('the data stays when the new image no longer declares the path, and the third generation is the second', () => {
    const { run, update, recipe } = recipeScene();
    const image = imageOf('volumes', defaults);
    const first = run(image);
    const second = update(first, image, plain);
    const third = update(second, plain);
    expect(second.settings.Mounts).toEqual([{ ...first.settings.Mounts[0], Mode: 'z' }]);
    expect(third.settings.Mounts).toEqual(second.settings.Mounts);
    expect(recipe(third, plain)).toEqual(recipe(second, plain));
    expect(third.settings.Config.Labels).toEqual({ 'upkeep.tx.anon': '["/data"]' });
  });

  test('a path that is a named volume, a bind or a tmpfs has none', () => {
    const hostConfig = {
      Binds: ['data:/data'],
      Tmpfs: { '/cache': '' },
      Mounts: [{ Type: 'volume', Source: 'm', Target: '/m' }],
    };
    const body = bodyOf({ HostConfig: hostConfig }, { Volumes: { '/data': {}, '/cache': {}, '/m': {} } });
    expect(body.HostConfig).toMatchObject(hostConfig);
    expect(body.Labels).toEqual({});
  });

  test('a mount without a source and a lone path in Binds get the name where they stand', () => {
    const { run, recipe } = recipeScene();
    const options = { NoCopy: true, Labels: { 'com.docker.volume.anonymous': '' } };
    const container = run(plain, {
      HostConfig: { Binds: ['/lone'], Mounts: [{ Type: 'volume', Target: '/m', VolumeOptions: options }] },
    });
    const named = new Map(container.settings.Mounts.map(({ Destination, Name }) => [Destination, Name]));
    const { body } = recipe(container, plain);
    expect(body.HostConfig?.Binds).toEqual([`${named.get('/lone')}:/lone`]);
    expect(body.HostConfig?.Mounts).toEqual([
      { Type: 'volume', Target: '/m', Source: named.get('/m'), VolumeOptions: options },
    ]);
    expect(body.Labels).toEqual({ 'upkeep.tx.anon': '["/lone","/m"]' });
  });

  test('Docker 28 hides the name of a lone path’s volume; the folder tells it, and without it nothing is begun', () => {
    const { run, recipe } = recipeScene();
    const container = run(plain, { HostConfig: { Binds: ['/lone'] } });
    const [{ Name, ...mount } = { Destination: '' }] = container.settings.Mounts;
    const nameless = withSettings(container, { Mounts: [mount] });
    expect(recipe(nameless, plain).body.HostConfig?.Binds).toEqual([`${Name}:/lone`]);
    const lost = withSettings(container, { Mounts: [{ ...mount, Source: '/elsewhere' }] });
    expect(() => recipe(lost, plain)).toThrow(
      'Cannot update "web": the engine does not report the name of the anonymous volume',
    );
  });

  test('what comes by volumes_from comes that way again, what could be own is kept', () => {
    const { run, recipe } = recipeScene();
    const container = run(plain, { Volumes: { '/own': {} }, HostConfig: { VolumesFrom: ['data'] } });
    const { Mounts } = container.settings;
    const shared = { ...Mounts[0], Destination: '/shared', Name: idOf('shared') };
    const { body } = recipe(withSettings(container, { Mounts: [...Mounts, shared] }), plain);
    expect(body.HostConfig?.Mounts?.map(({ Target }) => Target)).toEqual(['/own']);
  });

  test('a volume that nothing explains is kept, too', () => {
    const { run, recipe } = recipeScene();
    const container = run(plain);
    const Mounts = [{ Type: 'volume', Name: 'unexplained', Destination: '/there', RW: true }];
    const { body } = recipe(withSettings(container, { Mounts }), plain);
    expect(body.HostConfig?.Mounts).toEqual([{ Type: 'volume', Source: 'unexplained', Target: '/there' }]);
  });

  test('a read-only one stays so', () => {
    const { run, recipe } = recipeScene();
    const container = run(plain, { Volumes: { '/own': {} } });
    const Mounts = container.settings.Mounts.map((mount) => ({ ...mount, RW: false }));
    expect(recipe(withSettings(container, { Mounts }), plain).body.HostConfig?.Mounts).toMatchObject([
      { ReadOnly: true },
    ]);
  });

  test('fresh volumes: nothing is pinned, what an earlier update has pinned is let go, what is named stays', () => {
    const { run, update, recipe } = recipeScene();
    const image = imageOf('volumes', defaults);
    const first = run(image, {
      HostConfig: { Binds: ['/lone', 'kept:/kept'], Mounts: [{ Type: 'volume', Target: '/m' }] },
    });
    const second = update(first, image);
    for (const container of [first, second]) {
      const { HostConfig } = recipe(container, image, { freshVolumes: true }).body;
      expect(HostConfig?.Binds).toEqual(['/lone', 'kept:/kept']);
      expect(HostConfig?.Mounts?.every(({ Source }) => Source === undefined)).toBe(true);
    }
  });

  test('fresh volumes: also where Docker 28 hides their names, another volume is no difference then', () => {
    const { run, update, compare } = recipeScene();
    const first = run(plain, { HostConfig: { Binds: ['/lone'] } });
    const second = update(first, plain, plain, { freshVolumes: true });
    const nameless = (container: Container) =>
      withSettings(container, {
        Mounts: container.settings.Mounts.map(({ Name, ...mount }) => ({
          ...mount,
          Source: `/var/lib/docker/volumes/${Name}/_data`,
        })),
      });
    const others = new Map<string, string>();
    expect(compare(nameless(first), nameless(second), plain, plain, others, true)).toEqual([]);
    expect(compare(nameless(first), nameless(second), plain, plain, others, false)).not.toEqual([]);
  });

  test('fresh volumes: a label that calls a named volume anonymous is not believed', () => {
    const { run, recipe } = recipeScene();
    const Labels = { 'upkeep.tx.anon': '["/data","/m"]' };
    const Mounts = [{ Type: 'volume', Source: 'mine', Target: '/m' }];
    const container = run(plain, { Labels, HostConfig: { Binds: ['precious:/data'], Mounts } });
    expect(anonymousVolumeNames(container).size).toBe(0);
    const { HostConfig } = recipe(container, plain, { freshVolumes: true }).body;
    expect(HostConfig).toMatchObject({ Binds: ['precious:/data'], Mounts });
  });

  test('a remembered path without a volume is forgotten', () => {
    const { run, recipe } = recipeScene();
    const container = run(plain, {
      Labels: { 'upkeep.tx.anon': '["/gone","/named/"]' },
      HostConfig: { Binds: ['named:/named'] },
    });
    expect(recipe(container, plain).body.Labels).toEqual({ 'upkeep.tx.anon': '["/named/"]' });
  });

  test.each(['{', '{"a":1}', '[1,null]', 'null', `["${'x'.repeat(70_000)}"]`])(
    'a label of paths that is none (%.20s) is ignored',
    (text) => {
      expect(bodyOf({ Labels: { 'upkeep.tx.anon': text } }).Labels).toEqual({});
    },
  );
});

describe('Healthcheck', () => {
  const defaults = { Healthcheck: { Test: ['CMD', 'a'], Interval: 5, Timeout: 3, Retries: 2 } };

  test('is left out when it is the image’s', () => {
    expect(bodyOf({}, defaults)).not.toHaveProperty('Healthcheck');
    expect(bodyOf({})).not.toHaveProperty('Healthcheck');
  });

  test('only the fields that differ are sent, because 0 and [] inherit', () => {
    expect(bodyOf({ Healthcheck: { Interval: 9 } }, defaults).Healthcheck).toEqual({ Interval: 9 });
    expect(bodyOf({ Healthcheck: { Test: ['CMD', 'b'], Interval: 5 } }, defaults).Healthcheck).toEqual({
      Test: ['CMD', 'b'],
    });
  });

  test('["NONE"] is kept', () => {
    expect(bodyOf({ Healthcheck: { Test: ['NONE'] } }, defaults).Healthcheck).toEqual({ Test: ['NONE'] });
  });

  test('StartInterval is known from API 1.44 on', () => {
    const body = { Healthcheck: { Test: ['CMD', 'b'], StartInterval: 7 } };
    expect(bodyOf(body, defaults, '1.44').Healthcheck).toEqual({ Test: ['CMD', 'b'], StartInterval: 7 });
    expect(bodyOf(body, defaults, '1.43').Healthcheck).toEqual({ Test: ['CMD', 'b'] });
  });
});

test('OnBuild and ArgsEscaped are never copied; Shell is, since no container inherits one', () => {
  const body = bodyOf({ Shell: ['/bin/ash', '-c'], OnBuild: ['RUN x'], ArgsEscaped: true });
  expect(body['Shell']).toEqual(['/bin/ash', '-c']);
  expect(body).not.toHaveProperty('OnBuild');
  expect(body).not.toHaveProperty('ArgsEscaped');
});

describe('Config.MacAddress / EndpointSettings.MacAddress', () => {
  const mac = '02:11:22:33:44:55';

  test('below 1.44 it is in Config, and an endpoint shows what is in use', () => {
    const body = bodyOf({ MacAddress: mac });
    expect(body.MacAddress).toBe(mac);
    expect(body.NetworkingConfig?.EndpointsConfig).toEqual({ bridge: {} });
    expect(bodyOf({})).not.toHaveProperty('MacAddress');
  });

  test('from 1.44 what Config shows belongs to the main endpoint', () => {
    const body = bodyOf(
      { HostConfig: { NetworkMode: 'front' }, NetworkingConfig: { EndpointsConfig: { front: { MacAddress: mac } } } },
      {},
      '1.45',
    );
    expect(body).not.toHaveProperty('MacAddress');
    expect(body.NetworkingConfig?.EndpointsConfig).toEqual({ front: { MacAddress: mac } });
    expect(bodyOf({}, {}, '1.45').NetworkingConfig?.EndpointsConfig).toEqual({ bridge: {} });
  });

  test('from 1.44 a second network’s is kept unless it is derived from the IP address', () => {
    const chosen = { front: {}, back: { MacAddress: mac } };
    const bodyWith = (EndpointsConfig: object) =>
      bodyOf({ ...inFront, NetworkingConfig: { EndpointsConfig: { ...EndpointsConfig } } }, {}, '1.45');
    expect(bodyWith(chosen).NetworkingConfig?.EndpointsConfig).toEqual(chosen);
    expect(bodyWith({ front: {}, back: {} }).NetworkingConfig?.EndpointsConfig).toEqual({ front: {}, back: {} });
  });

  test('from 1.52 Config shows none, so that the main network is treated like the others', () => {
    const chosen = { front: { MacAddress: mac } };
    const body = bodyOf({ ...inFront, NetworkingConfig: { EndpointsConfig: chosen } }, {}, '1.52');
    expect(body.NetworkingConfig?.EndpointsConfig).toEqual(chosen);
  });

  test('a driver that takes no address gets none', () => {
    const networks = [{ ...networkOf('front'), driver: 'ipvlan' }];
    const { run, recipe } = recipeScene('1.52', { networks });
    const container = run(plain, { ...inFront, NetworkingConfig: { EndpointsConfig: { front: { MacAddress: mac } } } });
    expect(recipe(container, plain).body.NetworkingConfig?.EndpointsConfig).toEqual({ front: {} });
  });
});

describe('Links', () => {
  test('"/db:/web/alias" becomes "db:alias", in a fixed order', () => {
    expect(hostConfigOf({ Links: ['db:alias', 'cache:cache'] }).Links).toEqual(['cache:cache', 'db:alias']);
    expect(hostConfigOf({ Links: null })).not.toHaveProperty('Links');
  });

  test('to a container that is replaced they go by the successor’s id, because its name is not its own yet', () => {
    const { run, recipe } = recipeScene();
    const container = run(plain, { HostConfig: { Links: ['db:alias'] } });
    const replacedIds = new Map([['db', idOf('new db')]]);
    expect(recipe(container, plain, { replacedIds }).body.HostConfig?.Links).toEqual([`${idOf('new db')}:alias`]);
  });

  test('on a user-defined network they stay in the endpoint', () => {
    const endpoints = { front: { Links: ['db:alias'] } };
    expect(bodyOf({ ...inFront, NetworkingConfig: { EndpointsConfig: endpoints } }).NetworkingConfig).toEqual({
      EndpointsConfig: endpoints,
    });
  });
});

describe('NetworkMode', () => {
  test.each(['default', 'bridge', 'front', 'host', 'none'])('%s is kept', (mode) => {
    expect(hostConfigOf({ NetworkMode: mode }).NetworkMode).toBe(mode);
  });

  test('container: follows a replaced container to its successor', () => {
    const { run, recipe } = recipeScene();
    const container = run(plain, { HostConfig: { NetworkMode: `container:${idOf('vpn')}` } });
    const replacedIds = new Map([[idOf('vpn'), idOf('new vpn')]]);
    expect(recipe(container, plain, { replacedIds }).body.HostConfig?.NetworkMode).toBe(`container:${idOf('new vpn')}`);
    expect(recipe(container, plain).body.HostConfig?.NetworkMode).toBe(`container:${idOf('vpn')}`);
  });

  test('with container: what the engine refuses beside it is left out, even where the engine wrote it', () => {
    const { run, recipe } = recipeScene();
    const container = withSettings(
      run(imageOf('exposing', { ExposedPorts: { '80/tcp': {} } }), {
        HostConfig: { NetworkMode: `container:${idOf('x')}`, DnsSearch: ['a.b'] },
      }),
      {
        Config: { MacAddress: '02:11:22:33:44:55' },
        HostConfig: { PortBindings: {}, PublishAllPorts: false, Links: null, Dns: [], ExtraHosts: null },
      },
    );
    const { body } = recipe(container, plain);
    for (const field of ['Hostname', 'MacAddress', 'ExposedPorts']) expect(body).not.toHaveProperty(field);
    for (const field of ['PortBindings', 'PublishAllPorts', 'Links', 'Dns', 'ExtraHosts']) {
      expect(body.HostConfig).not.toHaveProperty(field);
    }
    expect(body.HostConfig?.['DnsSearch']).toEqual(['a.b']);
    expect(body.NetworkingConfig).toEqual({ EndpointsConfig: {} });
  });
});

describe('EndpointsConfig', () => {
  test.each(['host', 'none', `container:${idOf('x')}`])('there is none for %s', (mode) => {
    expect(bodyOf({ HostConfig: { NetworkMode: mode } }).NetworkingConfig).toEqual({ EndpointsConfig: {} });
  });

  test('what was asked for is sent, what the network gave is not', () => {
    const front = {
      Aliases: ['a'],
      IPAMConfig: { IPv4Address: '10.0.0.9' },
      DriverOpts: { o: '1' },
      GwPriority: 5,
      Unheard: 'of',
    };
    const body = { ...inFront, NetworkingConfig: { EndpointsConfig: { front } } };
    expect(bodyOf(body, {}, '1.51').NetworkingConfig?.EndpointsConfig).toEqual({ front });
  });

  test('the default bridge takes no aliases', () => {
    const { run, recipe } = recipeScene();
    const container = run(plain);
    const Networks = { bridge: { ...container.settings.Networks['bridge'], Aliases: ['a'] } };
    expect(recipe(withSettings(container, { Networks }), plain).body.NetworkingConfig).toEqual({
      EndpointsConfig: { bridge: {} },
    });
  });

  test('aliases: the own short id always goes, the host name below 1.45, where the engine adds it', () => {
    const body = { Hostname: 'box', ...inFront, NetworkingConfig: { EndpointsConfig: { front: { Aliases: ['a'] } } } };
    expect(bodyOf(body).NetworkingConfig).toEqual({ EndpointsConfig: { front: { Aliases: ['a'] } } });
    const withHostname = { ...body, NetworkingConfig: { EndpointsConfig: { front: { Aliases: ['a', 'box'] } } } };
    expect(bodyOf(withHostname, {}, '1.45').NetworkingConfig).toEqual(withHostname.NetworkingConfig);
  });

  test('an empty IPAMConfig is left out', () => {
    const endpoints = { front: { IPAMConfig: {} } };
    expect(bodyOf({ ...inFront, NetworkingConfig: { EndpointsConfig: endpoints } }).NetworkingConfig).toEqual({
      EndpointsConfig: { front: {} },
    });
  });

  test('a network that is gone is refused', () => {
    const { run, recipe, engine } = recipeScene();
    const container = run(plain, inFront);
    const networks = engine.networks.filter(({ name }) => name !== 'front');
    expect(() => recipe(container, plain, { networks })).toThrow(
      'Cannot update "web": its network "front" no longer exists',
    );
    const another = [...networks, { ...networkOf('front'), id: idOf('made again') }];
    expect(() => recipe(container, plain, { networks: another })).toThrow('no longer exists');
  });

  test('in an overlay network a running container is refused, because no engine can rename it there', () => {
    const { run, recipe, engine } = recipeScene();
    const container = run(plain, inFront);
    const networks = engine.networks.map((each) => (each.name === 'front' ? networkOf('front', 'overlay') : each));
    expect(() => recipe(container, plain, { networks })).toThrow(
      'Cannot update "web": it runs in the overlay network "front", in which engines cannot rename a running container',
    );
    const stopped = { ...container, state: { ...container.state, status: 'exited' as const } };
    expect(recipe(stopped, plain, { networks }).body.NetworkingConfig).toEqual({ EndpointsConfig: { front: {} } });
  });

  test('one that was never connected is found by name', () => {
    const { run, recipe } = recipeScene();
    const container = run(plain, inFront);
    const Networks = { front: { ...container.settings.Networks['front'], NetworkID: '' } };
    expect(recipe(withSettings(container, { Networks }), plain).body.NetworkingConfig).toEqual({
      EndpointsConfig: { front: {} },
    });
  });

  test('the default bridge goes by its name, because it gets another id whenever the engine starts', () => {
    const { run, recipe } = recipeScene();
    const bridge = { networkId: networkOf('bridge').id, networkName: 'bridge', endpoint: {} };
    const container = run(plain, inFront, [bridge]);
    const { Networks } = container.settings;
    const stale = { ...Networks, bridge: { ...Networks['bridge'], NetworkID: idOf('before the restart') } };
    expect(recipe(withSettings(container, { Networks: stale }), plain).laterEndpoints).toEqual([bridge]);
  });

  test('a container joined to another network than its mode’s is created in what is listed', () => {
    const body = { HostConfig: { NetworkMode: 'front' }, NetworkingConfig: { EndpointsConfig: { back: {} } } };
    expect(bodyOf(body).NetworkingConfig).toEqual({ EndpointsConfig: { back: {} } });
    expect(bodyOf(body, {}, '1.51').NetworkingConfig).toEqual({ EndpointsConfig: { back: {} } });
  });

  test('disconnected from everything is refused: an engine creates nothing like it', () => {
    const { run, recipe } = recipeScene();
    expect(() => recipe(withSettings(run(plain), { Networks: {} }), plain)).toThrow('disconnected from every network');
    expect(bodyOf({ NetworkDisabled: true }).NetworkingConfig).toEqual({ EndpointsConfig: {} });
  });
});

test('Binds vs Mounts: both are copied, modes and options included, never merged', () => {
  const hostConfig = {
    Binds: ['/srv:/srv:ro,z,rslave', 'named:/named:nocopy'],
    Mounts: [
      { Type: 'bind', Source: '/etc', Target: '/host', ReadOnly: true, BindOptions: { Propagation: 'rslave' } },
      { Type: 'tmpfs', Target: '/t', TmpfsOptions: { SizeBytes: 1024, Mode: 448 } },
      { Type: 'image', Source: 'img', Target: '/i', ImageOptions: { Subpath: 'x' } },
    ],
  };
  expect(hostConfigOf(hostConfig)).toMatchObject(hostConfig);
});

test('Mounts options: those of another type, which old engines stored and none takes, are dropped', () => {
  const Mounts = [
    { Type: 'bind', Source: '/a', Target: '/a', VolumeOptions: { NoCopy: true }, BindOptions: {} },
    { Type: 'volume', Source: 'v', Target: '/v', TmpfsOptions: {}, VolumeOptions: { NoCopy: true } },
  ];
  expect(hostConfigOf({ Mounts }).Mounts).toEqual([
    { Type: 'bind', Source: '/a', Target: '/a', BindOptions: {} },
    { Type: 'volume', Source: 'v', Target: '/v', VolumeOptions: { NoCopy: true } },
  ]);
});

describe('Sysctls', () => {
  const Sysctls = { 'net.ipv4.conf.eth0.log_martians': '1', 'net.core.somaxconn': '9' };

  test('are copied below 1.48', () => {
    expect(hostConfigOf({ Sysctls }, '1.47')['Sysctls']).toEqual(Sysctls);
  });

  test('from 1.48 those of an interface are refused, and others copied', () => {
    expect(() => hostConfigOf({ NetworkMode: 'front', Sysctls }, '1.48')).toThrow(
      'Cannot update "web": it has sysctls of a network interface',
    );
    const ofAll = { 'net.core.somaxconn': '9' };
    expect(hostConfigOf({ NetworkMode: 'front', Sysctls: ofAll }, '1.48')['Sysctls']).toEqual(ofAll);
  });
});

describe('VolumesFrom', () => {
  test('ids of replaced containers become their successors’, with the suffix; names and others stay', () => {
    const { run, recipe } = recipeScene();
    const [old, successor] = [idOf('data'), idOf('new data')];
    const container = run(plain, {
      HostConfig: { VolumesFrom: [`${old}:ro`, old.slice(0, 12), 'data', idOf('other')] },
    });
    const replacedIds = new Map([
      [old, successor],
      ['data', successor],
    ]);
    const { HostConfig } = recipe(container, plain, { replacedIds }).body;
    expect(HostConfig?.VolumesFrom).toEqual([`${successor}:ro`, successor, 'data', idOf('other')]);
  });

  test('the beginning of an id is an id, unless it is the name of a replaced container', () => {
    const { run, recipe } = recipeScene();
    const id = `cafe${idOf('data').slice(4)}`;
    const container = run(plain, { HostConfig: { VolumesFrom: [id.slice(0, 6), 'cafe:ro'] } });
    const replacedIds = new Map([
      [id, 'successor'],
      ['cafe', 'another'],
    ]);
    const { HostConfig } = recipe(container, plain, { replacedIds }).body;
    expect(HostConfig?.VolumesFrom).toEqual(['successor', 'cafe:ro']);
  });
});

test('DeviceRequests, Devices and DeviceCgroupRules are copied with all that is in them', () => {
  const hostConfig = {
    DeviceRequests: [
      { Driver: 'nvidia', Count: -1, DeviceIDs: null, Capabilities: [['gpu', 'compute']], Options: { a: 'b' } },
    ],
    Devices: [{ PathOnHost: '/dev/null', PathInContainer: '/dev/x', CgroupPermissions: 'rwm' }],
    DeviceCgroupRules: ['c 1:3 rwm'],
  };
  expect(hostConfigOf(hostConfig)).toMatchObject(hostConfig);
});

test('LogConfig, Runtime, CgroupnsMode, UsernsMode, Isolation and a field nobody has heard of are copied', () => {
  const hostConfig = {
    LogConfig: { Type: 'json-file', Config: { 'max-size': '1m', tag: '{{.Name}}' } },
    Runtime: 'runc',
    CgroupnsMode: 'private',
    UsernsMode: 'host',
    Isolation: 'default',
    Umask: 18,
    UnheardOf: { deep: [1, null] },
  };
  expect(hostConfigOf(hostConfig)).toMatchObject(hostConfig);
});

test('IpcMode and PidMode: container: follows a replaced container, all else is copied', () => {
  const { run, recipe } = recipeScene();
  const mode = `container:${idOf('x')}`;
  const container = run(plain, { HostConfig: { IpcMode: mode, PidMode: mode } });
  const replacedIds = new Map([[idOf('x'), idOf('y')]]);
  expect(recipe(container, plain, { replacedIds }).body.HostConfig).toMatchObject({
    IpcMode: `container:${idOf('y')}`,
    PidMode: `container:${idOf('y')}`,
  });
  expect(hostConfigOf({ IpcMode: 'shareable', PidMode: 'host' })).toMatchObject({
    IpcMode: 'shareable',
    PidMode: 'host',
  });
});

describe('MaskedPaths/ReadonlyPaths', () => {
  test.each(['1.41', '1.51'])(
    'the engine’s own list is left out, so that a newer engine masks more (API %s)',
    (api) => {
      expect(hostConfigOf({}, api)).not.toHaveProperty('MaskedPaths');
      expect(hostConfigOf({}, api)).not.toHaveProperty('ReadonlyPaths');
    },
  );

  test.each([
    ['an empty one is systempaths=unconfined', []],
    ['a custom one', ['/proc/kcore']],
  ])('%s is kept', (_, paths) => {
    expect(hostConfigOf({ MaskedPaths: paths, ReadonlyPaths: paths })).toMatchObject({
      MaskedPaths: paths,
      ReadonlyPaths: paths,
    });
  });

  test('newer masks, of which there is one per processor, are still the engine’s own', () => {
    const { run, recipe } = recipeScene('1.51');
    const container = run(plain);
    const MaskedPaths = [
      ...(container.settings.HostConfig['MaskedPaths'] as string[]),
      '/sys/devices/system/cpu/cpu11/thermal_throttle',
    ];
    expect(recipe(withSettings(container, { HostConfig: { MaskedPaths } }), plain).body.HostConfig).not.toHaveProperty(
      'MaskedPaths',
    );
    const more = withSettings(container, { HostConfig: { MaskedPaths: [...MaskedPaths, '/proc/mine'] } });
    expect(recipe(more, plain).body.HostConfig?.['MaskedPaths']).toContain('/proc/mine');
  });

  test('a privileged container has none', () => {
    expect(hostConfigOf({ Privileged: true })).not.toHaveProperty('MaskedPaths');
  });
});

describe('ConsoleSize, memory, processor', () => {
  test('ConsoleSize of nothing is left out, another is copied', () => {
    expect(hostConfigOf({})).not.toHaveProperty('ConsoleSize');
    expect(hostConfigOf({ ConsoleSize: [24, 80] })['ConsoleSize']).toEqual([24, 80]);
  });

  test('Memory and MemorySwap go together', () => {
    expect(hostConfigOf({ Memory: 64, MemorySwap: -1 })).toMatchObject({ Memory: 64, MemorySwap: -1 });
    expect(hostConfigOf({ Memory: 64 })).toMatchObject({ Memory: 64, MemorySwap: 128 });
  });

  test('KernelMemory is left out from 1.42', () => {
    expect(hostConfigOf({ KernelMemory: 9 }, '1.41')['KernelMemory']).toBe(9);
    expect(hostConfigOf({ KernelMemory: 9 }, '1.42')).not.toHaveProperty('KernelMemory');
  });

  test('OomKillDisable, MemorySwappiness, PidsLimit and BlkioWeight* are copied, null as null', () => {
    const none = { OomKillDisable: null, MemorySwappiness: null, PidsLimit: null, BlkioWeightDevice: null };
    expect(hostConfigOf(none)).toMatchObject(none);
    const some = {
      OomKillDisable: true,
      MemorySwappiness: 0,
      PidsLimit: 50,
      BlkioWeight: 300,
      BlkioWeightDevice: [{ Path: '/dev/a', Weight: 1 }],
    };
    expect(hostConfigOf(some)).toMatchObject(some);
  });

  test('NanoCpus excludes CpuPeriod and CpuQuota', () => {
    const withNano = hostConfigOf({ NanoCpus: 5, CpuPeriod: 1, CpuQuota: 2 });
    expect(withNano).not.toHaveProperty('CpuPeriod');
    expect(withNano).not.toHaveProperty('CpuQuota');
    expect(hostConfigOf({ CpuPeriod: 1, CpuQuota: 2 })).toMatchObject({ CpuPeriod: 1, CpuQuota: 2 });
  });
});

describe('RestartPolicy', () => {
  test.each(['always', 'unless-stopped', 'on-failure', 'no', ''])('%j becomes no until the commit', (Name) => {
    expect(hostConfigOf({ RestartPolicy: { Name, MaximumRetryCount: 3 } }).RestartPolicy).toEqual({
      Name: 'no',
      MaximumRetryCount: 0,
    });
  });

  test('is no also where the engine shows none', () => {
    const { recipe } = recipeScene();
    const container = inspectedContainer('web', { networks: { front: {} } });
    expect(recipe(container, plain).body.HostConfig?.RestartPolicy).toEqual({ Name: 'no', MaximumRetryCount: 0 });
  });

  test.each([null, true, false])('Init %j, Privileged, Cap* and SecurityOpt are copied', (Init) => {
    const hostConfig = {
      Init,
      Privileged: false,
      CapAdd: ['NET_ADMIN'],
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      AutoRemove: true,
    };
    expect(hostConfigOf(hostConfig)).toMatchObject(hostConfig);
  });
});

describe('Platform', () => {
  const platformOf = (
    parts: { architecture: string; variant?: string },
    engine = { os: 'linux', architecture: 'amd64', variant: '' },
  ) => {
    const { run, recipe } = recipeScene();
    const image = { ...plain, ...parts };
    return recipe(run(image), image, { enginePlatform: engine }).platform;
  };

  test('is passed only where the old image is for another machine than the engine’s', () => {
    expect(platformOf({ architecture: 'amd64' })).toBeUndefined();
    expect(platformOf({ architecture: 'arm', variant: 'v7' })).toEqual({
      os: 'linux',
      architecture: 'arm',
      variant: 'v7',
    });
    expect(platformOf({ architecture: '' })).toBeUndefined();
  });

  test('is the container’s own where the engine keeps images of several platforms under one id', () => {
    const { run, recipe } = recipeScene();
    const platform = { os: 'linux', architecture: '386', variant: '' };
    expect(recipe({ ...run(plain), platform }, plain).platform).toEqual(platform);
    const foreign = { ...plain, architecture: '386' };
    const own = { os: 'linux', architecture: 'amd64', variant: '' };
    expect(recipe({ ...run(foreign), platform: own }, foreign).platform).toBeUndefined();
  });

  test('another spelling or variant of the engine’s is no other machine', () => {
    expect(
      platformOf({ architecture: 'arm64', variant: 'v8' }, { os: 'linux', architecture: 'aarch64', variant: '' }),
    ).toBeUndefined();
    expect(
      platformOf({ architecture: 'arm', variant: 'v6' }, { os: 'linux', architecture: 'arm', variant: 'v7' }),
    ).toBeUndefined();
  });
});

test('Config.Image is the string that is asked for', () => {
  const { run, recipe } = recipeScene();
  expect(recipe(run(plain), plain, { image: 'repo@sha256:abc' }).body.Image).toBe('repo@sha256:abc');
});

test('without the configuration of the old image nothing can be told from its defaults: refused', () => {
  const { run, recipe } = recipeScene();
  const oldImage = { ...plain, isConfigUnknown: true as const };
  expect(() => recipe(run(plain), plain, { oldImage })).toThrow(
    'the engine does not know the configuration of the image it was created from',
  );
});

test('without the old image nothing can be told from its defaults: refused', () => {
  const { run, recipe } = recipeScene();
  expect(() => recipe(run(plain), plain, { oldImage: undefined })).toThrow(
    'Cannot update "web": the image it was created from is gone from the engine',
  );
});

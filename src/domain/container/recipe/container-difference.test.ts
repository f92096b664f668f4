import { describe, expect, test } from 'vitest';
import { idOf } from '../../../../test/support/scene/builders.ts';
import { imageOf, networkOf, recipeScene } from '../../../../test/support/engine/recipe-scene.ts';
import { differences } from './container-recipe.ts';
import type { Container, ContainerConfig, Endpoint, HostConfig } from '../container.ts';

const image = imageOf('old', {
  Env: ['PATH=/bin', 'MODE=old'],
  Labels: { version: '1' },
  Entrypoint: ['entry'],
  Volumes: { '/data': {} },
  ExposedPorts: { '80/tcp': {} },
  Healthcheck: { Test: ['CMD', 'a'], Interval: 5 },
});
const newImage = imageOf('new', {
  Env: ['PATH=/bin', 'MODE=new'],
  Labels: { version: '2' },
  Entrypoint: ['entry2'],
  Volumes: { '/data': {}, '/new': {} },
  User: 'app',
});
const scene = recipeScene('1.47');
const before = scene.run(image, {
  Env: ['PASSWORD=secret-before'],
  Cmd: ['--token=secret-before'],
  Labels: { auth: 'secret-before' },
  StopTimeout: 5,
  HostConfig: {
    NetworkMode: 'front',
    Binds: ['named:/named', '/lone'],
    Memory: 64,
    LogConfig: { Type: 'splunk', Config: { token: 'secret-before' } },
    PortBindings: { '80/tcp': [{ HostPort: '8080' }] },
    RestartPolicy: { Name: 'always' },
  },
  NetworkingConfig: { EndpointsConfig: { front: { Aliases: ['alias'], IPAMConfig: { IPv4Address: '10.0.0.9' } } } },
});
const after = scene.update(before, image);

type Change = Partial<Pick<Container['settings'], 'Mounts'>> & {
  readonly Config?: Partial<ContainerConfig>;
  readonly HostConfig?: HostConfig;
  readonly front?: Endpoint;
};

function changed(container: Container, { Config, HostConfig, front, ...rest }: Change): Container {
  const { settings } = container;
  const Networks = { ...settings.Networks, front: { ...settings.Networks['front'], ...front } };
  return {
    ...container,
    settings: {
      ...settings,
      Networks,
      ...rest,
      Config: { ...settings.Config, ...Config },
      HostConfig: { ...settings.HostConfig, ...HostConfig },
    },
  };
}

const fieldsOf = (change: Change) => scene.compare(before, changed(after, change), image).map(({ field }) => field);

describe('differences()', () => {
  test('are none between a container and its successor', () => {
    expect(scene.compare(before, after, image)).toEqual([]);
    expect(scene.compare(before, scene.update(before, image, newImage), image, newImage)).toEqual([]);
  });

  test.each<readonly [string, Change]>([
    ['Config.Image', { Config: { Image: 'another:1' } }],
    ['Config.Hostname', { Config: { Hostname: 'frozen' } }],
    ['Config.Domainname', { Config: { Domainname: 'example.org' } }],
    ['Config.User', { Config: { User: 'root' } }],
    ['Config.StopTimeout', { Config: { StopTimeout: 0 } }],
    ['Config.Env.PASSWORD', { Config: { Env: ['PATH=/bin', 'MODE=old'] } }],
    ['Config.Env.MODE', { Config: { Env: ['PASSWORD=secret-before', 'PATH=/bin'] } }],
    ['Config.Env.MORE', { Config: { Env: ['PASSWORD=secret-before', 'PATH=/bin', 'MODE=old', 'MORE='] } }],
    ['Config.Cmd', { Config: { Cmd: ['--token=other'] } }],
    ['Config.Entrypoint', { Config: { Entrypoint: null } }],
    ['Config.Labels.auth', { Config: { Labels: { version: '1' } } }],
    ['Config.Labels.more', { Config: { Labels: { version: '1', auth: 'secret-before', more: 'x' } } }],
    ['Config.ExposedPorts.80/tcp', { Config: { ExposedPorts: null } }],
    ['Config.Volumes./data', { Config: { Volumes: null } }],
    ['Config.Healthcheck.Interval', { Config: { Healthcheck: { Test: ['CMD', 'a'], Interval: 6 } } }],
    ['Config.Healthcheck.Test', { Config: { Healthcheck: { Test: ['CMD', 'b'], Interval: 5 } } }],
    ['Config.Unheard', { Config: { Unheard: 'of' } }],
    ['HostConfig.Memory', { HostConfig: { Memory: 0 } }],
    ['HostConfig.Unheard', { HostConfig: { Unheard: { of: 1 } } }],
    ['HostConfig.LogConfig', { HostConfig: { LogConfig: { Type: 'splunk', Config: {} } } }],
    ['HostConfig.Init', { HostConfig: { Init: false } }],
    ['HostConfig.MemorySwappiness', { HostConfig: { MemorySwappiness: 0 } }],
    ['HostConfig.NetworkMode', { HostConfig: { NetworkMode: 'back' } }],
    ['HostConfig.IpcMode', { HostConfig: { IpcMode: 'host' } }],
    ['HostConfig.PortBindings.80/tcp', { HostConfig: { PortBindings: {} } }],
    [
      'HostConfig.PortBindings.443/tcp',
      { HostConfig: { PortBindings: { '80/tcp': [{ HostPort: '8080' }], '443/tcp': [] } } },
    ],
    ['HostConfig.RestartPolicy', { HostConfig: { RestartPolicy: { Name: 'unless-stopped' } } }],
    ['HostConfig.Binds', { HostConfig: { Binds: ['named:/named'] } }],
    ['HostConfig.Mounts./m', { HostConfig: { Mounts: [{ Type: 'bind', Source: '/etc', Target: '/m' }] } }],
    ['HostConfig.MaskedPaths', { HostConfig: { MaskedPaths: [] } }],
    ['HostConfig.Sysctls', { HostConfig: { Sysctls: { 'net.ipv4.conf.eth0.log_martians': '1' } } }],
    ['HostConfig.Links', { HostConfig: { Links: ['/db:/web/db'] } }],
    ['HostConfig.VolumesFrom', { HostConfig: { VolumesFrom: ['data'] } }],
    ['HostConfig.AutoRemove', { HostConfig: { AutoRemove: true } }],
    ['Networks.front.Aliases', { front: { Aliases: [] } }],
    ['Networks.front.IPAMConfig', { front: { IPAMConfig: null } }],
    ['Networks.front.Links', { front: { Links: ['db:db'] } }],
    ['Networks.front.DriverOpts', { front: { DriverOpts: { o: '1' } } }],
    ['Networks.front.GwPriority', { front: { GwPriority: 1 } }],
    ['Networks.front.NetworkID', { front: { NetworkID: idOf('another') } }],
  ])('%s is reported', (field, change) => {
    expect(fieldsOf(change)).toEqual([field]);
  });

  test('a network too few or too many is reported', () => {
    const { settings } = after;
    const withNetworks = (Networks: Container['settings']['Networks']) =>
      scene.compare(before, { ...after, settings: { ...settings, Networks } }, image).map(({ field }) => field);
    expect(withNetworks({})).toEqual(['Networks.front']);
    expect(withNetworks({ ...settings.Networks, back: {} })).toEqual(['Networks.back']);
  });

  test('a path with another volume, or none, or shown otherwise is reported', () => {
    const { Mounts } = after.settings;
    const at = (path: string, change: object) =>
      Mounts.map((mount) => (mount.Destination === path ? { ...mount, ...change } : mount));
    expect(fieldsOf({ Mounts: at('/data', { Name: idOf('an empty one') }) })).toContain('Mounts./data');
    expect(fieldsOf({ Mounts: Mounts.filter(({ Destination }) => Destination !== '/named') })).toEqual([
      'Mounts./named',
    ]);
    expect(fieldsOf({ Mounts: at('/named', { RW: false }) })).toEqual(['Mounts./named']);
    expect(fieldsOf({ Mounts: at('/named', { Propagation: 'shared' }) })).toEqual(['Mounts./named']);
  });

  test('what was inherited and did not change with the image is reported', () => {
    const fields = scene.compare(before, after, image, newImage).map(({ field }) => field);
    expect(fields).toEqual(
      expect.arrayContaining([
        'Config.Env.MODE',
        'Config.Labels.version',
        'Config.Entrypoint',
        'Config.User',
        'Config.Volumes./new',
      ]),
    );
  });

  test('secrets are never shown: of variables, commands, labels and drivers only that they differ', () => {
    const other = changed(after, {
      Config: {
        Env: ['PASSWORD=secret-after', 'PATH=/bin', 'MODE=old'],
        Cmd: ['--token=secret-after'],
        Labels: { version: '1', auth: 'secret-after' },
      },
      HostConfig: {
        LogConfig: { Type: 'splunk', Config: { token: 'secret-after' } },
        UnheardOf: { key: 'secret-after' },
      },
    });
    const found = scene.compare(before, other, image);
    expect(found).toHaveLength(5);
    expect(JSON.stringify(found)).not.toContain('secret');
    expect(found[0]).toEqual({ field: 'Config.Env.PASSWORD', before: 'set', after: 'set to something else' });
  });

  test('foreign text is bounded and made safe to print', () => {
    const name = `\u001B[31m${'x'.repeat(500)}`;
    const Env = Array.from({ length: 100 }, (_, index) => `${index}${name}=1`);
    const found = scene.compare(before, changed(after, { Config: { User: name, Env } }), image);
    expect(found).toHaveLength(50);
    for (const { field, before: was, after: is } of found) {
      for (const text of [field, was, is]) expect(text.length).toBeLessThanOrEqual(120);
      expect(field + was + is).not.toContain('\u001B');
    }
  });

  test('an image that carries labels of a journal is reported, because they would look like ours', () => {
    const forged = imageOf('forged', { Labels: { 'upkeep.tx.name': 'db', 'upkeep.tx.helper': 'id' } });
    const plain = scene.run(imageOf('plain'));
    const successor = scene.update(plain, imageOf('plain'), forged);
    expect(scene.compare(plain, successor, imageOf('plain'), forged).map(({ field }) => field)).toEqual([
      'Config.Labels.upkeep.tx.helper',
    ]);
  });

  test('a link to a replaced container may go by any name', () => {
    const old = recipeScene('1.41', { containers: new Map([[idOf('new db'), 'db.upkeep-new']]) });
    const plain = imageOf('plain');
    const linked = old.run(plain, { HostConfig: { Links: ['db:alias', 'cache:cache'] } });
    const replacedIds = new Map([['db', idOf('new db')]]);
    const successor = old.update(linked, plain, plain, { replacedIds });
    expect(successor.settings.HostConfig.Links).toContain('/db.upkeep-new:/web/alias');
    expect(old.compare(linked, successor, plain, plain, replacedIds)).toEqual([]);
    expect(old.compare(linked, successor, plain).map(({ field }) => field)).toEqual(['HostConfig.Links']);
  });

  test('namespaces and volumes of a replaced container must be its successor’s', () => {
    const mode = `container:${idOf('vpn')}`;
    const plain = imageOf('plain');
    const replacedIds = new Map([[idOf('vpn'), idOf('new vpn')]]);
    const joined = scene.run(plain, {
      HostConfig: { NetworkMode: mode, IpcMode: mode, PidMode: mode, VolumesFrom: [idOf('vpn')] },
    });
    const successor = scene.update(joined, plain, plain, { replacedIds });
    expect(scene.compare(joined, successor, plain, plain, replacedIds)).toEqual([]);
    expect(
      scene
        .compare(joined, joined, plain, plain, replacedIds)
        .map(({ field }) => field)
        .sort(),
    ).toEqual(['HostConfig.IpcMode', 'HostConfig.NetworkMode', 'HostConfig.PidMode', 'HostConfig.VolumesFrom']);
  });

  test('an engine that was upgraded meanwhile shows the same settings in other words', () => {
    const [old, now] = [recipeScene('1.41'), recipeScene('1.51')];
    const plain = imageOf('plain');
    const body = { Hostname: 'box', HostConfig: { NetworkMode: 'default' }, MacAddress: '02:11:22:33:44:55' };
    const fromThen = old.run(plain, body);
    expect(now.compare(fromThen, now.update(fromThen, plain), plain)).toEqual([]);
    const inFront = old.run(plain, {
      HostConfig: { NetworkMode: 'front' },
      NetworkingConfig: { EndpointsConfig: { front: { Aliases: ['a'] } } },
    });
    expect(now.compare(inFront, now.update(inFront, plain), plain)).toEqual([]);
  });

  test.each([
    ['CgroupnsMode', '', 'private'],
    ['IpcMode', '', 'private'],
    ['Runtime', '', 'runc'],
    ['KernelMemory', 9, undefined],
  ])('an engine that was upgraded meanwhile fills %s in, or drops it', (field, was, is) => {
    const old = changed(before, { HostConfig: { [field]: was } });
    const successor = changed(scene.update(old, image), { HostConfig: { [field]: is } });
    expect(scene.compare(old, successor, image)).toEqual([]);
  });

  test.each(['CgroupnsMode', 'IpcMode', 'Runtime'])('a chosen %s must stay', (field) => {
    const old = changed(before, { HostConfig: { [field]: 'host' } });
    const successor = changed(scene.update(old, image), { HostConfig: { [field]: 'private' } });
    expect(scene.compare(old, successor, image).map((each) => each.field)).toEqual([`HostConfig.${field}`]);
  });

  test('a host that has another name now gives it to a container in its UTS namespace', () => {
    const [old, now] = [recipeScene('1.41', { engineName: 'former' }), recipeScene('1.41')];
    const plain = imageOf('plain');
    const named = old.run(plain, { HostConfig: { NetworkMode: 'host', UTSMode: 'host' } });
    expect(now.compare(named, now.update(named, plain), plain)).toEqual([]);
  });

  test.each([
    ['model:1', true],
    ['model:2', false],
  ])('a mounted image is compared by its reference, not by its path in the container: %s', (reference, isSame) => {
    const mounted = (container: typeof before, Source: string, path: string) => ({
      ...container,
      settings: {
        ...container.settings,
        HostConfig: { ...container.settings.HostConfig, Mounts: [{ Type: 'image', Source, Target: '/model/' }] },
        Mounts: [{ Type: 'image', Source: path, Destination: '/model', RW: false }],
      },
    });
    const found = scene.compare(mounted(before, 'model:1', '/lib/1'), mounted(after, reference, '/lib/2'), image);
    expect(found.some(({ field }) => field.includes('/model'))).toBe(!isSame);
  });

  test('a label of compose that comes from the image changes with it', () => {
    const label = 'com.docker.compose.image';
    const committed = (id: string) => imageOf(id, { Labels: { [label]: id } });
    const [one, two] = [committed('one'), committed('two')];
    const container = scene.run(one);
    expect(scene.compare(container, scene.update(container, one, two), one, two)).toEqual([]);
    expect(scene.compare(container, scene.update(container, one, imageOf('plain')), one, imageOf('plain'))).toEqual([]);
  });

  test.each([
    ['lacks them', {}],
    ['was built in another project', { 'com.docker.compose.project': 'ci', 'com.docker.compose.service': 'build' }],
  ])(
    'the labels of compose stay with a container of compose, also those of its image, and the new image %s',
    (_, given) => {
      const built = { 'com.docker.compose.project': 'shop', 'com.docker.compose.service': 'web', version: '1' };
      const own = { 'com.docker.compose.config-hash': 'abc', 'com.docker.compose.oneoff': 'False' };
      const [old, next] = [
        imageOf('built', { Labels: built }),
        imageOf('next', { Labels: { ...given, version: '2' } }),
      ];
      const container = scene.run(old, { Labels: own });
      const successor = scene.update(container, old, next);
      expect(successor.settings.Config.Labels).toEqual({ ...built, ...own, version: '2' });
      expect(scene.compare(container, successor, old, next)).toEqual([]);
      const lost = changed(successor, { Config: { Labels: { ...own, version: '2' } } });
      const fields = scene.compare(container, lost, old, next).map(({ field }) => field);
      expect(fields).toContain('Config.Labels.com.docker.compose.project');
    },
  );

  test('an image given by digest or id is another one for another image', () => {
    const pinned = changed(before, { Config: { Image: 'repo@sha256:1' } });
    expect(scene.compare(pinned, changed(after, { Config: { Image: 'repo@sha256:2' } }), image)).toEqual([]);
  });

  test('where another reference was asked for, that is the one to be found', () => {
    const update = scene.update(before, image, newImage, { image: 'noted:1' });
    const context = { oldImage: image, newImage, replacedIds: new Map<string, string>() };
    expect(differences(before, update, { ...context, reference: 'noted:1' })).toEqual([]);
    const unasked = scene.update(before, image, newImage);
    expect(differences(before, unasked, { ...context, reference: 'noted:1' })).toMatchObject([
      { field: 'Config.Image', before: 'noted:1', after: before.settings.Config.Image },
    ]);
  });

  test('the default bridge has another id whenever the engine starts', () => {
    const plain = imageOf('plain');
    const onBridge = scene.run(plain);
    const bridge = { ...onBridge.settings.Networks['bridge'], NetworkID: idOf('before the restart') };
    const stopped = { ...onBridge, settings: { ...onBridge.settings, Networks: { bridge } } };
    expect(scene.compare(stopped, scene.update(stopped, plain), plain)).toEqual([]);
  });

  test('a network that was never connected has no id yet', () => {
    const { EndpointID: _, ...front } = before.settings.Networks['front'] ?? {};
    expect(networkOf('front').id).toBe(front.NetworkID);
    expect(fieldsOf({ front: { NetworkID: '' } })).toEqual([]);
  });
});

import { describe, expect, test } from 'vitest';
import { inspectedContainer } from '../../test/support/scene/builders.ts';
import type { Container } from './container/container.ts';
import { addressIn, probeRoute } from './processes.ts';

type ProbeOrigin = Parameters<typeof probeRoute>[1];

const drivers = new Map([
  ['bridge', 'bridge'],
  ['front', 'bridge'],
  ['lan', 'macvlan'],
]);
const onHost: ProbeOrigin = { own: undefined, isElsewhere: false, reach: 'direct', drivers };
const inNetworks = (...names: readonly string[]): Container =>
  inspectedContainer('web', { networks: Object.fromEntries(names.map((name) => [name, {}])) });
const hostNetworked = inspectedContainer('web', { host: { NetworkMode: 'host' }, networks: { host: {} } });
const inside = (own: Container): ProbeOrigin => ({ ...onHost, own, reach: 'remote' });
const onHostNetwork: Container = { ...hostNetworked, id: 'upkeep' };
const upkeep = (...names: readonly string[]): Container => ({ ...inNetworks(...names), id: 'upkeep' });

describe('probeRoute()', () => {
  test.each<[string, Container, ProbeOrigin, object]>([
    ['the host reaches bridges', inNetworks('front', 'lan'), onHost, { names: ['front'] }],
    ['the host reaches its own network', hostNetworked, onHost, { kind: 'loopback' }],
    [
      'a container in its network is as good as the host',
      inNetworks('front'),
      inside(onHostNetwork),
      { names: ['front'] },
    ],
    ['and reaches it too', hostNetworked, inside(onHostNetwork), { kind: 'loopback' }],
    [
      'a container reaches what shares a network with it',
      inNetworks('front', 'lan'),
      inside(upkeep('lan')),
      { names: ['lan'] },
    ],
    [
      'whoever shares its network reaches it at home',
      inNetworks('none'),
      inside(inNetworks('none')),
      { kind: 'loopback' },
    ],
  ])('%s', (_, holder, viewpoint, expected) => {
    expect(probeRoute(holder, viewpoint)).toMatchObject(expected);
  });

  test.each<[string, Container, ProbeOrigin, string]>([
    [
      'of an engine on another host',
      inNetworks('front'),
      { ...onHost, reach: 'remote' },
      'the engine is on another host',
    ],
    ['of a rootless engine', inNetworks('front'), { ...onHost, reach: 'rootless' }, 'the engine is rootless'],
    ['in a virtual machine', hostNetworked, { ...onHost, reach: 'virtual-machine' }, 'a virtual machine'],
    ['from a container of another engine', inNetworks('front'), { ...onHost, isElsewhere: true }, 'of another engine'],
    ['of the host, from a container', hostNetworked, inside(upkeep('front')), 'it uses the network of the host'],
    ['in other networks', inNetworks('front'), inside(upkeep('bridge')), 'Upkeep is in none of its networks'],
    ['in networks without the host', inNetworks('lan', 'gone'), onHost, 'the host has no address in any'],
    ['without a network', inNetworks('none'), onHost, 'it has no network'],
    ['without any', inNetworks(), onHost, 'it has no network'],
  ])('refuses one %s', (_, holder, viewpoint, why) => {
    expect(probeRoute(holder, viewpoint)).toMatchObject({ kind: 'none', why: expect.stringContaining(why) });
  });
});

describe('addressIn()', () => {
  test('takes the first that is given, of either kind', () => {
    const holder = inspectedContainer('web', {
      networks: {
        a: { IPAddress: '' },
        b: { IPAddress: '', GlobalIPv6Address: 'fd00::2' },
        c: { IPAddress: '10.0.0.2' },
      },
    });
    expect(addressIn(holder, ['a', 'b', 'c'])).toBe('fd00::2');
    expect(addressIn(holder, ['a', 'elsewhere'])).toBeUndefined();
  });
});

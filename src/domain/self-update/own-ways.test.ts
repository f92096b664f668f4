import { describe, expect, test } from 'vitest';
import { containerSummary, inspectedContainer, type SummaryParts } from '../../../test/support/scene/builders.ts';
import type { ContainerReach } from '../container/container.ts';
import type { EngineRoute } from '../outside/outside.ts';
import { doubtfulWays, ownWays } from './own-ways.ts';

const socket = { source: '/var/run/docker.sock', target: '/var/run/docker.sock' };

function reach(parts: Partial<ContainerReach>): Pick<SummaryParts, 'reach'> {
  return { reach: { ports: [], networks: [], mounts: [], ...parts } };
}

const at = (address: string, id = 'net') => ({ id, address, gateway: '172.18.0.1' });
const published = (hostPort: number, hostAddress = '0.0.0.0', port = 2375) => ({
  protocol: 'tcp',
  port,
  hostPort,
  hostAddress,
});
const tcp = (host: string, port: number, peer?: string): EngineRoute => ({ kind: 'tcp', host, port, peer });

type Cast = Readonly<Record<string, SummaryParts>>;

/** Names of the containers on the way. Upkeep runs in `upkeep`, if the cast has it. */
function waysIn(cast: Cast, own: EngineRoute, others: readonly EngineRoute[] = []): readonly string[] {
  const containers = Object.entries(cast).map(([name, parts]) => containerSummary(name, parts));
  const ownId = containers.find(({ name }) => name === 'upkeep')?.id;
  const routes = { own, others: others.map((route) => ({ engine: 'nas', route })) };
  const ways = ownWays({ containers, ownId, routes });
  return containers.filter(({ id }) => ways.has(id)).map(({ name }) => name);
}

const web = reach({ ports: [published(8080, '0.0.0.0', 80)], networks: [at('172.18.0.9')] });

describe('ownWays()', () => {
  test.each<readonly [what: string, cast: Cast, own: EngineRoute, ways: readonly string[]]>([
    [
      'a published port, from the host',
      { web, proxy: reach({ ports: [published(2375, '127.0.0.1')], mounts: [socket] }) },
      tcp('127.0.0.1', 2375, '127.0.0.1'),
      ['proxy'],
    ],
    [
      'a published port of a remote engine',
      { web, door: reach({ ports: [published(2376, '0.0.0.0', 443)], mounts: [socket] }) },
      tcp('nas.lan', 2376, '192.168.1.5'),
      ['door'],
    ],
    [
      'a port that is published on another address',
      { other: reach({ ports: [published(2375, '10.0.0.1')] }) },
      tcp('nas.lan', 2375, '192.168.1.5'),
      [],
    ],
    [
      'the same port of another protocol',
      { dns: reach({ ports: [{ ...published(2375), protocol: 'udp' }] }) },
      tcp('127.0.0.1', 2375, '127.0.0.1'),
      [],
    ],
    [
      'a name in a shared network',
      {
        web,
        upkeep: reach({ networks: [at('172.18.0.3')] }),
        gate: reach({ networks: [at('172.18.0.2')], mounts: [socket] }),
      },
      tcp('socket-proxy', 2375, '172.18.0.2'),
      ['gate'],
    ],
    [
      'an address in a shared network, although someone else publishes the port',
      {
        upkeep: reach({ networks: [at('172.18.0.3')] }),
        gate: reach({ networks: [at('172.18.0.2')], mounts: [socket] }),
        dind: reach({ ports: [published(2375)], networks: [at('172.18.0.7')] }),
      },
      tcp('172.18.0.2', 2375, '172.18.0.2'),
      ['gate'],
    ],
    [
      'a published port by the address of the host, from a container',
      { upkeep: reach({ networks: [at('172.18.0.3')] }), gate: reach({ ports: [published(2375)], mounts: [socket] }) },
      tcp('host.docker.internal', 2375, '172.17.0.1'),
      ['gate'],
    ],
    [
      'the network of the proxy itself',
      {
        web,
        upkeep: { networkMode: 'container:gate' },
        gate: reach({ ports: [{ ...published(0), hostAddress: '' }], mounts: [socket] }),
      },
      tcp('127.0.0.1', 2375, '127.0.0.1'),
      ['gate'],
    ],
    [
      'a sidecar in our own network',
      {
        web,
        upkeep: reach({ networks: [at('172.18.0.3')] }),
        gate: { networkMode: 'container:upkeep', ...reach({ mounts: [socket] }) },
      },
      tcp('localhost', 2375, '127.0.0.1'),
      ['gate'],
    ],
    [
      'a proxy in the network of the host, whose ports no list shows',
      {
        netdata: { networkMode: 'host', ...reach({ mounts: [socket] }) },
        gate: { networkMode: 'host', image: 'tecnativa/docker-socket-proxy:1', ...reach({ mounts: [socket] }) },
      },
      tcp('127.0.0.1', 2375, '127.0.0.1'),
      ['gate'],
    ],
    [
      'a terminator of TLS, and the proxy behind it',
      {
        tls: reach({ ports: [published(2376, '0.0.0.0', 443)], networks: [at('172.20.0.2', 'inner')] }),
        gate: {
          image: 'wollomatic/socket-proxy:1',
          ...reach({ networks: [at('172.20.0.3', 'inner')], mounts: [socket] }),
        },
        portainer: reach({ networks: [at('172.20.0.4', 'inner')], mounts: [socket] }),
        apart: { image: 'other/socket-proxy:1', ...reach({ networks: [at('172.21.0.4', 'other')], mounts: [socket] }) },
      },
      tcp('nas.lan', 2376, '192.168.1.5'),
      ['tls', 'gate'],
    ],
    [
      'a socket that a proxy makes in a shared volume',
      {
        upkeep: reach({ mounts: [{ source: '/volumes/s/_data', target: '/proxy' }] }),
        gate: reach({ mounts: [{ source: '/volumes/s/_data', target: '/out' }, socket] }),
        reader: reach({ mounts: [{ source: '/volumes/s/_data', target: '/in' }] }),
      },
      { kind: 'socket', path: '/proxy/docker.sock' },
      ['gate'],
    ],
    [
      'a socket that a proxy makes in a folder of the host',
      {
        gate: reach({
          mounts: [
            { source: '/srv/proxy', target: '/out' },
            { source: '/run', target: '/host/run' },
          ],
        }),
        web,
      },
      { kind: 'socket', path: '/srv/proxy/engine.sock' },
      ['gate'],
    ],
    [
      'the socket of the engine itself',
      {
        upkeep: reach({ mounts: [socket] }),
        portainer: reach({ mounts: [socket] }),
        cadvisor: reach({ mounts: [{ source: '/var/run', target: '/var/run' }, socket] }),
      },
      { kind: 'socket', path: '/var/run/docker.sock' },
      [],
    ],
    [
      'a server of SSH',
      { web, ssh: reach({ ports: [published(2222, '0.0.0.0', 22)], mounts: [socket] }) },
      { kind: 'ssh', host: 'nas', port: 2222, peer: undefined },
      ['ssh'],
    ],
    [
      'a proxy that is stopped',
      { gate: { status: 'exited', ...reach({ ports: [published(2375)] }) } },
      tcp('127.0.0.1', 2375, '127.0.0.1'),
      [],
    ],
    [
      'an engine that listens itself',
      { web, portainer: { networkMode: 'host', ...reach({ mounts: [socket] }) } },
      tcp('nas.lan', 2376, '192.168.1.5'),
      [],
    ],
  ])('%s', (_, cast, own, ways) => {
    expect(waysIn(cast, own)).toEqual(ways);
  });

  const hostProxy = (name: string, config: object, image = 'acme/gate:1') =>
    [name, { networkMode: 'host', image, ...reach({ mounts: [socket] }) }, config] as const;

  test.each([
    ['the exposed port of its image', { ExposedPorts: { '2375/tcp': {} } }, true],
    ['a variable', { Env: ['PORT=2375'] }, true],
    ['a variable with an address to listen at', { Env: ['LISTEN=tcp://0.0.0.0:2375'] }, true],
    ['an argument', { Cmd: ['-listenip=0.0.0.0', '-proxyport=2375'] }, true],
    ['another port', { Env: ['PORT=12375'], ExposedPorts: { '23750/tcp': {} } }, false],
    ['the address of the engine, as a client has it', { Env: ['DOCKER_HOST=tcp://127.0.0.1:2375'] }, false],
    ['nothing', {}, false],
  ])('a proxy in the network of the host is known by %s', (_, config, isWay) => {
    const [name, parts] = hostProxy('gate', config);
    const containers = [containerSummary(name, parts), containerSummary('web', { networkMode: 'host' })];
    const routes = { own: tcp('127.0.0.1', 2375, '127.0.0.1'), others: [] };
    const facts = { containers, ownId: undefined, routes };
    const ids = containers.map(({ id }) => id);
    expect(doubtfulWays(facts)).toEqual(ids);
    const inspected = new Map([[ids[0]!, inspectedContainer(name, { config, mounts: [asMount(socket)] })]]);
    expect([...ownWays({ ...facts, inspected }).keys()]).toEqual(isWay ? [ids[0]] : []);
  });

  const asMount = ({ source, target }: typeof socket) => ({ Type: 'bind', Source: source, Destination: target });

  test('on Podman, whose list shows no mounts, what is near the entrance is inspected', () => {
    const containers = [
      containerSummary('upkeep', reach({ networks: [at('172.18.0.3')] })),
      containerSummary('gate', reach({ networks: [at('172.18.0.2')] })),
      containerSummary('apart', reach({ networks: [at('172.19.0.2', 'other')] })),
    ];
    const [upkeep, gate] = containers.map(({ id }) => id);
    const facts = { containers, ownId: upkeep, routes: { own: tcp('gate', 2375, '172.18.0.2'), others: [] } };
    expect(doubtfulWays(facts)).toEqual([gate]);
    const podman = { source: '/run/podman/podman.sock', target: '/sock' };
    const inspected = new Map([[gate!, inspectedContainer('gate', { mounts: [asMount(podman)] })]]);
    expect(ownWays({ ...facts, inspected }).get(gate!)).toEqual({
      reason: 'carries the connection of Upkeep to the engine',
      socketOf: gate,
    });
    expect(ownWays(facts).get(gate!)?.byHand).toContain('no mount of it has the socket');
  });

  test('on Podman, whose list shows no network of the host, its proxies are found by an inspection', () => {
    const onHost = { networkMode: '', ...reach({ mounts: [{ source: '/tmp', target: '/x' }] }) };
    const containers = [
      containerSummary('upkeep', onHost),
      containerSummary('gate', onHost),
      containerSummary('web', reach({ networks: [at('10.88.0.2')] })),
    ];
    const [upkeep, gate] = containers.map(({ id }) => id);
    const routes = { own: tcp('127.0.0.1', 2375, '127.0.0.1'), others: [] };
    const facts = { containers, ownId: upkeep, routes };
    expect(doubtfulWays(facts)).toEqual([upkeep, gate]);
    const host = { NetworkMode: 'host' };
    const inspected = new Map([
      [upkeep!, inspectedContainer('upkeep', { host })],
      [gate!, inspectedContainer('gate', { host, config: { Env: ['LISTEN=2375'] }, mounts: [asMount(socket)] })],
    ]);
    expect([...ownWays({ ...facts, inspected }).keys()]).toEqual([gate]);
  });

  test.each<readonly [what: string, own: EngineRoute, cast: Cast]>([
    [
      'the socket of the engine',
      { kind: 'socket', path: '/var/run/docker.sock' },
      { gate: reach({ mounts: [socket] }) },
    ],
    [
      'a published port',
      tcp('127.0.0.1', 2375, '127.0.0.1'),
      { gate: reach({ ports: [published(2375)], mounts: [socket] }) },
    ],
  ])('nothing is inspected for %s', (_, own, cast) => {
    const containers = Object.entries(cast).map(([name, parts]) => containerSummary(name, parts));
    expect(doubtfulWays({ containers, ownId: undefined, routes: { own, others: [] } })).toEqual([]);
  });

  test('a helper gets the socket from the way itself, or from the proxy behind it', () => {
    const containers = [
      containerSummary('upkeep', reach({ networks: [at('172.18.0.3')] })),
      containerSummary('tls', reach({ networks: [at('172.18.0.4'), at('172.20.0.2', 'inner')] })),
      containerSummary('gate', reach({ networks: [at('172.20.0.3', 'inner')], mounts: [socket] })),
    ];
    const [upkeep, tls, gate] = containers.map(({ id }) => id);
    const routes = { own: tcp('tls', 2376, '172.18.0.4'), others: [] };
    const ways = ownWays({ containers, ownId: upkeep, routes });
    expect([...ways].map(([id, { socketOf, byHand }]) => [id, socketOf, byHand])).toEqual([
      [tls, gate, undefined],
      [gate, gate, undefined],
    ]);
    const outside = ownWays({ containers, ownId: undefined, routes });
    expect(outside.get(gate!)?.byHand).toContain('does not run in a container of this engine');
  });

  const inner = (last: number, name = 'inner') => at(`172.20.0.${last}`, name);
  const entrance = (...networks: ContainerReach['networks']) =>
    reach({ ports: [published(2376, '0.0.0.0', 443)], networks });
  const holder = (last: number, name = 'inner') => ({
    image: 'acme/app:1',
    ...reach({ networks: [inner(last, name)], mounts: [socket] }),
  });

  /** The ways, where the inspections that they ask for show these settings. */
  function foundWith(facts: Parameters<typeof doubtfulWays>[0], settings: Readonly<Record<string, object>>) {
    const doubtful = new Set(doubtfulWays(facts));
    const seen = facts.containers.filter(({ id }) => doubtful.has(id));
    const inspected = seen.map(({ id, name, reach: shown }) => {
      const container = inspectedContainer(name, {
        config: settings[name] ?? {},
        mounts: shown?.mounts.map(asMount) ?? [],
      });
      return [id, container] as const;
    });
    return ownWays({ ...facts, inspected: new Map(inspected) });
  }

  test.each<readonly [what: string, cast: Cast, settings: Readonly<Record<string, object>>, ways: readonly string[]]>([
    [
      'two proxies in one network, by a variable and an argument',
      { tls: entrance(inner(2)), hop: reach({ networks: [inner(3)] }), core: holder(4), portainer: holder(5), web },
      { tls: { Env: ['BACKEND=hop:2375'] }, hop: { Cmd: ['TCP-LISTEN:2375,fork', 'TCP:core:2375'] } },
      ['tls', 'hop', 'core'],
    ],
    [
      'names of compose services, addresses and ids',
      {
        tls: entrance(inner(2)),
        'shop-hop-1': { labels: { 'com.docker.compose.service': 'hop' }, ...reach({ networks: [inner(3)] }) },
        core: holder(4),
        portainer: holder(5),
      },
      { tls: { Env: ['TO=http://hop:80'] }, 'shop-hop-1': { Env: ['DOCKER_HOST=tcp://172.20.0.4:2375'] } },
      ['tls', 'shop-hop-1', 'core'],
    ],
    [
      'a port of the host',
      {
        tls: entrance(inner(2)),
        core: reach({ ports: [published(12375)], networks: [at('172.31.0.2', 'apart')], mounts: [socket] }),
        portainer: holder(5),
      },
      { tls: { Cmd: ['--upstream', 'http://host.docker.internal:12375'] } },
      ['tls', 'core'],
    ],
    [
      'a socket that another container makes, by its volume',
      {
        tls: reach({ ports: [published(2376)], mounts: [{ source: '/volumes/s/_data', target: '/in' }] }),
        core: reach({ mounts: [{ source: '/volumes/s/_data', target: '/out' }, socket] }),
        backup: reach({ mounts: [{ source: '/volumes/s/_data', target: '/s' }] }),
      },
      { tls: { Env: ['SOCKET_PATH=/in/engine.sock'] } },
      ['tls', 'core'],
    ],
    [
      'a socket that another container makes, although its name is that of an engine',
      {
        tls: reach({
          ports: [published(2376)],
          mounts: [{ source: '/srv/proxied/docker.sock', target: '/var/run/docker.sock' }],
        }),
        core: reach({ mounts: [{ source: '/srv/proxied', target: '/out' }, socket] }),
        portainer: reach({ mounts: [socket] }),
      },
      {},
      ['tls', 'core'],
    ],
    [
      'settings that say nothing: the fewest networks, and what is between',
      {
        tls: entrance(inner(2, 'a')),
        hop: reach({ networks: [inner(3, 'a'), inner(3, 'b')] }),
        core: holder(4, 'b'),
        web: reach({ networks: [inner(9, 'a')] }),
        apart: holder(5, 'c'),
      },
      { tls: { Env: ['MODE=tcp', 'REDIS=web:6379'] } },
      ['tls', 'hop', 'core'],
    ],
  ])('the hops behind an entrance without the socket: %s', (_, cast, settings, ways) => {
    const containers = Object.entries(cast).map(([name, parts]) => containerSummary(name, parts));
    const routes = { own: tcp('nas.lan', 2376, '192.168.1.5'), others: [] };
    const facts = { containers, ownId: undefined, routes };
    const found = foundWith(facts, settings);
    expect(containers.flatMap(({ id, name }) => (found.has(id) ? [name] : []))).toEqual(ways);
  });

  test('a relay that makes our socket, and the proxy behind it; another client of the socket is none', () => {
    const volume = (target: string) => ({ source: '/volumes/s/_data', target });
    const cast: Cast = {
      upkeep: reach({ networks: [at('172.18.0.3')], mounts: [volume('/proxied')] }),
      relay: reach({ networks: [inner(2)], mounts: [volume('/made')] }),
      core: holder(3),
      portainer: holder(4),
      client: reach({ networks: [inner(5)], mounts: [volume('/in')] }),
    };
    const settings: Readonly<Record<string, object>> = {
      relay: { Cmd: ['UNIX-LISTEN:/made/engine.sock,fork', 'TCP:core:2375'] },
      client: { Env: ['DOCKER_HOST=unix:///in/engine.sock'] },
    };
    const containers = Object.entries(cast).map(([name, parts]) => containerSummary(name, parts));
    const routes = { own: { kind: 'socket', path: '/proxied/engine.sock' } as const, others: [] };
    const facts = { containers, ownId: containers[0]!.id, routes };
    const found = foundWith(facts, settings);
    expect(containers.flatMap(({ id, name }) => (found.has(id) ? [[name, found.get(id)?.socketOf]] : []))).toEqual([
      ['relay', containers[2]!.id],
      ['core', containers[2]!.id],
    ]);
  });

  const local: EngineRoute = { kind: 'socket', path: '/var/run/docker.sock' };

  const beside = (owner: string, parts: SummaryParts = {}) => ({ networkMode: `container:${owner}`, ...parts });
  const client = { Env: ['DOCKER_HOST=tcp://localhost:2375'] };

  test.each<
    readonly [
      what: string,
      cast: Cast,
      own: EngineRoute,
      settings: Readonly<Record<string, object>>,
      ways: readonly string[],
    ]
  >([
    [
      'a proxy there, by the name of the network',
      {
        vpn: reach({ networks: [inner(2)] }),
        'socket-proxy': beside('vpn', reach({ mounts: [socket] })),
        torrent: beside('vpn'),
        diun: beside('vpn'),
        portainer: reach({ mounts: [socket], networks: [inner(5, 'apart')] }),
      },
      tcp('vpn', 2375, '172.20.0.2'),
      { diun: client, torrent: { Env: ['WEBUI_PORT=8080'] } },
      ['vpn', 'socket-proxy'],
    ],
    [
      'a proxy there, by a published port',
      {
        vpn: reach({ ports: [published(2375), published(8080, '0.0.0.0', 8080)], networks: [inner(2)] }),
        'socket-proxy': beside('vpn', reach({ mounts: [socket] })),
        torrent: beside('vpn'),
      },
      tcp('192.168.1.5', 2375, '192.168.1.5'),
      {},
      ['vpn', 'socket-proxy'],
    ],
    [
      'a terminator in the network of the proxy',
      {
        gate: reach({ ports: [published(2376, '0.0.0.0', 2376)], networks: [inner(2)], mounts: [socket] }),
        tls: beside('gate'),
        diun: beside('gate'),
      },
      tcp('gate', 2376, '172.20.0.2'),
      { tls: { Env: ['TARGET=localhost:2375', 'LISTEN=0.0.0.0:2376'] }, diun: client },
      ['gate', 'tls'],
    ],
    [
      'a terminator at another port than the published one',
      {
        gate: reach({ ports: [published(2376, '0.0.0.0', 443)], networks: [inner(2)], mounts: [socket] }),
        tls: beside('gate'),
      },
      tcp('nas.lan', 2376, '192.168.1.5'),
      { tls: { ExposedPorts: { '443/tcp': {} } } },
      ['gate', 'tls'],
    ],
    [
      'the proxy itself, although a terminator is there for others',
      { gate: reach({ networks: [inner(2)], mounts: [socket] }), tls: beside('gate'), diun: beside('gate') },
      tcp('gate', 2375, '172.20.0.2'),
      { tls: { Cmd: ['--target', 'localhost:2375', '--listen', '0.0.0.0:2376'] }, diun: client },
      ['gate'],
    ],
    [
      'a terminator there, and the proxy behind it',
      {
        ts: reach({ ports: [published(2376, '0.0.0.0', 2376)], networks: [inner(2)] }),
        caddy: beside('ts'),
        torrent: beside('ts'),
        core: holder(3),
        portainer: holder(4),
      },
      tcp('192.168.1.5', 2376, '192.168.1.5'),
      { caddy: { Env: ['TO=core:2375'] } },
      ['ts', 'caddy', 'core'],
    ],
    [
      'a terminator before it, and the proxy there',
      {
        tls: entrance(inner(2)),
        vpn: reach({ networks: [inner(3)] }),
        core: beside('vpn', { image: 'acme/app:1', ...reach({ mounts: [socket] }) }),
        torrent: beside('vpn'),
        portainer: holder(5),
      },
      tcp('nas.lan', 2376, '192.168.1.5'),
      { tls: { Env: ['BACKEND=vpn:2375'] } },
      ['tls', 'vpn', 'core'],
    ],
  ])('the network of another container: %s', (_, cast, own, settings, ways) => {
    const containers = Object.entries(cast).map(([name, parts]) => containerSummary(name, parts));
    const found = foundWith({ containers, ownId: undefined, routes: { own, others: [] } }, settings);
    expect(containers.flatMap(({ id, name }) => (found.has(id) ? [name] : []))).toEqual(ways);
  });

  test('a tunnel to another engine in the network of another container', () => {
    const cast: Cast = {
      upkeep: reach({ networks: [inner(9)], mounts: [socket] }),
      ts: reach({ networks: [inner(2)] }),
      relay: beside('ts'),
      torrent: beside('ts'),
    };
    const containers = Object.entries(cast).map(([name, parts]) => containerSummary(name, parts));
    const others = [{ engine: 'nas', route: tcp('ts', 2375, '172.20.0.2') }];
    const facts = { containers, ownId: containers[0]!.id, routes: { own: local, others } };
    const found = foundWith(facts, { relay: { Cmd: ['TCP-LISTEN:2375,fork', 'TCP:nas:9000'] } });
    expect(containers.flatMap(({ id, name }) => (found.has(id) ? [name] : []))).toEqual(['ts', 'relay']);
  });

  test.each<readonly [what: string, cast: Cast, settings: Readonly<Record<string, object>>, ways: readonly string[]]>([
    [
      'a tunnel behind a TLS terminator, known by its image',
      { tls: entrance(inner(2)), far: { image: 'jnovack/autossh', ...reach({ networks: [inner(3)] }) }, web },
      { tls: { Env: ['BACKEND=far:9000'] } },
      ['tls', 'far'],
    ],
    [
      'two hops, the last with the address of an engine',
      {
        tls: entrance(inner(2)),
        relay: reach({ networks: [inner(3), inner(2, 'deep')] }),
        last: reach({ networks: [inner(3, 'deep')] }),
        app: reach({ networks: [inner(4)] }),
      },
      {
        tls: { Cmd: ['TCP:relay:9000'] },
        relay: { Env: ['TARGET=last:9001'] },
        last: { Cmd: ['TCP:nas.lan:2376'] },
      },
      ['tls', 'relay', 'last'],
    ],
    [
      'a hop that opens the port of an engine',
      { tls: entrance(inner(2)), gate: reach({ ports: [{ ...published(0), port: 2375 }], networks: [inner(3)] }) },
      { tls: { Env: ['BACKEND=172.20.0.3:2375'] } },
      ['tls', 'gate'],
    ],
    [
      'a reverse proxy whose applications are none',
      { tls: entrance(inner(2)), app: reach({ networks: [inner(3)] }), chat: reach({ networks: [inner(4)] }) },
      { tls: { Env: ['BACKEND=nas.lan:2376', 'APPS=app:8080,chat:3000'] } },
      ['tls'],
    ],
    [
      'the socket proxy of this engine, which has the port of the other one',
      {
        tls: entrance(inner(2)),
        proxy: { ...reach({ ports: [published(2375)], networks: [inner(3)], mounts: [socket] }) },
      },
      { tls: { Env: ['BACKEND=192.168.1.9:2375', 'DOCKER_HOST=tcp://proxy:2375'] } },
      ['tls'],
    ],
    [
      'a tunnel in the network of the host',
      { tunnel: { networkMode: 'host' }, web: { networkMode: 'host' }, 'haproxy-of-home': { networkMode: 'host' } },
      { tunnel: { Cmd: ['-N', '-L', '127.0.0.1:2376:/var/run/docker.sock', 'nas'] }, web: { Env: ['PORT=8080'] } },
      ['tunnel'],
    ],
    [
      'a terminator and a tunnel in the network of the host, and a client',
      { tls: { networkMode: 'host' }, autossh: { networkMode: 'host' }, client: { networkMode: 'host' } },
      {
        tls: { Env: ['LISTEN=2376', 'BACKEND=127.0.0.1:9000'] },
        autossh: { Cmd: ['-L', '9000:/var/run/docker.sock', 'nas'] },
        client: { Env: ['DOCKER_HOST=tcp://127.0.0.1:2376'] },
      },
      ['tls', 'autossh'],
    ],
  ])('the hops to another engine: %s', (_, cast, settings, ways) => {
    const containers = Object.entries(cast).map(([name, parts]) => containerSummary(name, parts));
    const others = [{ engine: 'nas', route: tcp('localhost', 2376, '127.0.0.1') }];
    const found = foundWith({ containers, ownId: undefined, routes: { own: local, others } }, settings);
    expect(containers.flatMap(({ id, name }) => (found.has(id) ? [name] : []))).toEqual(ways);
    for (const way of found.values()) expect(way.reason).toContain('to the engine "nas"');
  });

  test.each<readonly [what: string, cast: Cast, own: EngineRoute, other: EngineRoute, ways: readonly string[]]>([
    [
      'a tunnel here to another engine, beside us',
      {
        upkeep: reach({ networks: [at('172.18.0.3')], mounts: [socket] }),
        tunnel: reach({ networks: [at('172.18.0.4')] }),
        web,
      },
      local,
      tcp('tunnel', 2375, '172.18.0.4'),
      ['tunnel'],
    ],
    [
      'a tunnel here with a published port, from the host',
      { tunnel: reach({ ports: [published(2390, '127.0.0.1')] }), web },
      local,
      tcp('localhost', 2390, '::1'),
      ['tunnel'],
    ],
    [
      'a published port here that another engine has too',
      { proxy: reach({ ports: [published(2376)] }) },
      local,
      tcp('nas.lan', 2376, '192.168.1.5'),
      [],
    ],
    [
      'an address that another engine’s container has too',
      { web: reach({ networks: [at('172.18.0.4')] }) },
      tcp('vps.lan', 2376, '203.0.113.5'),
      tcp('tunnel', 2375, '172.18.0.4'),
      [],
    ],
  ])('of several engines: %s', (_, cast, own, other, ways) => {
    expect(waysIn(cast, own, [other])).toEqual(ways);
  });

  test('tells which engine would be out of reach', () => {
    const containers = [containerSummary('tunnel', reach({ ports: [published(2390, '127.0.0.1')] }))];
    const routes = { own: local, others: [{ engine: 'nas', route: tcp('127.0.0.1', 2390, '127.0.0.1') }] };
    expect([...ownWays({ containers, ownId: undefined, routes }).values()]).toEqual([
      { reason: 'carries the connection of Upkeep to the engine "nas"', byHand: '' },
    ]);
  });
});

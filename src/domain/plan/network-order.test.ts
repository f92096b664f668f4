import { describe, expect, test } from 'vitest';
import { containerSummary, inspectedContainer, type SummaryParts } from '../../../test/support/scene/builders.ts';
import type { ContainerReach } from '../container/container.ts';
import { networkCarriers, orderByNetwork } from './order.ts';
import type { PlannedTransaction } from './update-plan.ts';

function reach(parts: Partial<ContainerReach>): Pick<SummaryParts, 'reach'> {
  return { reach: { ports: [], networks: [], mounts: [], ...parts } };
}

const port = (hostPort: number, inside = hostPort, protocol = 'tcp') => ({
  protocol,
  port: inside,
  hostPort,
  hostAddress: '0.0.0.0',
});
const at = (id: string, address = '172.18.0.2') => ({ id, address, gateway: '172.18.0.1' });

describe('networkCarriers()', () => {
  test.each<readonly [what: string, parts: SummaryParts, host: readonly [string, number], isCarrier: boolean]>([
    ['a published DNS', reach({ ports: [port(53, 5353, 'udp')] }), ['docker.io', 443], true],
    ['a DNS with an address of its own', reach({ ports: [port(0, 53, 'udp')] }), ['docker.io', 443], true],
    [
      'a DNS in the network of the host',
      { networkMode: 'host', image: 'pihole/pihole:latest' },
      ['docker.io', 443],
      true,
    ],
    [
      'a DNS in a macvlan, for which the list shows no ports',
      { networkMode: 'lan', image: 'pihole/pihole:latest', ...reach({ networks: [at('lan', '192.168.1.53')] }) },
      ['docker.io', 443],
      true,
    ],
    [
      'a container with another port and a DNS in its name',
      { image: 'acme/pihole-exporter:1', ...reach({ ports: [port(9617)] }) },
      ['docker.io', 443],
      false,
    ],
    ['a registry at its port', reach({ ports: [port(5000)] }), ['nas.lan', 5000], true],
    ['a registry by its address', reach({ networks: [at('net', '10.0.0.9')] }), ['10.0.0.9', 5000], true],
    ['a reverse proxy before an own registry', reach({ ports: [port(443)] }), ['git.example.org', 443], true],
    ['a reverse proxy, and a public registry', reach({ ports: [port(443)] }), ['ghcr.io', 443], false],
    ['another port', reach({ ports: [port(8080)] }), ['nas.lan', 5000], false],
    ['the same port of another protocol', reach({ ports: [port(5000, 5000, 'udp')] }), ['nas.lan', 5000], false],
    ['an egress proxy', reach({ ports: [port(3128)] }), ['127.0.0.1', 3128], true],
    ['a mirror in the network of the host', { networkMode: 'host', image: 'registry:3' }, ['127.0.0.1', 5001], true],
    ['a web server in the network of the host', { networkMode: 'host', image: 'nginx:1' }, ['127.0.0.1', 5001], false],
  ])('%s', (_, parts, [name, hostPort], isCarrier) => {
    const containers = [containerSummary('one', { image: 'any:1', ...parts })];
    expect(networkCarriers({ containers, hosts: [{ name, port: hostPort }] }).size === 1).toBe(isCarrier);
  });

  test('a registry behind a reverse proxy counts, by a common network', () => {
    const containers = [
      containerSummary('caddy', reach({ ports: [port(443)], networks: [at('web')] })),
      containerSummary('gitea', reach({ networks: [at('web', '172.18.0.3')] })),
      containerSummary('gitea-apart', reach({ networks: [at('other', '172.18.0.4')] })),
      containerSummary('blog', reach({ networks: [at('web', '172.18.0.5')] })),
    ];
    const found = networkCarriers({ containers, hosts: [{ name: 'git.example.org', port: 443 }] });
    expect(containers.filter(({ id }) => found.has(id)).map(({ name }) => name)).toEqual(['caddy', 'gitea']);
  });
});

describe('orderByNetwork()', () => {
  const dns = reach({ ports: [port(53, 53, 'udp')] });

  /** Names of transactions with the names that each depends on; `dns…` carries the network. */
  function orderOf(
    cast: Readonly<Record<string, readonly string[]>>,
    {
      unpulled = [],
      canaries = [],
    }: { readonly unpulled?: readonly string[]; readonly canaries?: readonly string[] } = {},
  ) {
    const containers = Object.keys(cast).map((name) => containerSummary(name, name.startsWith('dns') ? dns : {}));
    const transactions = Object.entries(cast).map(([name, after]): PlannedTransaction => {
      const container = inspectedContainer(name);
      const member = { container, cause: 'stale', reference: `${name}:1`, digest: undefined } as const;
      const members = [{ ...member, hardDependencies: [], desiredEndState: 'running' as const, waitsFor: [] }];
      return { id: name, members, after, requires: [] };
    });
    const groups = canaries.length === 0 ? [] : [{ image: 'x', transactions: canaries }];
    const order = orderByNetwork({
      plan: { transactions, canaries: groups },
      containers,
      engine: { hubMirrors: [] },
      unpulled: new Set(unpulled),
    });
    return {
      names: order.transactions.map(({ id }) => id),
      follows: Object.fromEntries([...order.follows].map(([id, others]) => [id, [...others].toSorted()])),
    };
  }

  test('without a carrier nothing changes, also after a failed pull', () => {
    expect(orderOf({ one: [], two: ['one'] }, { unpulled: ['one'] })).toEqual({ names: ['one', 'two'], follows: {} });
  });

  /** A member of a compose project: the references before and after. */
  const moving = (name: string, from: string, to: string, after: readonly string[] = []): PlannedTransaction => {
    const container = inspectedContainer(name, { labels: { 'com.docker.compose.image': 'sha256:1' } });
    const moved = from === to ? {} : { formerReference: from };
    const member = { container, cause: 'stale', reference: to, digest: undefined, ...moved } as const;
    const members = [{ ...member, hardDependencies: [], desiredEndState: 'running' as const, waitsFor: [] }];
    return { id: name, members, after, requires: [] };
  };

  test.each<readonly [string, readonly PlannedTransaction[], readonly string[], object]>([
    [
      'also where it is written in another way',
      [
        moving('app', 'nginx:1.27', 'nginx:1.28'),
        moving('other', 'docker.io/library/nginx:1.27', 'docker.io/library/nginx:1.27'),
      ],
      ['other', 'app'],
      { app: ['other'] },
    ],
    [
      'and not of another tag',
      [moving('app', 'nginx:1.27', 'nginx:1.28'), moving('other', 'nginx:1.26', 'nginx:1.26')],
      ['app', 'other'],
      {},
    ],
    [
      'unless these wait for it',
      [
        moving('app', 'nginx:1.27', 'nginx:1.28'),
        moving('web', 'web:1', 'web:1', ['app']),
        moving('other', 'nginx:1.27', 'nginx:1.27', ['web']),
      ],
      ['app', 'web', 'other'],
      {},
    ],
  ])('what leaves a tag comes after what gets its new image, %s', (_, transactions, names, follows) => {
    const facts = { plan: { transactions }, containers: [], engine: { hubMirrors: [] }, unpulled: new Set<string>() };
    const order = orderByNetwork(facts);
    expect(order.transactions.map(({ id }) => id)).toEqual(names);
    expect(Object.fromEntries(order.follows)).toEqual(follows);
  });

  test('a carrier comes after all that do not need it', () => {
    const { names, follows } = orderOf({ dns: [], web: ['dns'], api: [], db: ['api'] });
    expect(names).toEqual(['api', 'db', 'dns', 'web']);
    expect(follows).toEqual({ dns: ['api', 'db'] });
  });

  test('what could not be pulled comes after the carriers, with all that depends on it', () => {
    const { names, follows } = orderOf({ web: [], api: ['web'], dns: [], db: [] }, { unpulled: ['web'] });
    expect(names).toEqual(['db', 'dns', 'web', 'api']);
    expect(follows).toEqual({ web: ['dns'], dns: ['db'] });
  });

  test('a carrier that could not be pulled comes after the other one', () => {
    expect(orderOf({ dns1: [], dns2: [], web: [] }, { unpulled: ['dns1'] })).toEqual({
      names: ['web', 'dns2', 'dns1'],
      follows: { dns1: ['dns2'], dns2: ['web'] },
    });
  });

  test('a carrier does not wait for what waits for it: by a dependency, a canary, or both', () => {
    expect(orderOf({ dns: [], web: [], api: ['web'] }, { canaries: ['dns', 'web'] }).follows).toEqual({ dns: [] });
    expect(orderOf({ web: [], dns: ['web'] }, { unpulled: ['web'] }).follows).toEqual({ dns: [], web: [] });
  });
});

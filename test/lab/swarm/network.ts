import { execFileSync } from 'node:child_process';

/** The network of a swarm: a bridge, and for each node a namespace with a virtual cable to it. */
export type SwarmNetwork = {
  /** The address of this process and of registries, as the nodes see it. */
  readonly address: string;
  readonly addressOf: (node: number) => string;
  /** A command prefix that runs a program as if on that node, with its host name. */
  readonly startedOn: (node: number) => readonly [string, ...string[]];
  readonly cut: (node: number) => void;
  readonly mend: (node: number) => void;
  readonly remove: () => void;
};

const prefix = '10.88.0';
const bridge = 'upkswarm';

/** Addresses of registries that the nodes' engines must accept without TLS. */
export const swarmAddresses = `${prefix}.0/24`;

/** A lab has one at a time, because its names and addresses are fixed. */
export function layNetwork(nodes: number): SwarmNetwork {
  const all = Array.from({ length: nodes }, (_, index) => index + 1);
  const addressOf = (node: number): string => `${prefix}.${10 + node}`;
  ip('link', 'add', bridge, 'type', 'bridge');
  ip('addr', 'add', `${prefix}.1/24`, 'dev', bridge);
  ip('link', 'set', bridge, 'up');
  for (const node of all) {
    ip('netns', 'add', nodeName(node));
    ip('link', 'add', cable(node), 'type', 'veth', 'peer', 'name', 'eth0', 'netns', nodeName(node));
    ip('link', 'set', cable(node), 'master', bridge, 'up');
    ip('-n', nodeName(node), 'link', 'set', 'lo', 'up');
    ip('-n', nodeName(node), 'addr', 'add', `${addressOf(node)}/24`, 'dev', 'eth0');
    ip('-n', nodeName(node), 'link', 'set', 'eth0', 'up');
    ip('-n', nodeName(node), 'route', 'add', 'default', 'via', `${prefix}.1`);
  }
  return {
    address: `${prefix}.1`,
    addressOf,
    startedOn: (node) => [
      'nsenter',
      ...[`--net=/run/netns/${nodeName(node)}`, '--', 'unshare', '--uts', '--'],
      ...['sh', '-c', `hostname ${nodeName(node)}; exec "$@"`, 'sh'],
    ],
    cut: (node) => ip('link', 'set', cable(node), 'down'),
    mend: (node) => ip('link', 'set', cable(node), 'up'),
    remove: () => {
      // The kernel removes a namespace later, and the name of the cable is in use until then.
      for (const node of all) {
        ip('link', 'del', cable(node));
        ip('netns', 'del', nodeName(node));
      }
      ip('link', 'del', bridge);
    },
  };
}

/** `n1`: the host name of the first node. */
export function nodeName(node: number): string {
  return `n${node}`;
}

function cable(node: number): string {
  return `${bridge}${node}`;
}

function ip(...args: readonly string[]): void {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] });
}

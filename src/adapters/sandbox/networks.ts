import type { Endpoint } from '../../domain/container.ts';
import { getNetwork } from './lookup.ts';
import { Refusal } from './refusal.ts';
import { announce, type SandboxContainer, type SandboxNetwork, type World } from './world.ts';

/** Makes a network as `docker network create` does; with a subnet such as `10.77.0.0/24` it takes static addresses. */
export function createNetwork(
  world: World,
  name: string,
  options: { readonly driver?: string; readonly subnet?: string } = {},
): SandboxNetwork {
  const { driver = 'bridge', subnet } = options;
  const [address = `172.${17 + world.networks.size}.0.0`, length = '16'] = subnet?.split('/') ?? [];
  const network: SandboxNetwork = {
    id: world.ids.next('network'),
    name,
    driver,
    subnet: address.split('.').slice(0, 3).join('.'),
    prefixLength: Number(length),
    subnetChosen: subnet !== undefined,
    addresses: new Map(),
  };
  world.networks.set(name, network);
  announce(world, 'network', 'create', network.id, { name, type: driver });
  return network;
}

/** The endpoints a container has from its creation on: those that were asked for, else the one of its network mode. */
export function plannedEndpoints(
  world: World,
  networkMode: string,
  asked: Readonly<Record<string, Endpoint>>,
): Map<string, Endpoint> {
  if (networkMode.startsWith('container:')) return new Map();
  const entries = Object.entries(asked);
  if (entries.length === 0) entries.push([networkMode === 'default' ? 'bridge' : networkMode, {}]);
  return new Map(entries.map(([name, endpoint]) => [nameOf(world, name), blankEndpoint(world, endpoint)]));
}

/** Gives the container its addresses; refuses before it has taken any. */
export function joinNetworks(world: World, container: SandboxContainer): void {
  for (const [name, endpoint] of container.endpoints) checkEndpoint(getNetwork(world, name), endpoint);
  for (const [name, endpoint] of container.endpoints) {
    container.endpoints.set(name, join(world, container, getNetwork(world, name), endpoint));
  }
}

/** Gives the addresses back; what was asked for stays. */
export function leaveNetworks(world: World, container: SandboxContainer): void {
  for (const [name, endpoint] of container.endpoints) {
    const network = world.networks.get(name);
    if (network === undefined || !endpoint['EndpointID']) continue;
    network.addresses.delete(String(endpoint['IPAddress']));
    container.endpoints.set(name, { ...endpoint, ...noAddress });
    announceEndpoint(world, 'disconnect', network, container);
  }
}

/** Refused for a running container that is there already; for a stopped one the engine takes it as done. */
export function connectNetwork(world: World, container: SandboxContainer, networkId: string, asked: Endpoint): void {
  const network = getNetwork(world, networkId);
  checkCompany(container, network);
  const running = container.process !== undefined;
  if (container.endpoints.has(network.name)) {
    if (!running) return;
    throw new Refusal(403, `endpoint with name ${container.name} already exists in network ${network.name}`);
  }
  const endpoint = withOwnAliases(world, container, network, blankEndpoint(world, asked));
  checkEndpoint(network, endpoint);
  container.endpoints.set(network.name, running ? join(world, container, network, endpoint) : endpoint);
}

/** The host's network, another container's and none at all go with no other. */
function checkCompany({ endpoints, hostConfig, process }: SandboxContainer, network: SandboxNetwork): void {
  const isShared = hostConfig.NetworkMode?.startsWith('container:') && process !== undefined;
  if (network.driver === 'host' && !endpoints.has('host'))
    throw new Refusal(400, 'container cannot be disconnected from host network or connected to host network');
  if (isShared || (endpoints.has('host') && network.driver !== 'host'))
    throw new Refusal(
      400,
      'container sharing network namespace with another container or host cannot be connected to any other network',
    );
  if (endpoints.has('none') !== (network.driver === 'null') && endpoints.size > 0)
    throw new Refusal(
      400,
      'container cannot be connected to multiple networks with one of the networks in private (none) mode',
    );
}

function nameOf(world: World, idOrName: string): string {
  for (const network of world.networks.values()) if (network.id === idOrName) return network.name;
  return idOrName;
}

function blankEndpoint({ profile }: World, asked: Endpoint): Endpoint {
  const { IPAMConfig = null, Links = null, Aliases = null, DriverOpts = null, GwPriority = 0 } = asked;
  const newer = profile.severalEndpointsAtCreate ? { GwPriority, DNSNames: null } : {};
  return {
    IPAMConfig: isFilled(IPAMConfig) ? IPAMConfig : null,
    Links,
    Aliases,
    NetworkID: '',
    ...noAddress,
    DriverOpts,
    ...newer,
  };
}

function isFilled(value: object | null): boolean {
  return value !== null && Object.keys(value).length > 0;
}

const noAddress = {
  EndpointID: '',
  Gateway: '',
  IPAddress: '',
  IPPrefixLen: 0,
  IPv6Gateway: '',
  GlobalIPv6Address: '',
  GlobalIPv6PrefixLen: 0,
  MacAddress: '',
} as const;

function checkEndpoint(network: SandboxNetwork, endpoint: Endpoint): void {
  const address = staticAddress(endpoint);
  if (isBuiltIn(network) && endpoint.Aliases?.length)
    throw new Refusal(400, 'network-scoped alias is supported only for containers in user defined networks');
  if (address === undefined) return;
  if (!network.subnetChosen)
    throw new Refusal(
      400,
      'user specified IP address is supported only when connecting to networks with user configured subnets',
    );
  if (network.addresses.has(address)) throw new Refusal(403, 'Address already in use');
}

function join(world: World, container: SandboxContainer, network: SandboxNetwork, endpoint: Endpoint): Endpoint {
  const joined = { ...withOwnAliases(world, container, network, endpoint), NetworkID: network.id };
  announceEndpoint(world, 'connect', network, container);
  if (network.driver === 'host' || network.driver === 'null')
    return { ...joined, EndpointID: world.ids.next('endpoint') };
  const address = staticAddress(endpoint) ?? freeAddress(network);
  network.addresses.set(address, container.id);
  return {
    ...joined,
    EndpointID: world.ids.next('endpoint'),
    Gateway: `${network.subnet}.1`,
    IPAddress: address,
    IPPrefixLen: network.prefixLength,
    MacAddress: container.config.MacAddress || macOf(address),
  };
}

/** On user networks a container answers to its short id and its host name, which the engine writes into its settings. */
function withOwnAliases(
  { profile }: World,
  container: SandboxContainer,
  network: SandboxNetwork,
  endpoint: Endpoint,
): Endpoint {
  if (isBuiltIn(network) || !profile.ownNamesAreAliases) return endpoint;
  const { Hostname = '' } = container.config;
  return { ...endpoint, Aliases: [...new Set([...(endpoint.Aliases ?? []), container.id.slice(0, 12), Hostname])] };
}

function isBuiltIn({ name }: SandboxNetwork): boolean {
  return name === 'bridge' || name === 'host' || name === 'none';
}

function staticAddress({ IPAMConfig: ipam }: Endpoint): string | undefined {
  const address = ipam?.['IPv4Address'];
  return typeof address === 'string' && address !== '' ? address : undefined;
}

function freeAddress({ subnet, addresses }: SandboxNetwork): string {
  for (let host = 2; host < 65_000; host++) {
    const address = `${subnet.split('.').slice(0, 2).join('.')}.${Number(subnet.split('.')[2]) + Math.floor(host / 256)}.${host % 256}`;
    if (!addresses.has(address)) return address;
  }
  throw new Refusal(500, "no available IPv4 addresses on this network's address pools");
}

/** Docker makes the last four bytes of the hardware address from the IP address. */
function macOf(address: string): string {
  const bytes = address.split('.').map((part) => Number(part).toString(16).padStart(2, '0'));
  return ['02', '42', ...bytes].join(':');
}

function announceEndpoint(
  world: World,
  action: 'connect' | 'disconnect',
  network: SandboxNetwork,
  container: SandboxContainer,
): void {
  announce(world, 'network', action, network.id, { container: container.id, name: network.name, type: network.driver });
}

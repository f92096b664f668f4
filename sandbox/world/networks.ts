import type { ContainerConfig, Endpoint, HostConfig, Network } from '../../src/domain/container/container.ts';
import { findNetwork, getNetwork, findContainer } from './lookup.ts';
import { Refusal } from '../base/simulation.ts';
import { emitEvent, type SandboxContainer, type SandboxNetwork, type World, type HostPort } from './world.ts';
import type { EngineProfile } from '../base/behaviour.ts';

/** Makes a network as `docker network create` does; with a subnet, e.g. `10.77.0.0/24`, it accepts static addresses. */
export function createNetwork(
  world: World,
  name: string,
  options: { readonly driver?: string; readonly subnet?: string } = {},
): SandboxNetwork {
  const { driver = 'bridge', subnet } = options;
  const [address = `172.${17 + world.networks.size}.0.0`, length = '16'] = subnet?.split('/') ?? [];
  const network: SandboxNetwork = {
    id: world.newId('network'),
    name,
    driver,
    subnet: address.split('.').slice(0, 3).join('.'),
    prefixLength: Number(length),
    recipe: { Name: name, Driver: driver, IPAM: { Config: [{ Subnet: `${address}/${length}` }] } },
    subnetChosen: subnet !== undefined,
    addresses: new Set(),
  };
  world.networks.set(name, network);
  emitEvent(world, 'network', 'create', network.id, { name, type: driver });
  return network;
}

/** Makes a network by its recipe, under a new id. */
export function recreateNetwork(world: World, { name, driver, recipe }: Network): void {
  const { IPAM } = recipe as { readonly IPAM: { readonly Config: readonly [{ readonly Subnet: string }] } };
  createNetwork(world, name, { driver, subnet: IPAM.Config[0].Subnet });
}

/** Removes the networks in which no container runs, as `docker network prune` does. */
export function pruneNetworks(world: World): void {
  for (const network of world.networks.values()) {
    if (isBuiltIn(network) || network.addresses.size > 0) continue;
    world.networks.delete(network.name);
    emitEvent(world, 'network', 'destroy', network.id, { name: network.name, type: network.driver });
  }
}

/** The endpoints of a new container: the requested ones, or else the network of its network mode. */
export function plannedEndpoints(
  world: World,
  networkMode: string,
  asked: Readonly<Record<string, Endpoint>>,
): Map<string, Endpoint> {
  if (networkMode.startsWith('container:')) return new Map();
  const entries = Object.entries(asked);
  if (entries.length === 0) entries.push([networkMode === 'default' ? 'bridge' : networkMode, {}]);
  return new Map(entries.map(([name, endpoint]) => [nameOf(world, name), blankEndpoint(world.profile, endpoint)]));
}

/** Assigns the container its addresses. */
export function joinNetworks(world: World, container: SandboxContainer): void {
  for (const [name, endpoint] of container.endpoints) checkEndpoint(networkOf(world, name, endpoint), endpoint);
  for (const [name, endpoint] of container.endpoints) {
    container.endpoints.set(name, joinEndpoint(world, container, networkOf(world, name, endpoint), endpoint));
  }
}

/** After the first start a container follows the id of its network, and does not find another of the same name. */
function networkOf(world: World, name: string, { NetworkID = '' }: Endpoint): SandboxNetwork {
  return getNetwork(world, NetworkID === '' ? name : NetworkID);
}

/** Releases the addresses; the configured values stay. */
export function leaveNetworks(world: World, container: SandboxContainer): void {
  for (const [name, endpoint] of container.endpoints) {
    const network = world.networks.get(name);
    if (network === undefined || !endpoint['EndpointID']) continue;
    container.endpoints.set(name, leaveEndpoint(world, container, network, endpoint));
  }
}

/**
 * Refused for a running container that is already connected. For a stopped one it succeeds without a change, unless its
 * network was removed. A stopped one can also be connected to a network that does not exist yet.
 */
export function connectNetwork(world: World, container: SandboxContainer, idOrName: string, asked: Endpoint): void {
  const running = container.process !== undefined;
  if (!running && findNetwork(world, idOrName) === undefined) {
    container.endpoints.set(idOrName, blankEndpoint(world.profile, asked));
    return;
  }
  const network = getNetwork(world, idOrName);
  checkCompany(container, network);
  const present = container.endpoints.get(network.name);
  if (present !== undefined && !isLost(world, present)) {
    if (!running) return;
    throw new Refusal(403, `endpoint with name ${container.name} already exists in network ${network.name}`);
  }
  if (asked.MacAddress) container.macs.set(network.name, asked.MacAddress);
  const endpoint = withOwnNames(world.profile, container, network, blankEndpoint(world.profile, asked));
  checkEndpoint(network, endpoint);
  container.endpoints.set(network.name, running ? joinEndpoint(world, container, network, endpoint) : endpoint);
}

function isLost(world: World, { NetworkID = '' }: Endpoint): boolean {
  return NetworkID !== '' && findNetwork(world, NetworkID) === undefined;
}

/** The host's network, another container's network and `none` exclude every other network. */
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

/**
 * An older engine has one hardware address for the container, on its first network. A newer one has one for each
 * endpoint.
 */
export function plannedMacs(
  world: World,
  { MacAddress: own = '' }: ContainerConfig,
  { NetworkMode: mode = '' }: HostConfig,
  asked: Readonly<Record<string, Endpoint>>,
): Map<string, string> {
  const macs = new Map<string, string>();
  if (own !== '') macs.set(mode === 'default' ? 'bridge' : nameOf(world, mode), own);
  if (!world.profile.hasEndpointsOfItsOwn) return macs;
  for (const [name, { MacAddress: mac = '' }] of Object.entries(asked))
    if (mac !== '') macs.set(nameOf(world, name), mac);
  return macs;
}

function nameOf(world: World, idOrName: string): string {
  for (const network of world.networks.values()) if (network.id === idOrName) return network.name;
  return idOrName;
}

/** An endpoint without an address; fields that this version does not know are dropped. */
function blankEndpoint({ hasEndpointsOfItsOwn: isNewer }: EngineProfile, asked: Endpoint): Endpoint {
  const { IPAMConfig = null, Links = null, Aliases = null, DriverOpts = null, GwPriority = 0, MacAddress = '' } = asked;
  return {
    IPAMConfig: isFilled(IPAMConfig) ? IPAMConfig : null,
    Links,
    Aliases,
    NetworkID: '',
    ...noAddress,
    DriverOpts,
    ...(isNewer && { GwPriority, DNSNames: null, MacAddress }),
  };
}

/** Refuses endpoint settings that the network does not support. */
function checkEndpoint(network: SandboxNetwork, endpoint: Endpoint): void {
  if (isBuiltIn(network) && endpoint.Aliases?.length)
    throw new Refusal(400, 'network-scoped alias is supported only for containers in user defined networks');
  if (staticAddress(endpoint) !== undefined && !network.subnetChosen)
    throw new Refusal(
      400,
      'user specified IP address is supported only when connecting to networks with user configured subnets',
    );
}

/** Takes an address; refuses one that is in use. */
function joinEndpoint(
  world: World,
  container: SandboxContainer,
  network: SandboxNetwork,
  endpoint: Endpoint,
): Endpoint {
  const joined = { ...withOwnNames(world.profile, container, network, endpoint), NetworkID: network.id };
  const wanted = staticAddress(endpoint);
  if (wanted !== undefined && network.addresses.has(wanted)) throw new Refusal(403, 'Address already in use');
  const EndpointID = world.newId('endpoint');
  announceEndpoint(world, 'connect', network, container);
  if (network.driver === 'host' || network.driver === 'null') return { ...joined, EndpointID };
  const address = wanted ?? freeAddress(network);
  network.addresses.add(address);
  return {
    ...joined,
    EndpointID,
    Gateway: `${network.subnet}.1`,
    IPAddress: address,
    IPPrefixLen: network.prefixLength,
    MacAddress: container.macs.get(network.name) ?? macOf(address),
  };
}

/** Releases the address. */
function leaveEndpoint(
  world: World,
  container: SandboxContainer,
  network: SandboxNetwork,
  endpoint: Endpoint,
): Endpoint {
  network.addresses.delete(String(endpoint['IPAddress']));
  announceEndpoint(world, 'disconnect', network, container);
  return { ...endpoint, ...noAddress };
}

/**
 * On user networks a container also has its short id and its host name as names. The engine adds them to its settings.
 */
function withOwnNames(
  profile: EngineProfile,
  container: SandboxContainer,
  network: SandboxNetwork,
  endpoint: Endpoint,
): Endpoint {
  if (isBuiltIn(network)) return endpoint;
  const { Hostname = '' } = container.config;
  const shortId = container.id.slice(0, 12);
  const aliases = endpoint.Aliases ?? [];
  if (!profile.hasEndpointsOfItsOwn) return { ...endpoint, Aliases: [...new Set([...aliases, shortId, Hostname])] };
  return { ...endpoint, DNSNames: [...new Set([container.name, ...aliases, shortId, Hostname])] };
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

function isFilled(value: object | null): boolean {
  return value !== null && Object.keys(value).length > 0;
}

/** Every engine has these from the start. */
export function isBuiltIn({ name }: SandboxNetwork): boolean {
  return name === 'bridge' || name === 'host' || name === 'none';
}

function staticAddress({ IPAMConfig: ipam }: Endpoint): string | undefined {
  const address = ipam?.['IPv4Address'];
  return typeof address === 'string' && address !== '' ? address : undefined;
}

function freeAddress({ subnet, addresses }: SandboxNetwork): string {
  const [a, b, c = '0'] = subnet.split('.');
  for (let host = 2; host < maxAddresses; host++) {
    const address = `${a}.${b}.${Number(c) + Math.floor(host / 256)}.${host % 256}`;
    if (!addresses.has(address)) return address;
  }
  throw new Refusal(500, "no available IPv4 addresses on this network's address pools");
}

/** Addresses of a /16, the size of Docker's default networks. */
const maxAddresses = 65_534;

/**
 * An older Docker derives the last four bytes of the hardware address from the IP address; a newer one chooses them at
 * random.
 */
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
  emitEvent(world, 'network', action, network.id, {
    container: container.id,
    name: network.name,
    type: network.driver,
  });
}

/** The ports of the host that the container takes at its start; refused if one of them is in use. */
export function claimHostPorts(world: World, container: SandboxContainer): readonly HostPort[] {
  const claimed: HostPort[] = [];
  for (const wanted of wantedPorts(container)) {
    const port = wanted.hostPort === 0 ? { ...wanted, hostPort: freePort(world, claimed) } : wanted;
    const taken = [...portsInUse(world), ...claimed].some((other) => collide(port, other));
    if (taken || world.foreignPorts.has(`${port.hostPort}/${protocolOf(port)}`))
      throw alreadyAllocated(world, container, port);
    claimed.push(port);
  }
  return claimed;
}

/** Only exposed ports are published; a binding of another port is ignored silently. */
function wantedPorts({ config, hostConfig, endpoints }: SandboxContainer): readonly HostPort[] {
  if (endpoints.size === 0 || endpoints.has('host') || endpoints.has('none')) return [];
  const ports: HostPort[] = [];
  for (const containerPort of Object.keys(config.ExposedPorts ?? {})) {
    const bindings = hostConfig.PortBindings?.[containerPort] ?? (hostConfig.PublishAllPorts === true ? [{}] : []);
    for (const { HostIp = '', HostPort = '' } of bindings) {
      ports.push({ containerPort, hostIp: HostIp === '' ? '0.0.0.0' : HostIp, hostPort: Number(HostPort || 0) });
    }
  }
  return ports;
}

function* portsInUse(world: World): Generator<HostPort> {
  for (const { hostPorts } of world.containers.values()) yield* hostPorts;
}

function collide(a: HostPort, b: HostPort): boolean {
  const sameAddress = a.hostIp === b.hostIp || a.hostIp === '0.0.0.0' || b.hostIp === '0.0.0.0';
  return sameAddress && a.hostPort === b.hostPort && protocolOf(a) === protocolOf(b);
}

function protocolOf({ containerPort }: HostPort): string {
  return containerPort.split('/')[1] ?? 'tcp';
}

/** The first of the dynamic range of Linux: https://docs.kernel.org/networking/ip-sysctl.html (ip_local_port_range) */
const firstDynamicPort = 32_768;

function freePort(world: World, claimed: readonly HostPort[]): number {
  const used = new Set([...portsInUse(world), ...claimed].map(({ hostPort }) => hostPort));
  let port = firstDynamicPort;
  while (used.has(port)) port++;
  return port;
}

function alreadyAllocated(world: World, container: SandboxContainer, { hostIp, hostPort }: HostPort): Refusal {
  const endpoint = `endpoint ${container.name} (${world.newId('endpoint')})`;
  const why = `Bind for ${hostIp}:${hostPort} failed: port is already allocated`;
  return new Refusal(500, `driver failed programming external connectivity on ${endpoint}: ${why}`);
}

/**
 * The container with the shared network must run; its host name is shared, too. It is found by id, or by a name that
 * did not exist at the create.
 */
export function joinSharedNetwork(world: World, container: SandboxContainer): void {
  const target = sharedWith(container.hostConfig.NetworkMode);
  if (target === undefined) return;
  const neighbour = findContainer(world, target);
  if (neighbour === undefined)
    throw new Refusal(world.profile.statusOfMissingNeighbour, `No such container: ${target}`);
  if (neighbour === container) throw new Refusal(500, 'cannot join own network');
  if (!neighbour.process) throw new Refusal(409, `cannot join network of a non running container: ${neighbour.id}`);
  const { Hostname = '', Domainname = '' } = neighbour.config;
  container.config = { ...container.config, Hostname, Domainname };
}

/** Legacy links work on the default network only. */
export function checkLinks({ links }: SandboxContainer): void {
  for (const { name, endpoints } of links.values()) {
    if (!endpoints.has('bridge'))
      throw new Refusal(500, `Cannot link to /${name}, as it does not belong to the default network`);
  }
}

/** Refuses the start unless the containers with its shared namespaces and the targets of its links run. */
export function checkNamespaces(world: World, { name, links, hostConfig }: SandboxContainer): void {
  for (const [alias, linked] of links) {
    if (!linked.process)
      throw new Refusal(500, `Cannot link to a non running container: /${linked.name} AS /${name}/${alias}`);
  }
  joinMemory(world, sharedWith(hostConfig.IpcMode));
  joinProcesses(world, sharedWith(hostConfig.PidMode));
}

function joinMemory(world: World, target: string | undefined): void {
  if (target === undefined) return;
  const cannot = (why: string, status = 500) => new Refusal(status, `can't join IPC of container ${target}: ${why}`);
  const neighbour = findContainer(world, target);
  if (neighbour === undefined) throw cannot(`No such container: ${target}`);
  if (!neighbour.process) throw cannot(`container ${target} is not running`, world.profile.statusOfIdleNeighbour);
  if (neighbour.hostConfig.IpcMode !== 'shareable')
    throw cannot('non-shareable IPC (hint: use IpcMode:shareable for the donor container)');
}

function joinProcesses(world: World, target: string | undefined): void {
  if (target === undefined) return;
  const neighbour = findContainer(world, target);
  if (neighbour === undefined)
    throw new Refusal(500, `cannot join PID of a non running container: ${target}: No such container: ${target}`);
  if (!neighbour.process) throw new Refusal(world.profile.statusOfIdleNeighbour, `container ${target} is not running`);
}

function sharedWith(mode = ''): string | undefined {
  return mode.startsWith('container:') ? mode.slice('container:'.length) : undefined;
}

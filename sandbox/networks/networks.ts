import type { ContainerConfig, Endpoint, HostConfig } from '../../src/domain/container/container-settings.ts';
import { getNetwork } from '../world/lookup.ts';
import { blankEndpoint, checkEndpoint, joinEndpoint, leaveEndpoint, withOwnNames } from './endpoints.ts';
import { Refusal } from '../base/refusal.ts';
import { emitEvent, type SandboxContainer, type SandboxNetwork, type World } from '../world/world.ts';

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
    subnetChosen: subnet !== undefined,
    addresses: new Set(),
  };
  world.networks.set(name, network);
  emitEvent(world, 'network', 'create', network.id, { name, type: driver });
  return network;
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
  for (const [name, endpoint] of container.endpoints) checkEndpoint(getNetwork(world, name), endpoint);
  for (const [name, endpoint] of container.endpoints) {
    container.endpoints.set(name, joinEndpoint(world, container, getNetwork(world, name), endpoint));
  }
}

/** Releases the addresses; the configured values stay. */
export function leaveNetworks(world: World, container: SandboxContainer): void {
  for (const [name, endpoint] of container.endpoints) {
    const network = world.networks.get(name);
    if (network === undefined || !endpoint['EndpointID']) continue;
    container.endpoints.set(name, leaveEndpoint(world, container, network, endpoint));
  }
}

/** Refused for a running container that is already connected; for a stopped one it succeeds without a change. */
export function connectNetwork(world: World, container: SandboxContainer, networkId: string, asked: Endpoint): void {
  const network = getNetwork(world, networkId);
  checkCompany(container, network);
  const running = container.process !== undefined;
  if (container.endpoints.has(network.name)) {
    if (!running) return;
    throw new Refusal(403, `endpoint with name ${container.name} already exists in network ${network.name}`);
  }
  if (asked.MacAddress) container.macs.set(network.name, asked.MacAddress);
  const endpoint = withOwnNames(world.profile, container, network, blankEndpoint(world.profile, asked));
  checkEndpoint(network, endpoint);
  container.endpoints.set(network.name, running ? joinEndpoint(world, container, network, endpoint) : endpoint);
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

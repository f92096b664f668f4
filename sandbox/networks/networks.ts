import type { ContainerConfig, Endpoint, HostConfig } from '../../src/domain/container/container-settings.ts';
import type { Network } from '../../src/domain/container/container.ts';
import { findNetwork, getNetwork } from '../world/lookup.ts';
import { blankEndpoint, checkEndpoint, isBuiltIn, joinEndpoint, leaveEndpoint, withOwnNames } from './endpoints.ts';
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

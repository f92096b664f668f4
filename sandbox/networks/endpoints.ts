import type { Endpoint } from '../../src/domain/container/container-settings.ts';
import type { EngineProfile } from '../base/profile.ts';
import { Refusal } from '../base/refusal.ts';
import { emitEvent, type SandboxContainer, type SandboxNetwork, type World } from '../world/world.ts';

/** An endpoint without an address; fields that this version does not know are dropped. */
export function blankEndpoint({ hasEndpointsOfItsOwn: isNewer }: EngineProfile, asked: Endpoint): Endpoint {
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
export function checkEndpoint(network: SandboxNetwork, endpoint: Endpoint): void {
  if (isBuiltIn(network) && endpoint.Aliases?.length)
    throw new Refusal(400, 'network-scoped alias is supported only for containers in user defined networks');
  if (staticAddress(endpoint) !== undefined && !network.subnetChosen)
    throw new Refusal(
      400,
      'user specified IP address is supported only when connecting to networks with user configured subnets',
    );
}

/** Takes an address; refuses one that is in use. */
export function joinEndpoint(
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
export function leaveEndpoint(
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
export function withOwnNames(
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
  for (let host = 2; host < mostAddresses; host++) {
    const address = `${a}.${b}.${Number(c) + Math.floor(host / 256)}.${host % 256}`;
    if (!addresses.has(address)) return address;
  }
  throw new Refusal(500, "no available IPv4 addresses on this network's address pools");
}

/** Addresses of a /16, the size of Docker's default networks. */
const mostAddresses = 65_534;

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

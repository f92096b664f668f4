import {
  isAlive,
  refusal,
  type Network,
  type Container,
  type Endpoint,
  type KnownRequest,
  type ContainerRecipe,
} from '../container.ts';
import { canonical } from '../../text/json.ts';
import { quoted } from '../../text/printable.ts';
import { compare, compareSecret, ownValue, type Difference, type Pair } from './difference.ts';

type Endpoints = {
  /** `NetworkingConfig.EndpointsConfig`, by network name. */
  readonly atCreate: Readonly<Record<string, Endpoint>>;
  readonly later: ContainerRecipe['laterEndpoints'];
};

/**
 * The networks that the container is connected to now, possibly without the one that it was created in. Below API 1.44
 * the create request accepts one of them.
 */
export function endpointsFor(request: KnownRequest): Endpoints {
  const { container, apiVersion } = request;
  if (!hasEndpoints(container)) return { atCreate: {}, later: [] };
  const connections = Object.entries(container.settings.Networks).map(([name, endpoint]) =>
    connectionFor(request, name, endpoint),
  );
  const main = connections.find(({ isMain }) => isMain) ?? connections[0];
  if (main === undefined)
    throw refusal(container, 'it is disconnected from every network, and an engine only creates connected ones');
  const later = supportsApi(apiVersion, '1.44') ? [] : connections.filter((connection) => connection !== main);
  const atCreate = connections.filter((connection) => !later.includes(connection));
  return {
    atCreate: Object.fromEntries(atCreate.map(({ networkName, endpoint }) => [networkName, endpoint])),
    later: later.map(({ networkId, networkName, endpoint }) => ({ networkId, networkName, endpoint })),
  };
}

/** All endpoints of a recipe, by network name. */
export function endpointsOf({ body, laterEndpoints }: ContainerRecipe): ReadonlyMap<string, Endpoint> {
  const { EndpointsConfig } = body['NetworkingConfig'] as { readonly EndpointsConfig: Endpoints['atCreate'] };
  const later = laterEndpoints.map(({ networkName, endpoint }) => [networkName, endpoint] as const);
  return new Map([...Object.entries(EndpointsConfig), ...later]);
}

type Connection = ContainerRecipe['laterEndpoints'][number] & { readonly isMain: boolean };

function connectionFor(request: KnownRequest, name: string, endpoint: Endpoint): Connection {
  const { container, networks } = request;
  const { NetworkID = '' } = endpoint;
  const network = networkOfEndpoint(networks, name, endpoint);
  if (network === undefined && name !== defaultBridge) {
    throw refusal(
      container,
      `its network ${quoted(name)} no longer exists`,
      'create the network and connect the container to it',
    );
  }
  if (network?.driver === 'overlay' && isAlive(container.state.status)) {
    throw refusal(
      container,
      `it runs in the overlay network ${quoted(name)}, in which engines cannot rename a running container`,
      'make it a service of the swarm, or recreate it by hand',
    );
  }
  const isMain = isMainNetwork(container, name, network?.id);
  const mac = configuredMacAddress(request, { endpoint, isMain, driver: network?.driver });
  return {
    networkName: name,
    networkId: network?.id ?? NetworkID,
    endpoint: { ...configured(request, name, endpoint), ...(mac === undefined ? {} : { MacAddress: mac }) },
    isMain,
  };
}

/**
 * An endpoint that was never connected has no id of its network yet. The default bridge gets a new id with each start of
 * the engine.
 */
export function networkOfEndpoint(
  networks: readonly Network[],
  name: string,
  { NetworkID = '' }: Endpoint,
): Network | undefined {
  const goesByName = NetworkID === '' || name === defaultBridge;
  return networks.find((candidate) => (goesByName ? candidate.name === name : candidate.id === NetworkID));
}

/** The endpoint's configured values, without those that the network assigned. Unknown fields are copied. */
function configured(request: KnownRequest, name: string, endpoint: Endpoint): Endpoint {
  const asked = Object.entries({
    ...endpoint,
    Aliases: name === defaultBridge ? [] : ownAliases(request, endpoint),
    DriverOpts: endpoint.DriverOpts,
  });
  return Object.fromEntries(asked.filter(([field, value]) => !operational.has(field) && canonical(value) !== ''));
}

/** The endpoint without what its network assigned. */
export function withoutAssigned(endpoint: Endpoint): Endpoint {
  return Object.fromEntries(Object.entries(endpoint).filter(([field]) => !operational.has(field)));
}

/** https://docs.docker.com/reference/api/engine/#tag/Container/operation/ContainerInspect */
const operational: ReadonlySet<string> = new Set([
  'NetworkID',
  'EndpointID',
  'Gateway',
  'IPAddress',
  'IPPrefixLen',
  'IPv6Gateway',
  'GlobalIPv6Address',
  'GlobalIPv6PrefixLen',
  'MacAddress',
  'DNSNames',
]);

/** Aliases without the short id and, below API 1.45, without the host name: the engine adds them. */
function ownAliases({ container, apiVersion }: KnownRequest, { Aliases }: Endpoint): readonly string[] {
  const added = new Set([container.id.slice(0, 12)]);
  if (!supportsApi(apiVersion, '1.45')) added.add(container.settings.Config.Hostname ?? '');
  return (Aliases ?? []).filter((alias) => !added.has(alias));
}

/** Whether it uses the network of another container (`container:<id>`). */
export function sharesNetwork(container: Container): boolean {
  return modeOf(container).startsWith('container:');
}

export function hasHostNetwork(container: Container): boolean {
  return modeOf(container) === 'host';
}

/** Whether the engine connects it to networks with endpoints that can be configured. */
function hasEndpoints(container: Container): boolean {
  const { Config } = container.settings;
  if (Config['NetworkDisabled'] === true || sharesNetwork(container)) return false;
  return !hasHostNetwork(container) && modeOf(container) !== 'none';
}

/** The name or id of the network that the container was created in; `bridge` for the engine's default. */
export function mainNetwork(container: Container): string {
  const mode = modeOf(container);
  return mode === '' || mode === 'default' ? defaultBridge : mode;
}

/** Whether the container was created in this network, which its mode gives by name or id. */
function isMainNetwork(container: Container, name: string, id = ''): boolean {
  const main = mainNetwork(container);
  return main === name || (/^[0-9a-f]{12,64}$/.test(main) && id.startsWith(main));
}

/**
 * This network has no aliases and no fixed addresses:
 * https://docs.docker.com/engine/network/drivers/bridge/#use-the-default-bridge-network
 */
export const defaultBridge = 'bridge';

function modeOf({ settings }: Container): string {
  return settings.HostConfig.NetworkMode ?? '';
}

type ObservedEndpoint = {
  readonly endpoint: Endpoint;
  /** True for the network that the container was created in. */
  readonly isMain: boolean;
  readonly driver: string | undefined;
};

/**
 * The configured MAC address of an endpoint. Undefined when the engine chose it. Below API 1.44 it is in `Config`. From
 * 1.44 to 1.51 `Config` has the main network's address. An endpoint shows the address in use, configured or not; it is
 * kept unless it is derived from the IP address. Docker 28 and newer also generate underived addresses, so a generated
 * one may become fixed. That is harmless; losing a configured address is not.
 */
function configuredMacAddress(
  { container, apiVersion }: KnownRequest,
  { endpoint, isMain, driver }: ObservedEndpoint,
): string | undefined {
  if (!supportsApi(apiVersion, '1.44')) return undefined;
  if (isMain && !supportsApi(apiVersion, '1.52')) return container.settings.Config.MacAddress || undefined;
  const { MacAddress = '' } = endpoint;
  return MacAddress === '' || !driversThatTakeOne.has(driver ?? '') || isDerived(endpoint) ? undefined : MacAddress;
}

/** Other drivers refuse an address (ipvlan) or derive their own (overlay). */
const driversThatTakeOne: ReadonlySet<string> = new Set(['bridge', 'macvlan']);

/** `02:42:` and the IPv4 address: https://github.com/moby/moby/blob/v27.0.0/libnetwork/netutils/utils.go */
function isDerived({ MacAddress = '', IPAddress }: Endpoint): boolean {
  const bytes = String(IPAddress)
    .split('.')
    .map((part) => Number(part).toString(16).padStart(2, '0'));
  return MacAddress.toLowerCase() === ['02', '42', ...bytes].join(':');
}

/**
 * The network in which a successor may get the same address as the running container. Undefined on engines below API
 * 1.44, which do not show `DNSNames`: their successors repeat the main network's address only.
 */
export function networkOfRepeatedMac(container: Container): string | undefined {
  return Object.entries(container.settings.Networks).find(
    ([name, endpoint]) =>
      'DNSNames' in endpoint &&
      !isMainNetwork(container, name, endpoint.NetworkID) &&
      (endpoint.MacAddress ?? '') !== '' &&
      !isDerived(endpoint),
  )?.[0];
}

/** The driver option of an endpoint that takes sysctls of its interface: https://docs.docker.com/reference/cli/docker/container/run/#sysctl */
const endpointSysctls = 'com.docker.network.endpoint.sysctls';

/** The field `HostConfig.Sysctls`: its making for a successor, and its comparison. */
export const sysctlsField = { make: acceptedSysctls, compare: sysctlDifferences };

/**
 * From API 1.48 the engine accepts sysctls of one interface (`net.ipv4.conf.eth0.…`) only as an option of its endpoint,
 * but an older container still has them.
 */
function acceptedSysctls({ container, apiVersion }: KnownRequest): unknown {
  const sysctls = container.settings.HostConfig['Sysctls'] as Readonly<Record<string, string>> | null | undefined;
  const isOfInterface = Object.keys(sysctls ?? {}).some((name) => interfacePattern.test(name));
  if (!isOfInterface || !supportsApi(apiVersion, '1.48') || !hasEndpoints(container)) return sysctls;
  throw refusal(
    container,
    'it has sysctls of a network interface, which this engine takes only as the option driver-opt of a network: create it again with that',
  );
}

const interfacePattern = /^net\.([^.]+)\.([^.]+)\.eth\d+\.(.+)$/;

/** `net.ipv4.conf.IFNAME.log_martians=1`; undefined for a sysctl of the whole container. */
function interfaceSysctl(name: string, value: string): string | undefined {
  const [, family, group, key] = interfacePattern.exec(name) ?? [];
  return key === undefined ? undefined : `net.${family}.${group}.IFNAME.${key}=${value}`;
}

/**
 * Whether the engine supports an API version, by the version in use:
 * https://docs.docker.com/reference/api/engine/version-history/
 */
export function supportsApi(apiVersion: string, wanted: `1.${number}`): boolean {
  const [major, minor] = parse(apiVersion);
  const [wantedMajor, wantedMinor] = parse(wanted);
  return major === wantedMajor ? minor >= wantedMinor : major > wantedMajor;
}

function parse(version: string): readonly [number, number] {
  const [, major = 0, minor = 0] = (/^(\d+)\.(\d+)/.exec(version) ?? []).map(Number);
  return [major, minor];
}

/**
 * Both must be connected to the same networks with the same configuration. MAC addresses are not compared: an address
 * in use may be generated.
 */
export function networkDifferences({ before, after }: Pair): readonly Difference[] {
  const [old, successor] = [before.settings.Networks, after.settings.Networks];
  const names = new Set([...Object.keys(old), ...Object.keys(successor)]);
  return [...names].flatMap((name) => {
    const [was, is] = [ownValue(old, name), ownValue(successor, name)];
    const field = `Networks.${name}`;
    if (was === undefined || is === undefined) return compare(field, was && 'connected', is && 'connected');
    return [
      // An endpoint that was never connected has no id yet. The default bridge gets a new id with each start of the
      // engine.
      ...(was.NetworkID && is.NetworkID && name !== defaultBridge
        ? compare(`${field}.NetworkID`, was.NetworkID, is.NetworkID)
        : []),
      ...(name === defaultBridge ? [] : compare(`${field}.Aliases`, aliasesOf(before, was), aliasesOf(after, is))),
      ...compare(`${field}.IPAMConfig`, addresses(was), addresses(is)),
      ...compare(`${field}.Links`, was.Links?.toSorted(), is.Links?.toSorted()),
      ...compareSecret(`${field}.DriverOpts`, driverOptions(was), driverOptions(is)),
      ...compare(`${field}.GwPriority`, was.GwPriority ?? 0, is.GwPriority ?? 0),
    ];
  });
}

/** Engines up to 24 add the container's short id and host name once it runs. */
function aliasesOf({ id, settings }: Container, { Aliases }: Endpoint): readonly string[] {
  const added = new Set([id.slice(0, 12), settings.Config.Hostname ?? '']);
  return [...new Set(Aliases ?? [])].filter((alias) => !added.has(alias)).sort();
}

function addresses({ IPAMConfig }: Endpoint): readonly string[] {
  return Object.entries(IPAMConfig ?? {})
    .filter(([, address]) => address !== '' && address !== null)
    .map(([field, address]) => `${field}=${String(address)}`)
    .sort();
}

/** The options without sysctls, which `sysctlDifferences` compares. */
function driverOptions({ DriverOpts }: Endpoint): object {
  return Object.fromEntries(Object.entries(DriverOpts ?? {}).filter(([name]) => name !== endpointSysctls));
}

/** An engine may move sysctls of an interface to its endpoint. */
function sysctlDifferences({ before, after }: Pair): readonly Difference[] {
  return compare('HostConfig.Sysctls', sysctlsOf(before), sysctlsOf(after));
}

function sysctlsOf({ settings }: Container): readonly string[] {
  const { Sysctls } = settings.HostConfig as { readonly Sysctls?: Readonly<Record<string, string>> | null };
  const own = Object.entries(Sysctls ?? {}).map(([name, value]) => interfaceSysctl(name, value) ?? `${name}=${value}`);
  const moved = Object.values(settings.Networks).flatMap(
    ({ DriverOpts }) => ownValue(DriverOpts, endpointSysctls)?.split(',') ?? [],
  );
  return [...own, ...moved].sort();
}

import { supportsApi } from '../../api-version.ts';
import { isAlive, type Network } from '../../container.ts';
import { canonical } from '../../../text/json.ts';
import type { Endpoint } from '../../container-settings.ts';
import { quoted } from '../../../text/printable.ts';
import { endpointSysctls, splitSysctls } from './interface-sysctls.ts';
import { configuredMacAddress } from './mac-address.ts';
import { defaultBridge, hasEndpoints, isMainNetwork } from './network-mode.ts';
import { type KnownRequest, type ContainerRecipe, refusal } from '../request/request.ts';

export type Endpoints = {
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
      `its network ${quoted(name)} does not exist any more`,
      'create the network and connect the container to it',
    );
  }
  if (network?.driver === 'overlay' && isAlive(container.state.status)) {
    throw refusal(
      container,
      `it runs in the overlay network ${quoted(name)}, in which engines cannot rename a running container`,
      'make it a service of the swarm, or re-create it by hand',
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
    DriverOpts: driverOptions(request, endpoint),
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

function driverOptions(request: KnownRequest, { DriverOpts }: Endpoint): Endpoint['DriverOpts'] {
  const { moved } = splitSysctls(request);
  if (moved.length === 0) return DriverOpts;
  const present = DriverOpts?.[endpointSysctls];
  return { ...DriverOpts, [endpointSysctls]: [...(present ? [present] : []), ...moved].join(',') };
}

import { type ContainerReach, type ContainerSummary, isAlive } from '../container/container.ts';
import type { EngineRoute, OwnRoutes } from '../outside/outside.ts';
import { quoted } from '../text/printable.ts';

export type OwnWayFacts = {
  /** All containers of one engine. */
  readonly containers: readonly ContainerSummary[];
  /** The container that we run in, which may belong to another engine; undefined outside of one. */
  readonly ownId: string | undefined;
  /** Undefined for an engine in memory, which needs no way. */
  readonly routes: OwnRoutes | undefined;
};

/**
 * The containers of an engine that carry this process's connection to it, or to another engine: a proxy of the socket, a
 * tunnel. While one of them is stopped or has another name, the engine cannot be reached, so this process could neither
 * finish nor undo its update. By id, with the reason, which follows the name.
 */
export function ownWays({ containers, ownId, routes }: OwnWayFacts): ReadonlyMap<string, string> {
  const ways = new Map<string, string>();
  if (routes === undefined) return ways;
  const others = containers.filter(({ id, status }) => id !== ownId && isAlive(status));
  const own = containers.find(({ id }) => id === ownId);
  // Another engine's network cannot be told from here, unless we are on this engine's host ourselves.
  const isHere = own !== undefined || (ownId === undefined && isOnThisHost(routes.own));
  for (const { engine, route } of isHere ? routes.others : [])
    for (const { id } of carriersOf(route, { others, own, isOwnEngine: false }))
      ways.set(id, `is the way of Upkeep to the engine ${quoted(engine)}`);
  for (const { id } of carriersOf(routes.own, { others, own, isOwnEngine: true }))
    ways.set(id, 'is the way of Upkeep to the engine');
  return ways;
}

type Seen = {
  /** The containers but our own. */
  readonly others: readonly ContainerSummary[];
  readonly own: ContainerSummary | undefined;
  /** Whether the route leads to the engine of these containers. */
  readonly isOwnEngine: boolean;
};

function carriersOf(route: EngineRoute, seen: Seen): readonly ContainerSummary[] {
  if (route.kind === 'socket') return seen.isOwnEngine ? socketProxies(route.path, seen) : [];
  const entrances = entrancesOf(route, seen);
  // An entrance without the socket, such as a TLS terminator, passes everything on to a proxy that has it.
  if (!seen.isOwnEngine || entrances.length === 0 || entrances.some(hasEngineSocket)) return entrances;
  const behind = seen.others.filter((one) => hasEngineSocket(one) && entrances.some((door) => shareNetwork(one, door)));
  return [...entrances, ...preferProxies(behind)];
}

/** The containers at which a connection arrives, by its address. The most certain kind of evidence alone counts. */
function entrancesOf({ host, port, peer }: Exclude<EngineRoute, { kind: 'socket' }>, seen: Seen) {
  const { others, own, isOwnEngine } = seen;
  const address = peer ?? host;
  const isLoop = isLoopback(address);
  const isPrivate = own !== undefined && !isInHostNetwork(own);
  if (isLoop && isPrivate) return preferProxies(others.filter((one) => sharesNamespace(one, own) && opens(one, port)));
  const addressed = isLoop
    ? []
    : others.filter(({ reach }) => reach?.networks.some((each) => each.address === address));
  if (addressed.length > 0) return addressed;
  if (!isOwnEngine && !isLoop && !leadsToOwnHost(address, host, own)) return [];
  const published = others.filter(({ reach }) =>
    reach?.ports.some(({ protocol, hostPort, hostAddress }) => {
      return protocol === 'tcp' && hostPort === port && isHeardAt(hostAddress, address);
    }),
  );
  if (published.length > 0 || !isOwnEngine) return published;
  // The list shows no ports of a container in the network of the host.
  return others.filter((one) => isInHostNetwork(one) && hasEngineSocket(one) && isCalledProxy(one));
}

/** The proxies that made the socket at this path: they have a mount with it, and another socket of an engine. */
function socketProxies(path: string, { others, own }: Seen): readonly ContainerSummary[] {
  const outside = own === undefined ? path : pathOutside(path, own.reach?.mounts ?? []);
  if (outside === undefined || usualSocket.test(outside)) return [];
  return others.filter(({ reach }) => {
    const mounts = reach?.mounts ?? [];
    const makes = mounts.filter(({ source }) => isWithin(outside, source));
    return makes.length > 0 && mounts.some((mount) => !makes.includes(mount) && isEngineSocket(mount));
  });
}

type Mount = ContainerReach['mounts'][number];

/** Where a path inside a container is on its host; undefined if it is not in a mount. */
function pathOutside(path: string, mounts: readonly Mount[]): string | undefined {
  const [mount] = mounts
    .filter(({ target }) => isWithin(path, target))
    .toSorted((one, other) => other.target.length - one.target.length);
  return mount && mount.source + path.slice(mount.target.length);
}

function isWithin(path: string, folder: string): boolean {
  return folder !== '' && (path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`));
}

/** Where engines make their sockets themselves. */
const usualSocket = /^\/(?:var\/)?run\/(?:user\/\d+\/)?(?:docker|podman\/podman)\.sock$/;

function hasEngineSocket({ reach }: ContainerSummary): boolean {
  return reach?.mounts.some(isEngineSocket) === true;
}

/** The socket of an engine, or the folder with it. */
function isEngineSocket({ source, target }: Mount): boolean {
  return (
    /(?:docker|podman|engine)[^/]*\.sock$|^\/(?:var\/)?run\/?$/.test(source) ||
    /\/(?:docker|podman)\.sock$/.test(target)
  );
}

/** Of several programs with the engine's socket, those that are called a proxy, if any is. */
function preferProxies(candidates: readonly ContainerSummary[]): readonly ContainerSummary[] {
  const proxies = candidates.filter(isCalledProxy);
  return proxies.length > 0 ? proxies : candidates;
}

function isCalledProxy({ name, image }: ContainerSummary): boolean {
  return /proxy|tunnel/i.test(`${name} ${image}`);
}

function isInHostNetwork({ networkMode }: ContainerSummary): boolean {
  return networkMode === 'host';
}

function shareNetwork(one: ContainerSummary, other: ContainerSummary): boolean {
  const ids = new Set(one.reach?.networks.map(({ id }) => id));
  return other.reach?.networks.some(({ id }) => ids.has(id)) === true;
}

/** Whether both have the network of one of them, or of one third container. */
function sharesNamespace(one: ContainerSummary, other: ContainerSummary): boolean {
  const owner = ({ id, networkMode }: ContainerSummary) => /^container:(.+)$/.exec(networkMode)?.[1] ?? id;
  const means = (reference: string, { id, name }: ContainerSummary) => reference === id || reference === name;
  return owner(one) === owner(other) || means(owner(one), other) || means(owner(other), one);
}

/** Whether it may be what listens at a port of the namespace that it shares. */
function opens(one: ContainerSummary, port: number): boolean {
  return hasEngineSocket(one) || one.reach?.ports.some((each) => each.port === port) === true;
}

/** Whether a connection to an address of the host arrives at a port that is published on this one. */
function isHeardAt(hostAddress: string, address: string): boolean {
  if (hostAddress === '' || hostAddress === '0.0.0.0' || hostAddress === '::') return true;
  return hostAddress === address || (isLoopback(hostAddress) && isLoopback(address));
}

function isLoopback(address: string): boolean {
  return /^(?:127\.|::1$|localhost$)/.test(address);
}

/** Whether an address is the host's, as seen from our own container. */
function leadsToOwnHost(address: string, host: string, own: ContainerSummary | undefined): boolean {
  const isGateway = own?.reach?.networks.some(({ gateway }) => gateway === address) === true;
  return isGateway || /^(?:host|gateway)\.(?:docker|containers)\.internal$/.test(host);
}

function isOnThisHost(route: EngineRoute): boolean {
  return route.kind === 'socket' || (route.kind === 'tcp' && isLoopback(route.peer ?? route.host));
}

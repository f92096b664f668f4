import type { SelfUpdate, DesiredEndState } from '../settings/effective-settings.ts';
import { removesItself } from '../transaction/journal.ts';
import { type Container, type ContainerReach, type ContainerSummary, isAlive } from '../container/container.ts';
import { composePrefix } from '../container/lookup.ts';
import type { EngineRoute, OwnRoutes } from '../outside/outside.ts';
import { quoted } from '../text/printable.ts';
import { isEngineSocket } from './helper.ts';

type OwnWayFacts = {
  /** All containers of one engine. */
  readonly containers: readonly ContainerSummary[];
  /** The container that we run in, which may belong to another engine; undefined outside of one. */
  readonly ownId: string | undefined;
  /** Undefined for an engine in memory, which needs no way. */
  readonly routes: OwnRoutes | undefined;
  /** The containers of `doubtfulWays()`, by id, as far as they could be inspected. */
  readonly inspected?: ReadonlyMap<string, Container>;
};

/** A container that this process must not stop. */
export type OwnWay = {
  /** Follows its name. */
  readonly reason: string;
  /** The container with the engine's socket, which a helper mounts to replace the way. Absent: no helper can. */
  readonly socketOf?: string;
  /** Why no helper can, as the end of a sentence; may be empty. Absent: a helper can. */
  readonly byHand?: string;
};

/** By id. */
export type OwnWays = ReadonlyMap<string, OwnWay>;

/**
 * The containers of an engine that carry this process's connection to it, or to another engine: a proxy of the socket, a
 * tunnel. While one of them is stopped or has another name, the engine cannot be reached, so this process could neither
 * finish nor undo its update.
 */
export function ownWays({ containers: listed, ownId, routes, inspected = new Map() }: OwnWayFacts): OwnWays {
  const ways = new Map<string, OwnWay>();
  if (routes === undefined) return ways;
  const containers = inTheirNetworks(listed.map((one) => withInspection(one, inspected.get(one.id))));
  const others = containers.filter(({ id, status }) => id !== ownId && isAlive(status));
  const own = containers.find(({ id }) => id === ownId);
  const seen = { others, own, inspected };
  for (const { engine, route } of routesFromHere(routes, own, ownId))
    for (const { id } of carriersOf(route, { ...seen, isOwnEngine: false }))
      ways.set(id, { reason: `carries the connection of Upkeep to the engine ${quoted(engine)}`, byHand: '' });
  const carriers = carriersOf(routes.own, { ...seen, isOwnEngine: true });
  for (const one of carriers)
    ways.set(one.id, {
      reason: 'carries the connection of Upkeep to the engine',
      ...helpFor(
        own,
        [one, ...carriers].find((each) => holdsEngineSocket(each, others)),
      ),
    });
  return ways;
}

/** Another engine's network cannot be told from here, unless we are on this engine's host ourselves. */
function routesFromHere(
  routes: OwnRoutes,
  own: ContainerSummary | undefined,
  ownId: string | undefined,
): OwnRoutes['others'] {
  return own !== undefined || (ownId === undefined && isOnThisHost(routes.own)) ? routes.others : [];
}

/** A helper is made of our own container, with the socket of a carrier. */
function helpFor(
  own: ContainerSummary | undefined,
  carrier: ContainerSummary | undefined,
): Pick<OwnWay, 'socketOf' | 'byHand'> {
  if (own === undefined) return { byHand: ', because Upkeep does not run in a container of this engine' };
  if (carrier === undefined) return { byHand: ', because no mount of it has the socket of the engine' };
  return { socketOf: carrier.id };
}

/**
 * Ids of the containers that must be inspected to find the ways: the list shows no ports of a container in the network
 * of the host, and Podman's not even that it is there, or no mounts at all. Nor does a list show what an entrance without
 * the socket passes connections on to. Empty where this process uses the engines' own sockets.
 */
export function doubtfulWays({ containers: listed, ownId, routes }: Omit<OwnWayFacts, 'inspected'>): readonly string[] {
  if (routes === undefined) return [];
  const containers = inTheirNetworks(listed);
  const own = containers.find(({ id }) => id === ownId);
  const others = containers.filter(({ id, status }) => id !== ownId && isAlive(status));
  const seen: Seen = { others, own, isOwnEngine: false, inspected: new Map() };
  const elsewhere = routesFromHere(routes, own, ownId).flatMap(({ route }) => {
    if (route.kind === 'socket') return [];
    const entrances = entrancesOf(route, seen);
    if (entrances.length > 0) return idsOf(connectedTo(entrances, others));
    return isOnThisHost(route) ? idsOf(others.filter((one) => isInHostNetwork(one) || hasUnknownNetwork(one))) : [];
  });
  return [...new Set([...doubtfulHere(routes.own, containers, { ...seen, isOwnEngine: true }), ...elsewhere])];
}

function doubtfulHere(route: EngineRoute, containers: readonly ContainerSummary[], seen: Seen): readonly string[] {
  const { others, own } = seen;
  const alive = containers.filter(({ status }) => isAlive(status));
  const showsMounts = containers.some(({ reach }) => (reach?.mounts.length ?? 0) > 0);
  if (route.kind === 'socket') {
    if (usualSocket.test(route.path)) return [];
    if (!showsMounts) return alive.map(({ id }) => id);
    const outside = outsideOf(route.path, own);
    if (makersOf(outside, others).some((one) => holdsEngineSocket(one, others))) return [];
    const near = others.filter((one) => mountsFolderOf(one, outside));
    return idsOf(connectedTo(near, others));
  }
  const entrances = entrancesOf(route, seen);
  const hosts = alive.filter((one) => (one !== own && isInHostNetwork(one)) || hasUnknownNetwork(one));
  if (showsMounts) {
    if (entrances.every(isInHostNetwork)) return idsOf(hosts);
    const isDoor = entrances.some((one) => holdsEngineSocket(one, others));
    return idsOf(isDoor ? containersBeside(entrances, others) : connectedTo(entrances, others));
  }
  const isNear = (one: ContainerSummary) =>
    entrances.some((door) => shareNetwork(one, door)) || (own !== undefined && sharesNamespace(one, own));
  return [...new Set([...entrances, ...others.filter(isNear), ...hosts])].map(({ id }) => id);
}

function idsOf(containers: readonly ContainerSummary[]): readonly string[] {
  return containers.map(({ id }) => id);
}

/** Podman's list does not tell the network of the host, or of another container, from none. */
function hasUnknownNetwork({ networkMode, reach }: ContainerSummary): boolean {
  return networkMode === '' && (reach?.networks.length ?? 0) === 0;
}

/** With the mounts and the network that an inspection shows. */
function withInspection(one: ContainerSummary, container: Container | undefined): ContainerSummary {
  if (container === undefined) return one;
  const { ports = [], networks = [] } = one.reach ?? {};
  const { HostConfig, Mounts } = container.settings;
  const networkMode = one.networkMode || (HostConfig.NetworkMode ?? '');
  const mounts = Mounts.map(({ Source, Destination }) => ({
    source: Source ?? '',
    target: Destination,
  }));
  return { ...one, networkMode, reach: { ports, networks, mounts } };
}

/** One in the network of another container is reached at the addresses of that one; the list shows none for it. */
function inTheirNetworks(containers: readonly ContainerSummary[]): readonly ContainerSummary[] {
  return containers.map((one) => {
    const { networks } = ownerOf(one, containers)?.reach ?? {};
    const { ports, mounts } = one.reach ?? { ports: [], mounts: [] };
    return networks === undefined ? one : { ...one, reach: { ports, mounts, networks } };
  });
}

type Seen = {
  /** The containers but our own. */
  readonly others: readonly ContainerSummary[];
  readonly own: ContainerSummary | undefined;
  /** Whether the route leads to the engine of these containers. */
  readonly isOwnEngine: boolean;
  readonly inspected: ReadonlyMap<string, Container>;
};

function carriersOf(route: EngineRoute, seen: Seen): readonly ContainerSummary[] {
  const { others, own, isOwnEngine } = seen;
  const ofSocket = isOwnEngine && route.kind === 'socket' ? socketEntrances(route.path, seen) : [];
  const arrival = route.kind === 'socket' ? { entrances: ofSocket, beside: [] } : arrivalOf(route, seen);
  const carriers = (isOwnEngine ? withHopsBehind : withHopsToElsewhere)(arrival, seen);
  // The network of one that is stopped is gone for those that use it.
  const owners = carriers.flatMap((one) => ownerOf(one, others) ?? []);
  return [...new Set([...carriers, ...owners.filter((one) => own === undefined || !sharesNamespace(one, own))])];
}

type Arrival = {
  readonly entrances: readonly ContainerSummary[];
  /** May pass on what arrives: these use the network of an entrance, and nothing shows which of them listens. */
  readonly beside: readonly ContainerSummary[];
};

/**
 * The containers that have the address, and those that listen there because they use the network of such a one: by the
 * port, or by the socket. A client in this network has the port in an address only.
 */
function arrivalOf(route: Exclude<EngineRoute, { kind: 'socket' }>, seen: Seen): Arrival {
  const { others, inspected, isOwnEngine } = seen;
  const doors = entrancesOf(route, seen);
  const beside = containersBeside(doors, others);
  const { port } = route;
  const inside = doors.flatMap(({ reach }) => reach?.ports.filter(({ hostPort }) => hostPort === port) ?? []);
  const listens = (one: ContainerSummary) => {
    const config = inspected.get(one.id)?.settings.Config;
    const words = wordsOf(config).map((word) => word.replace(loopbackPort, ''));
    return [port, ...inside.map((each) => each.port)].some((each) => isExposedBy(config, each) || isSetTo(each, words));
  };
  const holds = (one: ContainerSummary) => isOwnEngine && holdsEngineSocket(one, others);
  const isDoor = doors.some(holds);
  const holders = isDoor ? [] : preferProxies(beside.filter(holds));
  const entrances = [...new Set([...doors, ...holders, ...beside.filter(listens)])];
  return { entrances, beside: isDoor || entrances.length > doors.length ? [] : beside };
}

/** Containers in the network of one of the doors. */
function containersBeside(doors: readonly ContainerSummary[], others: readonly ContainerSummary[]) {
  return others.filter((one) => !doors.includes(one) && doors.some((door) => sharesNamespace(one, door)));
}

/**
 * An entrance without the engine's socket, such as a TLS terminator, passes everything on, perhaps through others, to a
 * container that has it. Settings that name the next container are the evidence, else common networks.
 */
function withHopsBehind({ entrances, beside }: Arrival, seen: Seen): readonly ContainerSummary[] {
  const holds = (one: ContainerSummary) => holdsEngineSocket(one, seen.others);
  if (entrances.length === 0 || entrances.some(holds)) return entrances;
  const leading = hopsTo(holds, [...entrances, ...beside], (one) => (holds(one) ? [] : hopsOf(one, seen)));
  return [...new Set([...entrances, ...(leading.size > 0 ? leading : nearestHolders(entrances, seen))])];
}

/**
 * An entrance to another engine may also pass connections on to others here, such as a tunnel. A reverse proxy names its
 * applications in the same way, so the last one must look like a way to an engine. The socket of this engine is none.
 */
function withHopsToElsewhere({ entrances, beside }: Arrival, seen: Seen): readonly ContainerSummary[] {
  const words = ({ id }: ContainerSummary) => wordsOf(seen.inspected.get(id)?.settings.Config);
  const isBeside = (one: ContainerSummary, next: ContainerSummary) =>
    Array.from(words(one).join(' ').matchAll(loopbackPort), ([, port]) => Number(port)).some((port) =>
      listenersOfHost(port, seen).includes(next),
    );
  const hops = (one: ContainerSummary) =>
    hopsOf(one, seen).filter((next) =>
      isInHostNetwork(next) ? isBeside(one, next) : !holdsEngineSocket(next, seen.others),
    );
  const leadsToEngine = (one: ContainerSummary) =>
    /ssh|tunnel/i.test(`${one.name} ${one.image}`) ||
    one.reach?.ports.some(({ port }) => port === 2375 || port === 2376) === true ||
    words(one).some((word) => engineAddress.test(word));
  return [...new Set([...entrances, ...hopsTo(leadsToEngine, [...entrances, ...beside], hops)])];
}

const loopbackPort = /(?:localhost|127\.0\.0\.1|\[::1\]):(\d+)/g;

const engineAddress = /(?<!\d)237[56](?!\d)|(?:docker|podman)\.sock|^ssh:/;

/** The containers from the entrances to those that are an end, over as many hops as there are. */
function hopsTo(
  isEnd: (one: ContainerSummary) => boolean,
  entrances: readonly ContainerSummary[],
  hopsFrom: (one: ContainerSummary) => readonly ContainerSummary[],
): ReadonlySet<ContainerSummary> {
  const hops = new Map<ContainerSummary, readonly ContainerSummary[]>();
  const reached = new Set(entrances);
  // A Set may grow during iteration; added containers are visited too.
  for (const one of reached) {
    const next = hopsFrom(one);
    hops.set(one, next);
    for (const each of next) reached.add(each);
  }
  const leading = new Set([...reached].filter(isEnd));
  for (const next of leading) for (const [one, of] of hops) if (of.includes(next)) leading.add(one);
  return leading;
}

/** The containers that one passes connections on to, by its settings: a name, an address, a port of the host, a socket. */
function hopsOf(one: ContainerSummary, { others, inspected }: Seen): readonly ContainerSummary[] {
  const words = wordsOf(inspected.get(one.id)?.settings.Config);
  const says = (pattern: string) => {
    const expression = new RegExp(pattern, 'i');
    return words.some((word) => expression.test(word));
  };
  const saysHost = (name: string) => says(`(?:^|[/:=@,\\s])${literally(name)}(?=:\\d|$)`);
  const isNamed = (other: ContainerSummary) => {
    const isBeside = sharesNamespace(one, other) || (isInHostNetwork(one) && isInHostNetwork(other));
    if (isBeside) return says('(?:localhost|127\\.0\\.0\\.1|\\[::1\\]):\\d');
    const named = [other, ownerOf(other, others) ?? other];
    return shareNetwork(one, other) && named.some((each) => namesOf(each, inspected.get(each.id)).some(saysHost));
  };
  const isPublished = ({ reach }: ContainerSummary) =>
    reach?.ports.some(({ hostPort }) => hostPort > 0 && says(`(?:${ownHost}):${hostPort}(?!\\d)`)) === true;
  const made = (one.reach?.mounts ?? []).flatMap((mount) => {
    if (isEngineSocket(mount)) return makersOf(mount.source, others);
    const inside = new RegExp(`${literally(mount.target)}(/[\\w./-]+)`);
    return words.flatMap((word) => {
      const path = inside.exec(word)?.[1];
      return path === undefined ? [] : makersOf(mount.source + path, others);
    });
  });
  return others.filter((other) => other !== one && (isNamed(other) || isPublished(other) || made.includes(other)));
}

/** Names of the host for its containers, as an expression. */
const ownHost = '\\d+(?:\\.\\d+){3}|localhost|(?:host|gateway)\\.(?:docker|containers)\\.internal';

/** By which other containers of its networks reach one. */
function namesOf({ id, name, labels, reach }: ContainerSummary, container: Container | undefined): readonly string[] {
  const aliases = Object.values(container?.settings.Networks ?? {}).flatMap(({ Aliases }) => Aliases ?? []);
  const addresses = reach?.networks.map(({ address }) => address) ?? [];
  const service = labels[`${composePrefix}service`] ?? '';
  return [name, id.slice(0, 12), service, ...aliases, ...addresses].filter((each) => each !== '');
}

/** The variables' values and the arguments of a container. */
function wordsOf(config: Container['settings']['Config'] | undefined): readonly string[] {
  const values = (config?.Env ?? []).map((line) => line.slice(line.indexOf('=') + 1));
  return [...values, ...(config?.Entrypoint ?? []), ...(config?.Cmd ?? [])];
}

function literally(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}

/** The containers with the engine's socket that are the fewest networks away, and the containers between. */
function nearestHolders(entrances: readonly ContainerSummary[], { others }: Seen): readonly ContainerSummary[] {
  const levels = [entrances];
  const visited = new Set(entrances);
  for (let level = entrances; level.length > 0; levels.push(level)) {
    const next = others.filter((one) => !visited.has(one) && level.some((other) => shareNetwork(one, other)));
    for (const one of next) visited.add(one);
    const holders = preferProxies(next.filter((one) => holdsEngineSocket(one, others)));
    if (holders.length > 0) {
      // A proxy without the socket in the same networks may be between too.
      const between = next.filter((one) => isCalledProxy(one) && holders.some((each) => shareNetwork(one, each)));
      const path = [...holders, ...between];
      let behind = holders;
      for (const earlier of levels.slice(1).toReversed()) {
        behind = earlier.filter((one) => behind.some((other) => shareNetwork(one, other)));
        path.push(...behind);
      }
      return path;
    }
    level = next;
  }
  const isOpen = (one: ContainerSummary) =>
    isInHostNetwork(one) || one.reach?.ports.some(({ hostPort }) => hostPort > 0);
  return others.filter((one) => isCalledProxy(one) && holdsEngineSocket(one, others) && isOpen(one));
}

/** These containers, and all to which their networks lead, through others too. */
function connectedTo(
  containers: readonly ContainerSummary[],
  others: readonly ContainerSummary[],
): readonly ContainerSummary[] {
  const connected = new Set(containers);
  for (const one of connected)
    for (const other of others) if (shareNetwork(one, other) || sharesNamespace(one, other)) connected.add(other);
  return [...connected];
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
    : others.filter(
        (one) => !ofOther.test(one.networkMode) && one.reach?.networks.some((each) => each.address === address),
      );
  if (addressed.length > 0) return addressed;
  if (!isOwnEngine && !isLoop && !leadsToOwnHost(address, host, own)) return [];
  const published = others.filter(({ reach }) =>
    reach?.ports.some(({ protocol, hostPort, hostAddress }) => {
      return protocol === 'tcp' && hostPort === port && isHeardAt(hostAddress, address);
    }),
  );
  return published.length > 0 ? published : listenersOfHost(port, seen);
}

/** Containers that may listen at a port of the host itself: by the port, or else by the word "proxy". */
function listenersOfHost(port: number, { others, inspected, isOwnEngine }: Seen): readonly ContainerSummary[] {
  const hosts = others.filter(isInHostNetwork);
  const proxies = isOwnEngine ? hosts.filter(hasEngineSocket) : hosts;
  const settingsOf = ({ id }: ContainerSummary) => inspected.get(id)?.settings.Config;
  const isExposed = (one: ContainerSummary) => isExposedBy(settingsOf(one), port);
  const evident = [proxies.filter((one) => isExposed(one) || isSetTo(port, wordsOf(settingsOf(one))))];
  if (isOwnEngine) evident.push(hosts.filter(isExposed), proxies.filter(isCalledProxy));
  return evident.find(({ length }) => length > 0) ?? [];
}

function isExposedBy(config: Container['settings']['Config'] | undefined, port: number): boolean {
  return config?.ExposedPorts?.[`${port}/tcp`] !== undefined;
}

/** Whether a setting or an argument is this port. An address such as `tcp://host:2375` is where a client connects to. */
function isSetTo(port: number, words: readonly string[]): boolean {
  const isPort = new RegExp(`(?<![\\d.])${port}(?![\\d.])`);
  return words.some((word) => isPort.test(word.replace(/\/\/(?!0\.0\.0\.0|\[::\]|\*)[^/\s]*/g, '')));
}

/** The containers that made the socket at this path of ours. */
function socketEntrances(path: string, { others, own, inspected }: Seen): readonly ContainerSummary[] {
  const outside = outsideOf(path, own);
  const makers = makersOf(outside, others);
  if (makers.length > 0) return makers;
  // One without the engine's socket is known by its settings. A client of the socket names it as an address.
  return others.filter((one) => {
    const inside = (one.reach?.mounts ?? []).flatMap(({ source, target }) =>
      isBelow(outside, source) ? [target + outside.slice(source.length)] : [],
    );
    const names = wordsOf(inspected.get(one.id)?.settings.Config).map((word) =>
      word.replace(/(?:unix:|unix-connect:)\S*/gi, ''),
    );
    return inside.some((socket) => names.some((word) => word.includes(socket)));
  });
}

/** The proxies that made the socket at this path: they have a mount with it, and another socket of an engine. */
function makersOf(outside: string, others: readonly ContainerSummary[]): readonly ContainerSummary[] {
  if (outside === '' || usualSocket.test(outside)) return [];
  return others.filter(({ reach }) => {
    const mounts = reach?.mounts ?? [];
    const makes = mounts.filter(({ source }) => source !== '/' && isWithin(outside, source));
    return makes.length > 0 && mounts.some((mount) => !makes.includes(mount) && isEngineSocket(mount));
  });
}

function mountsFolderOf({ reach }: ContainerSummary, outside: string): boolean {
  return !usualSocket.test(outside) && reach?.mounts.some(({ source }) => isBelow(outside, source)) === true;
}

/** Where a path of ours is on the host; empty if it is not known. */
function outsideOf(path: string, own: ContainerSummary | undefined): string {
  return own === undefined ? path : (pathOutside(path, own.reach?.mounts ?? []) ?? '');
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

function isBelow(path: string, folder: string): boolean {
  return folder !== '/' && path !== folder && isWithin(path, folder);
}

/** Where engines make their sockets themselves, and the folders of them. */
const usualSocket = /^\/(?:var\/)?run(?:\/(?:user\/\d+\/)?(?:docker|podman\/podman)\.sock|\/?)$/;

function hasEngineSocket({ reach }: ContainerSummary): boolean {
  return reach?.mounts.some(isEngineSocket) === true;
}

/** Whether a socket that one mounts is the engine's, and not made by another container. */
function holdsEngineSocket(one: ContainerSummary, others: readonly ContainerSummary[]): boolean {
  const isMade = (source: string) => makersOf(source, others).some((maker) => maker.id !== one.id);
  return one.reach?.mounts.some((mount) => isEngineSocket(mount) && !isMade(mount.source)) === true;
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
  const owner = ({ id, networkMode }: ContainerSummary) => ofOther.exec(networkMode)?.[1] ?? id;
  return owner(one) === owner(other) || means(owner(one), other) || means(owner(other), one);
}

const ofOther = /^container:(.+)$/;

function means(reference: string, { id, name }: ContainerSummary): boolean {
  return reference === id || reference === name;
}

/** The container whose network one uses; undefined for its own network. */
function ownerOf(
  { networkMode }: ContainerSummary,
  containers: readonly ContainerSummary[],
): ContainerSummary | undefined {
  const owner = ofOther.exec(networkMode)?.[1];
  return owner === undefined ? undefined : containers.find((one) => means(owner, one));
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

type Replacement = {
  readonly selfUpdate: SelfUpdate;
  /** The containers that would be replaced with it, by id, with their state after it. */
  readonly moved: ReadonlyMap<string, DesiredEndState>;
};

/** Why Upkeep does not hand the update of its own container to a helper; undefined when it does. */
export function whyNotSelfUpdated(container: Container, replacement: Replacement): string | undefined {
  const why = whyOff[replacement.selfUpdate](container);
  return why === undefined ? whyNotByHelper(container, replacement, 'is Upkeep itself') : `is Upkeep itself, ${why}`;
}

/** The same for the engine's door. `reason` follows its name, as in `OwnWay`. */
export function whyNoDoorUpdate(container: Container, replacement: Replacement, reason: string): string | undefined {
  const why = whyNoDoor[replacement.selfUpdate];
  return why === undefined ? whyNotByHelper(container, replacement, reason) : `${reason}, ${why}`;
}

function whyNotByHelper(container: Container, { moved }: Replacement, reason: string): string | undefined {
  if (moved.size > 1) return `${reason}, which is only replaced alone`;
  if (removesItself(container)) return `${reason}, and is removed by the engine as soon as it stops (--rm)`;
  return moved.get(container.id) === 'running' ? undefined : `${reason}, which must not stay stopped`;
}

/** Whether host ports lead into the container. */
export function publishesPorts({ settings: { HostConfig } }: Container): boolean {
  const bindings = Object.values(HostConfig.PortBindings ?? {});
  return HostConfig.PublishAllPorts === true || bindings.some((bound) => bound !== null && bound.length > 0);
}

/** The ports of our own container do not matter: a helper has none. */
const whyNoDoor: Readonly<Record<SelfUpdate, string | undefined>> = {
  on: undefined,
  'unless-published': undefined,
  off: 'and self-update is off',
  'not-by-this-command': 'which only the running service replaces',
  'not-main-process': 'and Upkeep is not the main process of its container: update it by hand',
};

const whyOff: Readonly<Record<SelfUpdate, (container: Container) => string | undefined>> = {
  on: () => undefined,
  'unless-published': (container) =>
    publishesPorts(container)
      ? 'and self-update is off because the HTTP API is on and the container publishes ports: recreate it by hand'
      : undefined,
  off: () => 'and self-update is off',
  'not-by-this-command': () => 'which only the running service replaces',
  'not-main-process': () => 'which is not the main process of the container: recreate it by hand',
};

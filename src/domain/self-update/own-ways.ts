import { type Container, type ContainerSummary, isAlive } from '../container/container.ts';
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
export function ownWays({ routes, ...facts }: OwnWayFacts): OwnWays {
  const ways = new Map<string, OwnWay>();
  if (routes === undefined) return ways;
  const view = viewOf(facts, routes);
  const elsewhere = searchIn(view, false);
  for (const { engine, route } of view.otherRoutes)
    for (const { id } of elsewhere.carriersOf(route))
      ways.set(id, { reason: `carries the connection of Upkeep to the engine ${quoted(engine)}`, byHand: '' });
  const here = searchIn(view, true);
  const carriers = here.carriersOf(routes.own);
  for (const one of carriers) {
    // A helper is made of our own container, with the socket of a carrier.
    const holder = [one, ...carriers].find(here.holdsSocket);
    const byHand =
      view.own === undefined
        ? ', because Upkeep does not run in a container of this engine'
        : ', because no mount of it has the socket of the engine';
    const help = view.own !== undefined && holder !== undefined ? { socketOf: holder.id } : { byHand };
    ways.set(one.id, { reason: 'carries the connection of Upkeep to the engine', ...help });
  }
  return ways;
}

/**
 * Ids of the containers that must be inspected to find the ways: the list shows no ports of a container in the network
 * of the host, and Podman's not even that it is there, or no mounts at all. Nor does a list show what an entrance without
 * the socket passes connections on to. Empty where this process uses the engines' own sockets.
 */
export function doubtfulWays({ routes, ...facts }: Omit<OwnWayFacts, 'inspected'>): readonly string[] {
  if (routes === undefined) return [];
  const view = viewOf(facts, routes);
  const { entrancesOf, connectedTo } = searchIn(view, false);
  const elsewhere = view.otherRoutes.flatMap(({ route }) => {
    if (route.kind === 'socket') return [];
    const entrances = entrancesOf(route);
    if (entrances.length > 0) return connectedTo(entrances);
    return isOnThisHost(route) ? view.others.filter((one) => isInHostNetwork(one) || hasUnknownNetwork(one)) : [];
  });
  return [...new Set([...doubtfulHere(view, routes.own), ...elsewhere].map(({ id }) => id))];
}

function doubtfulHere(view: View, route: EngineRoute): readonly Listed[] {
  const { containers, others, own } = view;
  const { entrancesOf, connectedTo, makersOf, outsideOf, beside, holdsSocket } = searchIn(view, true);
  const alive = containers.filter(({ status }) => isAlive(status));
  const showsMounts = containers.some(({ reach }) => reach.mounts.length > 0);
  if (route.kind === 'socket') {
    if (usualSocket.test(route.path)) return [];
    if (!showsMounts) return alive;
    const outside = outsideOf(route.path);
    if (makersOf(outside).some(holdsSocket)) return [];
    const mountsFolder = ({ reach }: Listed) => reach.mounts.some(({ source }) => isBelow(outside, source));
    return connectedTo(usualSocket.test(outside) ? [] : others.filter(mountsFolder));
  }
  const entrances = entrancesOf(route);
  const hosts = alive.filter((one) => (one !== own && isInHostNetwork(one)) || hasUnknownNetwork(one));
  if (showsMounts) {
    if (entrances.every(isInHostNetwork)) return hosts;
    return entrances.some(holdsSocket) ? beside(entrances) : connectedTo(entrances);
  }
  const isNear = (one: Listed) =>
    entrances.some((door) => shareNetwork(one, door)) || (own !== undefined && sharesNamespace(one, own));
  return [...entrances, ...others.filter(isNear), ...hosts];
}

type Listed = ContainerSummary & Required<Pick<ContainerSummary, 'reach'>>;

type View = ReturnType<typeof viewOf>;

/** The containers of an engine, as this process sees them. */
function viewOf({ containers: listed, ownId, inspected = new Map() }: Omit<OwnWayFacts, 'routes'>, routes: OwnRoutes) {
  const shown = listed.map((one) => withInspection(one, inspected.get(one.id)));
  const containers = shown.map((one): Listed => {
    // One in the network of another container is reached at the addresses of that one; the list shows none for it.
    const { networks } = ownerOf(one, shown)?.reach ?? {};
    return { ...one, reach: { ports: [], networks: [], mounts: [], ...one.reach, ...(networks && { networks }) } };
  });
  const own = containers.find(({ id }) => id === ownId);
  const others = containers.filter(({ id, status }) => id !== ownId && isAlive(status));
  // Another engine's network cannot be told from here, unless we are on this engine's host ourselves.
  const seesOthers = own !== undefined || (ownId === undefined && isOnThisHost(routes.own));
  return { containers, own, others, inspected, otherRoutes: seesOthers ? routes.others : [] };
}

/** With the mounts and the network that an inspection shows. */
function withInspection(one: ContainerSummary, container: Container | undefined): ContainerSummary {
  if (container === undefined) return one;
  const { ports = [], networks = [] } = one.reach ?? {};
  const { HostConfig, Mounts } = container.settings;
  const mounts = Mounts.map(({ Source, Destination }) => ({ source: Source ?? '', target: Destination }));
  return { ...one, networkMode: one.networkMode || (HostConfig.NetworkMode ?? ''), reach: { ports, networks, mounts } };
}

/** Finds the containers on the way to the engine of a view, or else to other engines. */
function searchIn({ own, others, inspected }: View, isOwnEngine: boolean) {
  return { carriersOf, entrancesOf, connectedTo, makersOf, outsideOf, beside, holdsSocket };

  function carriersOf(route: EngineRoute): readonly Listed[] {
    const carriers = isOwnEngine ? withHopsBehind(route) : withHopsToElsewhere(route);
    // The network of one that is stopped is gone for those that use it.
    const owners = carriers.flatMap((one) => ownerOf(one, others) ?? []);
    return [...new Set([...carriers, ...owners.filter((one) => own === undefined || !sharesNamespace(one, own))])];
  }

  /**
   * An entrance without the engine's socket, such as a TLS terminator, passes everything on, perhaps through others, to
   * a container that has it. Settings that name the next container are the evidence, else common networks.
   */
  function withHopsBehind(route: EngineRoute): readonly Listed[] {
    const { entrances, mayListen } = arrivalOf(route);
    if (entrances.length === 0 || entrances.some(holdsSocket)) return entrances;
    const leading = hopsTo(holdsSocket, [...entrances, ...mayListen], (one) => (holdsSocket(one) ? [] : hopsOf(one)));
    return [...new Set([...entrances, ...(leading.size > 0 ? leading : nearestHolders(entrances))])];
  }

  /**
   * An entrance to another engine may also pass connections on to others here, such as a tunnel. A reverse proxy names
   * its applications in the same way, so the last one must look like a way to an engine. The socket of this engine is
   * none.
   */
  function withHopsToElsewhere(route: EngineRoute): readonly Listed[] {
    const { entrances, mayListen } = arrivalOf(route);
    const portsIn = (one: Listed) =>
      Array.from(wordsOf(one).join(' ').matchAll(loopbackPort), ([, port]) => Number(port));
    const isBeside = (one: Listed, next: Listed) => portsIn(one).some((port) => listenersOfHost(port).includes(next));
    const hops = (one: Listed) =>
      hopsOf(one).filter((next) => (isInHostNetwork(next) ? isBeside(one, next) : !holdsSocket(next)));
    const leadsToEngine = (one: Listed) =>
      /ssh|tunnel/i.test(`${one.name} ${one.image}`) ||
      one.reach.ports.some(({ port }) => port === 2375 || port === 2376) ||
      wordsOf(one).some((word) => engineAddress.test(word));
    return [...new Set([...entrances, ...hopsTo(leadsToEngine, [...entrances, ...mayListen], hops)])];
  }

  /**
   * The containers that have the address, and those that listen there because they use the network of such a one: by
   * the port, or by the socket. A client in this network has the port in an address only. `mayListen`: those that use
   * the network of an entrance, where nothing shows which of them listens.
   */
  function arrivalOf(route: EngineRoute) {
    if (route.kind === 'socket') return { entrances: isOwnEngine ? socketEntrances(route.path) : [], mayListen: [] };
    const doors = entrancesOf(route);
    const near = beside(doors);
    const inside = doors.flatMap(({ reach }) => reach.ports.filter(({ hostPort }) => hostPort === route.port));
    const listens = (one: Listed) => {
      const words = wordsOf(one).map((word) => word.replace(loopbackPort, ''));
      return [route.port, ...inside.map(({ port }) => port)].some((each) => exposes(one, each) || isSetTo(each, words));
    };
    const holds = (one: Listed) => isOwnEngine && holdsSocket(one);
    const isDoor = doors.some(holds);
    const holders = isDoor ? [] : preferProxies(near.filter(holds));
    const entrances = [...new Set([...doors, ...holders, ...near.filter(listens)])];
    return { entrances, mayListen: isDoor || entrances.length > doors.length ? [] : near };
  }

  /** The containers at which a connection arrives, by its address. The most certain kind of evidence alone counts. */
  function entrancesOf({ host, port, peer }: Exclude<EngineRoute, { kind: 'socket' }>): readonly Listed[] {
    const address = peer ?? host;
    if (isLoopback(address)) {
      if (own === undefined || isInHostNetwork(own)) return published(port, address);
      const opens = ({ reach: { mounts, ports } }: Listed) =>
        mounts.some(isEngineSocket) || ports.some((each) => each.port === port);
      return preferProxies(others.filter((one) => sharesNamespace(one, own) && opens(one)));
    }
    const addressed = others.filter(
      (one) => !ofOther.test(one.networkMode) && one.reach.networks.some((each) => each.address === address),
    );
    if (addressed.length > 0) return addressed;
    const isGateway = own?.reach.networks.some(({ gateway }) => gateway === address) === true;
    const isOwnHost = isGateway || /^(?:host|gateway)\.(?:docker|containers)\.internal$/.test(host);
    return isOwnEngine || isOwnHost ? published(port, address) : [];
  }

  /** The containers at a port of the host. */
  function published(port: number, address: string): readonly Listed[] {
    const publish = others.filter(({ reach }) =>
      reach.ports.some((one) => one.protocol === 'tcp' && one.hostPort === port && isHeardAt(one.hostAddress, address)),
    );
    return publish.length > 0 ? publish : listenersOfHost(port);
  }

  /** Containers that may listen at a port of the host itself: by the port, or else by the word "proxy". */
  function listenersOfHost(port: number): readonly Listed[] {
    const hosts = others.filter(isInHostNetwork);
    const proxies = isOwnEngine ? hosts.filter(({ reach }) => reach.mounts.some(isEngineSocket)) : hosts;
    const isExposed = (one: Listed) => exposes(one, port);
    const evident = [proxies.filter((one) => isExposed(one) || isSetTo(port, wordsOf(one)))];
    if (isOwnEngine) evident.push(hosts.filter(isExposed), proxies.filter(isCalledProxy));
    return evident.find(({ length }) => length > 0) ?? [];
  }

  function exposes({ id }: Listed, port: number): boolean {
    return inspected.get(id)?.settings.Config.ExposedPorts?.[`${port}/tcp`] !== undefined;
  }

  /** The variables' values and the arguments of a container. */
  function wordsOf({ id }: Listed): readonly string[] {
    const { Env, Entrypoint, Cmd } = inspected.get(id)?.settings.Config ?? {};
    const values = (Env ?? []).map((line) => line.slice(line.indexOf('=') + 1));
    return [...values, ...(Entrypoint ?? []), ...(Cmd ?? [])];
  }

  /** The containers that one passes connections on to, by its settings: a name, an address, a port of the host, a socket. */
  function hopsOf(one: Listed): readonly Listed[] {
    const words = wordsOf(one);
    const says = (pattern: string) => {
      const expression = new RegExp(pattern, 'i');
      return words.some((word) => expression.test(word));
    };
    const isNamed = (other: Listed) => {
      const isBeside = sharesNamespace(one, other) || (isInHostNetwork(one) && isInHostNetwork(other));
      if (isBeside) return says('(?:localhost|127\\.0\\.0\\.1|\\[::1\\]):\\d');
      const saysHost = (name: string) => says(`(?:^|[/:=@,\\s])${literally(name)}(?=:\\d|$)`);
      return shareNetwork(one, other) && [other, ownerOf(other, others) ?? other].flatMap(namesOf).some(saysHost);
    };
    const isPublished = ({ reach }: Listed) =>
      reach.ports.some(({ hostPort }) => hostPort > 0 && says(`(?:${ownHost}):${hostPort}(?!\\d)`));
    const made = one.reach.mounts.flatMap((mount) => {
      if (isEngineSocket(mount)) return makersOf(mount.source);
      const inside = new RegExp(`${literally(mount.target)}(/[\\w./-]+)`);
      const paths = words.flatMap((word) => inside.exec(word)?.[1] ?? []);
      return paths.flatMap((path) => makersOf(mount.source + path));
    });
    return others.filter((other) => other !== one && (isNamed(other) || isPublished(other) || made.includes(other)));
  }

  /** By which other containers of its networks reach one. */
  function namesOf({ id, name, labels, reach }: Listed): readonly string[] {
    const endpoints = Object.values(inspected.get(id)?.settings.Networks ?? {});
    const aliases = endpoints.flatMap(({ Aliases }) => Aliases ?? []);
    const addresses = reach.networks.map(({ address }) => address);
    const service = labels[`${composePrefix}service`] ?? '';
    return [name, id.slice(0, 12), service, ...aliases, ...addresses].filter((each) => each !== '');
  }

  /** The containers with the engine's socket that are the fewest networks away, and the containers between. */
  function nearestHolders(entrances: readonly Listed[]): readonly Listed[] {
    const levels = [entrances];
    const visited = new Set(entrances);
    for (let level = entrances; level.length > 0; levels.push(level)) {
      const next = others.filter((one) => !visited.has(one) && level.some((other) => shareNetwork(one, other)));
      for (const one of next) visited.add(one);
      const holders = preferProxies(next.filter(holdsSocket));
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
    const isOpen = (one: Listed) => isInHostNetwork(one) || one.reach.ports.some(({ hostPort }) => hostPort > 0);
    return others.filter((one) => isCalledProxy(one) && holdsSocket(one) && isOpen(one));
  }

  /** The containers that made the socket at this path of ours. */
  function socketEntrances(path: string): readonly Listed[] {
    const outside = outsideOf(path);
    const makers = makersOf(outside);
    if (makers.length > 0) return makers;
    // One without the engine's socket is known by its settings. A client of the socket names it as an address.
    return others.filter((one) => {
      const inside = one.reach.mounts.flatMap(({ source, target }) =>
        isBelow(outside, source) ? [target + outside.slice(source.length)] : [],
      );
      const names = wordsOf(one).map((word) => word.replace(/(?:unix:|unix-connect:)\S*/gi, ''));
      return inside.some((socket) => names.some((word) => word.includes(socket)));
    });
  }

  /** Where a path of ours is on the host; empty if it is not known. */
  function outsideOf(path: string): string {
    if (own === undefined) return path;
    const [mount] = own.reach.mounts
      .filter(({ target }) => isWithin(path, target))
      .toSorted((one, other) => other.target.length - one.target.length);
    return mount === undefined ? '' : mount.source + path.slice(mount.target.length);
  }

  /** The proxies that made the socket at this path: they have a mount with it, and another socket of an engine. */
  function makersOf(outside: string): readonly Listed[] {
    if (outside === '' || usualSocket.test(outside)) return [];
    return others.filter(({ reach: { mounts } }) => {
      const makes = mounts.filter(({ source }) => source !== '/' && isWithin(outside, source));
      return makes.length > 0 && mounts.some((mount) => !makes.includes(mount) && isEngineSocket(mount));
    });
  }

  /** Whether a socket that one mounts is the engine's, and not made by another container. */
  function holdsSocket(one: Listed): boolean {
    const isMade = (source: string) => makersOf(source).some((maker) => maker.id !== one.id);
    return one.reach.mounts.some((mount) => isEngineSocket(mount) && !isMade(mount.source));
  }

  /** The other containers in the network of one of these. */
  function beside(doors: readonly Listed[]): readonly Listed[] {
    return others.filter((one) => !doors.includes(one) && doors.some((door) => sharesNamespace(one, door)));
  }

  /** These containers, and all to which their networks lead, through others too. */
  function connectedTo(containers: readonly Listed[]): readonly Listed[] {
    const connected = new Set(containers);
    for (const one of connected)
      for (const other of others) if (shareNetwork(one, other) || sharesNamespace(one, other)) connected.add(other);
    return [...connected];
  }
}

/** The containers from the entrances to those that are an end, over as many hops as there are. */
function hopsTo(
  isEnd: (one: Listed) => boolean,
  entrances: readonly Listed[],
  hopsFrom: (one: Listed) => readonly Listed[],
): ReadonlySet<Listed> {
  const hops = new Map<Listed, readonly Listed[]>();
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

const loopbackPort = /(?:localhost|127\.0\.0\.1|\[::1\]):(\d+)/g;
const engineAddress = /(?<!\d)237[56](?!\d)|(?:docker|podman)\.sock|^ssh:/;

/** Names of the host for its containers, as an expression. */
const ownHost = '\\d+(?:\\.\\d+){3}|localhost|(?:host|gateway)\\.(?:docker|containers)\\.internal';

function literally(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}

/** Whether a setting or an argument is this port. An address such as `tcp://host:2375` is where a client connects to. */
function isSetTo(port: number, words: readonly string[]): boolean {
  const isPort = new RegExp(`(?<![\\d.])${port}(?![\\d.])`);
  return words.some((word) => isPort.test(word.replace(/\/\/(?!0\.0\.0\.0|\[::\]|\*)[^/\s]*/g, '')));
}

function isWithin(path: string, folder: string): boolean {
  return folder !== '' && (path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`));
}

function isBelow(path: string, folder: string): boolean {
  return folder !== '/' && path !== folder && isWithin(path, folder);
}

/** Where engines make their sockets themselves, and the folders of them. */
const usualSocket = /^\/(?:var\/)?run(?:\/(?:user\/\d+\/)?(?:docker|podman\/podman)\.sock|\/?)$/;

/** Of several programs with the engine's socket, those that are called a proxy, if any is. */
function preferProxies(candidates: readonly Listed[]): readonly Listed[] {
  const proxies = candidates.filter(isCalledProxy);
  return proxies.length > 0 ? proxies : candidates;
}

function isCalledProxy({ name, image }: Listed): boolean {
  return /proxy|tunnel/i.test(`${name} ${image}`);
}

function isInHostNetwork({ networkMode }: Listed): boolean {
  return networkMode === 'host';
}

/** Podman's list does not tell the network of the host, or of another container, from none. */
function hasUnknownNetwork({ networkMode, reach }: Listed): boolean {
  return networkMode === '' && reach.networks.length === 0;
}

function shareNetwork(one: Listed, other: Listed): boolean {
  const ids = new Set(one.reach.networks.map(({ id }) => id));
  return other.reach.networks.some(({ id }) => ids.has(id));
}

/** Whether both have the network of one of them, or of one third container. */
function sharesNamespace(one: Listed, other: Listed): boolean {
  const owner = ({ id, networkMode }: Listed) => ofOther.exec(networkMode)?.[1] ?? id;
  return owner(one) === owner(other) || means(owner(one), other) || means(owner(other), one);
}

/** The container whose network one uses; undefined for its own network. */
function ownerOf<Each extends ContainerSummary>({ networkMode }: Each, containers: readonly Each[]): Each | undefined {
  const owner = ofOther.exec(networkMode)?.[1];
  return owner === undefined ? undefined : containers.find((one) => means(owner, one));
}

const ofOther = /^container:(.+)$/;

function means(reference: string, { id, name }: ContainerSummary): boolean {
  return reference === id || reference === name;
}

/** Whether a connection to an address of the host arrives at a port that is published on this one. */
function isHeardAt(hostAddress: string, address: string): boolean {
  if (hostAddress === '' || hostAddress === '0.0.0.0' || hostAddress === '::') return true;
  return hostAddress === address || (isLoopback(hostAddress) && isLoopback(address));
}

function isLoopback(address: string): boolean {
  return /^(?:127\.|::1$|localhost$)/.test(address);
}

function isOnThisHost(route: EngineRoute): boolean {
  return route.kind === 'socket' || (route.kind === 'tcp' && isLoopback(route.peer ?? route.host));
}

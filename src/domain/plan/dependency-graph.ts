import type { Container } from '../container/container.ts';
import { addTo } from '../text/plain-data.ts';
import {
  createContainerLookup,
  type ContainerLookup,
  type LinkedContainer,
  type ComposeCondition,
} from '../container/lookup.ts';
import { labelValuesOf, desiredEndStateOf, type DesiredEndStateSettings } from '../settings/effective-settings.ts';
import { quoted } from '../text/printable.ts';
import { unitOf } from '../container/quadlet.ts';

/** Dependencies among all containers of the engine, watched or not, running or not. */
export type DependencyGraph = {
  readonly containers: ReadonlyMap<string, Container>;
  /** By the id of the dependent container. */
  readonly hard: ReadonlyMap<string, readonly HardDependency[]>;
  readonly soft: ReadonlyMap<string, readonly SoftDependency[]>;
  /** Sentences about dependencies without effect, without a final period, safe to print. */
  readonly warnings: readonly string[];
};

/** Ids of the containers that one depends on, hard and soft, each once. */
export function dependenciesOfId(graph: Pick<DependencyGraph, 'hard' | 'soft'>, id: string): readonly string[] {
  return [
    ...new Set([...hardDependenciesOfId(graph, id), ...(graph.soft.get(id) ?? []).map(({ targetId }) => targetId)]),
  ];
}

/** Ids of the containers that one has a hard dependency on, each once. */
export function hardDependenciesOfId(graph: Pick<DependencyGraph, 'hard'>, id: string): readonly string[] {
  const targets = (graph.hard.get(id) ?? []).flatMap(({ targetId }) => (targetId === undefined ? [] : [targetId]));
  return [...new Set(targets)];
}

/** Dependencies that must be healthy or completed, not just started, before the container starts. */
export function conditionalOn(graph: Pick<DependencyGraph, 'soft'>, id: string): readonly SoftDependency[] {
  return (graph.soft.get(id) ?? []).filter(({ condition }) => condition !== 'service_started');
}

/** Ids of jobs that other containers wait for, by compose's `service_completed_successfully`. */
export function awaitedJobs({ soft }: Pick<DependencyGraph, 'soft'>): ReadonlySet<string> {
  const awaited = [...soft.values()].flat().filter(({ condition }) => condition === 'service_completed_successfully');
  return new Set(awaited.map(({ targetId }) => targetId));
}

/**
 * The given containers and all that depend on them, directly or indirectly, by a hard dependency. A replacement moves
 * all of these.
 */
export function replacedTogetherWith(graph: Pick<DependencyGraph, 'hard'>, ids: Iterable<string>): ReadonlySet<string> {
  const holders = new Map<string, string[]>();
  for (const id of graph.hard.keys()) {
    for (const target of hardDependenciesOfId(graph, id)) addTo(holders, target, id);
  }
  const moved = new Set(ids);
  // A Set may grow during iteration; added ids are visited too.
  for (const id of moved) for (const holder of holders.get(id) ?? []) moved.add(holder);
  return moved;
}

/**
 * Reads all dependencies. The `depends-on` label replaces the other soft ones (compose, aliases), but not the hard
 * ones, which are facts of the engine.
 */
export function buildDependencyGraph(
  containers: readonly Container[],
  options: Pick<SoftOptions, 'useComposeDependsOn'>,
): DependencyGraph {
  const sorted = containers.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const lookup = createContainerLookup(sorted);
  const warnings: string[] = [];
  const hard = new Map<string, readonly HardDependency[]>();
  const soft = new Map<string, readonly SoftDependency[]>();
  for (const container of sorted) {
    hard.set(container.id, withoutSelf(container, hardDependencies(container, lookup), warnings));
    const { dependsOn } = labelValuesOf(container);
    const known = softDependencies(container, lookup, { ...options, dependsOn }, warnings);
    soft.set(container.id, withoutSelf(container, known, warnings));
  }
  const graph = { containers: new Map(sorted.map((container) => [container.id, container])), hard, soft };
  return { ...graph, warnings: [...warnings, ...cycleWarnings(graph)].slice(0, maxWarnings) };
}

/** Dependencies of one container: ids, each once. */
export function dependenciesOf(
  container: LinkedContainer,
  lookup: ContainerLookup,
  options: SoftOptions,
): readonly string[] {
  const hard = hardDependencies(container, lookup).flatMap(({ targetId }) => targetId ?? []);
  const soft = softDependencies(container, lookup, options, []).map(({ targetId }) => targetId);
  return [...new Set([...hard, ...soft])].filter((id) => id !== container.id);
}

const maxWarnings = 100;

function withoutSelf<Dependency extends { readonly targetId: string | undefined }>(
  { id, name }: LinkedContainer,
  dependencies: readonly Dependency[],
  warnings: string[],
): readonly Dependency[] {
  const others = dependencies.filter(({ targetId }) => targetId !== id);
  if (others.length < dependencies.length) {
    warnings.push(`Container ${quoted(name)} depends on itself, which is ignored`);
  }
  return others;
}

/** The members of a cycle have no order among themselves. All others keep theirs. */
function cycleWarnings(graph: Omit<DependencyGraph, 'warnings'>): readonly string[] {
  const components = strongComponents([...graph.containers.keys()], (id) => dependenciesOfId(graph, id));
  return components
    .filter((members) => members.length > 1)
    .map((members) => {
      const names = members.slice(0, 10).map((id) => quoted(graph.containers.get(id)?.name ?? id));
      return `Containers ${names.join(', ')}${members.length > 10 ? ' …' : ''} depend on each other in a circle, so they are not ordered among themselves`;
    });
}

/**
 * A dependency on another container *object*: when that object is replaced, the dependent keeps the removed object's
 * network, or cannot start, until it is re-created too. `link` is the legacy link of the default bridge, which follows
 * the object under any name.
 */
export type HardDependency = {
  readonly kind: HardKind;
  /** The id or name in the container's settings. */
  readonly names: string;
  /** Undefined when no container has that name. */
  readonly targetId: string | undefined;
};

type HardKind = 'network' | 'ipc' | 'pid' | 'uts' | 'volumes' | 'link';

/**
 * The fields in which the engine stores `container:<id>`:
 * https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Container/operation/ContainerCreate
 */
const sharedNamespaces = [
  ['network', 'NetworkMode'],
  ['ipc', 'IpcMode'],
  ['pid', 'PidMode'],
  ['uts', 'UTSMode'],
] as const;

/** In the order of the settings, each once. */
function hardDependencies({ settings }: LinkedContainer, lookup: ContainerLookup): readonly HardDependency[] {
  const { HostConfig } = settings;
  const dependency = (kind: HardKind, names: string): HardDependency => ({
    kind,
    names,
    targetId: lookup.byIdOrName(names)?.id,
  });
  const namespaces = sharedNamespaces.flatMap(([kind, field]) => {
    const mode = HostConfig[field];
    return typeof mode === 'string' && mode.startsWith('container:')
      ? [dependency(kind, mode.slice('container:'.length))]
      : [];
  });
  const volumes = (HostConfig.VolumesFrom ?? []).map((text) => dependency('volumes', beforeColon(text)));
  const links = (HostConfig.Links ?? []).map((text) => dependency('link', beforeColon(text)));
  const all = [...namespaces, ...volumes, ...links];
  return [...new Map(all.map((one) => [`${one.kind} ${one.names}`, one])).values()];
}

/** `db:ro` of volumes_from and `/db:/web/alias` of a link both begin with their target. */
function beforeColon(text: string): string {
  return text.replace(/:.*$/s, '').replace(/^\//, '');
}

/** A dependency on the order of starts. Nothing breaks when the other container is replaced. */
type SoftDependency = {
  readonly targetId: string;
  readonly condition: ComposeCondition;
  /** Whether it must be restarted after an update of the other. */
  readonly restart: boolean;
};

export type SoftOptions = {
  readonly useComposeDependsOn: boolean;
  /** The value of the label. Undefined without it. */
  readonly dependsOn: readonly string[] | undefined;
};

/** Adds a warning for each name in `dependsOn`, the value of the label, that no container has. */
function softDependencies(
  container: LinkedContainer,
  lookup: ContainerLookup,
  { useComposeDependsOn, dependsOn }: SoftOptions,
  warnings: string[],
): readonly SoftDependency[] {
  if (dependsOn !== undefined) return fromLabel(container, dependsOn, lookup, warnings);
  const compose = useComposeDependsOn ? fromCompose(container, lookup) : [];
  const all = [...compose, ...fromAliases(container, lookup)];
  return [...new Map(all.map((one) => [one.targetId, one])).values()];
}

function fromLabel(
  container: LinkedContainer,
  names: readonly string[],
  lookup: ContainerLookup,
  warnings: string[],
): readonly SoftDependency[] {
  return names.flatMap((name) => {
    const targets = meantByLabel(container, name, lookup);
    if (targets.length === 0) {
      warnings.push(`Container ${quoted(container.name)} depends on ${quoted(name)} by label, but there is none`);
    }
    return targets.map(({ id }) => ordering(id));
  });
}

/** Matches a container's name, else a compose service: of the same project, or with its project's name before it. */
function meantByLabel(container: LinkedContainer, name: string, lookup: ContainerLookup): readonly LinkedContainer[] {
  const exact = lookup.byName(name);
  if (exact !== undefined) return [exact];
  const asking = lookup.composeOf(container);
  const siblings = asking === undefined ? [] : lookup.byService(asking.project, name, asking);
  if (siblings.length > 0 || name.length > maxServiceNameLength) return siblings;
  for (const { index } of name.matchAll(/[-_]/g)) {
    const service = lookup.byService(name.slice(0, index), name.slice(index + 1), asking);
    if (service.length > 0) return service;
  }
  return [];
}

/** A project, a separator and a service: see `isName` of `compose-identity.ts`. */
const maxServiceNameLength = 511;

function fromCompose(container: LinkedContainer, lookup: ContainerLookup): readonly SoftDependency[] {
  const identity = lookup.composeOf(container);
  if (identity === undefined) return [];
  return identity.dependsOn.flatMap(({ service, condition, restart }) =>
    lookup
      .byService(identity.project, service, identity)
      .map(({ id }): SoftDependency => ({ targetId: id, condition, restart })),
  );
}

/** Links on a user-defined network are names that its DNS resolves each time. */
function fromAliases({ settings }: LinkedContainer, lookup: ContainerLookup): readonly SoftDependency[] {
  const links = Object.values(settings.Networks).flatMap(({ Links }) => Links ?? []);
  return links.flatMap((text) => {
    const target = lookup.byIdOrName(beforeColon(text));
    return target === undefined ? [] : [ordering(target.id)];
  });
}

function ordering(targetId: string): SoftDependency {
  return { targetId, condition: 'service_started', restart: false };
}

/**
 * Orders nodes, dependencies first. Each group of the result is one node or the members of one cycle, in no particular
 * order. Nodes without dependencies keep the order of the input; dependencies outside the nodes are ignored. Tarjan's
 * algorithm (https://doi.org/10.1137/0201010) without recursion, because a chain of thousands must not overflow the
 * stack.
 */
export function strongComponents(
  nodes: readonly string[],
  needsOf: (node: string) => readonly string[],
): readonly (readonly string[])[] {
  const position = new Map(nodes.map((node, index) => [node, index]));
  const byPosition = (a: string, b: string) => (position.get(a) ?? 0) - (position.get(b) ?? 0);
  const visits = new Map<string, Visit>();
  const open: Visit[] = [];
  const components: (readonly string[])[] = [];

  const enter = (node: string): Visit => {
    const needs = needsOf(node).filter((need) => position.has(need));
    const index = visits.size;
    const visit: Visit = { node, needs: needs.sort(byPosition), index, lowest: index, isOpen: true, seen: 0 };
    visits.set(node, visit);
    open.push(visit);
    return visit;
  };

  const leave = (visit: Visit, parent: Visit | undefined): void => {
    if (parent !== undefined) parent.lowest = Math.min(parent.lowest, visit.lowest);
    if (visit.lowest !== visit.index) return;
    const members = open.splice(open.lastIndexOf(visit));
    for (const member of members) member.isOpen = false;
    components.push(members.map(({ node }) => node).sort(byPosition));
  };

  for (const root of nodes) {
    if (visits.has(root)) continue;
    const path = [enter(root)];
    for (let visit = path.at(-1); visit !== undefined; visit = path.at(-1)) {
      const need = visit.needs[visit.seen];
      visit.seen += 1;
      if (need === undefined) {
        path.pop();
        leave(visit, path.at(-1));
        continue;
      }
      const known = visits.get(need);
      if (known === undefined) path.push(enter(need));
      else if (known.isOpen) visit.lowest = Math.min(visit.lowest, known.index);
    }
  }
  return components;
}

type Visit = {
  readonly node: string;
  readonly needs: readonly string[];
  readonly index: number;
  /** The index of the earliest open visit that is reachable from here. */
  lowest: number;
  /** Whether its component is still incomplete. */
  isOpen: boolean;
  /** The number of dependencies visited. */
  seen: number;
};

/** A container that is restarted, not replaced, because a dependency is replaced or restarted. */
export type PlannedRestart = {
  readonly container: Container;
  /** Its dependencies. The container is restarted only if one of them was replaced or restarted. */
  readonly because: readonly Container[];
};

/**
 * Containers with `restart: true` on a dependency that is started again, directly or indirectly, dependencies first:
 * https://github.com/compose-spec/compose-spec/blob/main/05-services.md#depends_on. Includes containers with their own
 * update, because it may fail, and containers that use a namespace of a restarted one: they would keep the old one.
 */
export function planRestarts({
  graph,
  startedAnew,
  optedOut,
  ownId,
  settings,
}: {
  readonly graph: DependencyGraph;
  readonly startedAnew: readonly string[];
  /** Why a container must not be changed (`is monitored only`), by id. */
  readonly optedOut: ReadonlyMap<string, string>;
  /** The id of the container that we run in. */
  readonly ownId: string | undefined;
  readonly settings: DesiredEndStateSettings;
}): readonly PlannedRestart[] {
  const dependents = restartedAfterEach(graph);
  const holders = holdersOfNamespaces(graph);
  const jobs = awaitedJobs(graph);
  const reasons = new Map<string, string[]>();
  const anew = new Set(startedAnew);
  // A Set may grow during iteration; added ids are visited too.
  for (const id of anew) {
    // Users of the namespaces of a replaced container are replaced with it.
    const users = reasons.has(id) ? (holders.get(id) ?? []) : [];
    for (const dependent of [...(dependents.get(id) ?? []), ...users]) {
      if (reasons.get(dependent)?.includes(id) || !mayBeRestarted(dependent)) continue;
      if (!reasons.has(dependent)) anew.delete(dependent);
      addTo(reasons, dependent, id);
      anew.add(dependent);
    }
  }
  const order = strongComponents([...reasons.keys()], (id) => dependenciesOfId(graph, id)).flat();
  return order.flatMap((id) => {
    const container = graph.containers.get(id);
    const because = (reasons.get(id) ?? []).flatMap((cause) => graph.containers.get(cause) ?? []);
    return container === undefined ? [] : [{ container, because }];
  });

  /** A container whose namespaces are in use is restarted only if all their users may be. Each is `asked` once. */
  function mayBeRestarted(id: string, asked = new Set<string>()): boolean {
    if (asked.has(id)) return true;
    asked.add(id);
    const container = graph.containers.get(id);
    if (container === undefined || id === ownId || optedOut.has(id) || container.state.status !== 'running')
      return false;
    // Its unit ends with the container, and removes it.
    if (unitOf(container) !== undefined) return false;
    if (desiredEndStateOf(container, { isLinked: true, isJob: jobs.has(id) }, settings) !== 'running') return false;
    return (holders.get(id) ?? []).every((holder) => {
      const status = graph.containers.get(holder)?.state.status;
      return (status !== 'running' && status !== 'paused') || mayBeRestarted(holder, asked);
    });
  }
}

/**
 * Ids of all containers whose state matters for the replacement of the given ones: the moved ones, the targets of their
 * dependencies, and the dependents that may be restarted.
 */
export function affectedBy(
  graph: Pick<DependencyGraph, 'containers' | 'hard' | 'soft'>,
  ids: Iterable<string>,
): ReadonlySet<string> {
  const moved = replacedTogetherWith(graph, ids);
  const touched = new Set(moved);
  const dependents = restartedAfterEach(graph);
  const holders = holdersOfNamespaces(graph);
  // A Set may grow during iteration; added ids are visited too.
  for (const id of touched)
    for (const dependent of [...(dependents.get(id) ?? []), ...(holders.get(id) ?? [])]) touched.add(dependent);
  for (const id of moved) for (const target of hardDependenciesOfId(graph, id)) touched.add(target);
  return touched;
}

/** Dependents to restart, by the id of their dependency. */
function restartedAfterEach({ soft }: Pick<DependencyGraph, 'soft'>): ReadonlyMap<string, readonly string[]> {
  const dependents = new Map<string, string[]>();
  for (const [id, dependencies] of soft) {
    for (const { targetId, restart } of dependencies) {
      if (restart) addTo(dependents, targetId, id);
    }
  }
  return dependents;
}

/** Containers that use the network, IPC or process namespace of another, by the other's id. It ends with each stop. */
function holdersOfNamespaces({ hard }: Pick<DependencyGraph, 'hard'>): ReadonlyMap<string, readonly string[]> {
  const holders = new Map<string, string[]>();
  for (const [id, dependencies] of hard) {
    const shared = dependencies.filter(({ kind }) => kind === 'network' || kind === 'ipc' || kind === 'pid');
    for (const target of new Set(shared.map(({ targetId }) => targetId)))
      if (target !== undefined) addTo(holders, target, id);
  }
  return holders;
}

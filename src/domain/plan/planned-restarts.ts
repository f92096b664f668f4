import { desiredEndStateOf, type DesiredEndStateSettings } from '../settings/effective-settings.ts';
import type { Container } from '../container/container.ts';
import { addTo } from '../text/plain-data.ts';
import {
  type DependencyGraph,
  dependenciesOfId,
  hardDependenciesOfId,
  replacedTogetherWith,
} from './graph/dependency-graph.ts';
import { strongComponents } from './graph/strong-components.ts';

/** A container that is restarted, not replaced, because a dependency is replaced or restarted. */
export type PlannedRestart = {
  readonly container: Container;
  /** Its dependencies. The container is restarted only if one of them was replaced or restarted. */
  readonly because: readonly Container[];
};

export type RestartsInput = {
  readonly graph: DependencyGraph;
  /** Ids of jobs that other containers wait for. */
  readonly jobs: ReadonlySet<string>;
  /** Why a container must not be changed (`is monitored only`), by id. */
  readonly optedOut: ReadonlyMap<string, string>;
  /** The id of the container that we run in. */
  readonly ownId: string | undefined;
  readonly settings: DesiredEndStateSettings;
};

/**
 * Containers with `restart: true` on a dependency that is started again, directly or indirectly, dependencies first:
 * https://github.com/compose-spec/compose-spec/blob/main/05-services.md#depends_on. Includes containers with their own
 * update, because it may fail, and containers that use a namespace of a restarted one: they would keep the old one.
 */
export function planRestarts(startedAnew: readonly string[], input: RestartsInput): readonly PlannedRestart[] {
  const { graph } = input;
  const dependents = restartedAfterEach(graph);
  const holders = holdersOfNamespaces(graph);
  const reasons = new Map<string, string[]>();
  const anew = new Set(startedAnew);
  // A Set may grow during iteration; added ids are visited too.
  for (const id of anew) {
    // Users of the namespaces of a replaced container are replaced with it.
    const users = reasons.has(id) ? (holders.get(id) ?? []) : [];
    for (const dependent of [...(dependents.get(id) ?? []), ...users]) {
      if (reasons.get(dependent)?.includes(id) || !mayBeRestarted(dependent, input, holders)) continue;
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

/** A container whose namespaces are in use is restarted only if all their users may be. Each is `asked` once. */
function mayBeRestarted(
  id: string,
  input: RestartsInput,
  holders: ReadonlyMap<string, readonly string[]>,
  asked = new Set<string>(),
): boolean {
  if (asked.has(id)) return true;
  asked.add(id);
  const { graph, jobs, optedOut, ownId, settings } = input;
  const container = graph.containers.get(id);
  if (container === undefined || id === ownId || optedOut.has(id) || container.state.status !== 'running') return false;
  if (desiredEndStateOf(container, { isLinked: true, isJob: jobs.has(id) }, settings) !== 'running') return false;
  return (holders.get(id) ?? []).every((holder) => {
    const status = graph.containers.get(holder)?.state.status;
    return (status !== 'running' && status !== 'paused') || mayBeRestarted(holder, input, holders, asked);
  });
}

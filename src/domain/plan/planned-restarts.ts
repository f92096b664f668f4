import { desiredEndStateOf, type DesiredEndStateSettings } from '../settings/desired-end-state.ts';
import type { Container } from '../container/container.ts';
import { addTo } from '../text/maps.ts';
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
 * update, because it may fail.
 */
export function planRestarts(startedAnew: readonly string[], input: RestartsInput): readonly PlannedRestart[] {
  const { graph } = input;
  const dependents = restartedAfterEach(graph);
  const reasons = new Map<string, string[]>();
  const anew = new Set(startedAnew);
  // A Set may grow during iteration; added ids are visited too.
  for (const id of anew) {
    for (const dependent of dependents.get(id) ?? []) {
      if (!mayBeRestarted(dependent, input)) continue;
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
  // A Set may grow during iteration; added ids are visited too.
  for (const id of touched) for (const dependent of dependents.get(id) ?? []) touched.add(dependent);
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

function mayBeRestarted(id: string, { graph, jobs, optedOut, ownId, settings }: RestartsInput): boolean {
  const container = graph.containers.get(id);
  if (container === undefined || id === ownId || optedOut.has(id) || container.state.status !== 'running') return false;
  return desiredEndStateOf(container, { isLinked: true, isJob: jobs.has(id) }, settings) === 'running';
}

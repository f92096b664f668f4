import { afterwardsOf, type AfterwardsSettings } from '../settings/afterwards.ts';
import type { Container } from '../container/container.ts';
import { type DependencyGraph, neededBy } from './dependency-graph.ts';
import { strongComponents } from './strong-components.ts';

/** A container that stays what it is, and wants to be restarted because one it depends on is replaced or restarted. */
export type PlannedRestart = {
  readonly container: Container;
  /** Those it depends on; it is restarted when one of them was replaced or restarted in fact. */
  readonly because: readonly Container[];
};

export type RestartsInput = {
  readonly graph: DependencyGraph;
  /** Ids of containers whose end others wait for. */
  readonly jobs: ReadonlySet<string>;
  /** By id: why a container must not be touched. */
  readonly optedOut: ReadonlyMap<string, string>;
  /** Of the container that we run in ourselves. */
  readonly ownId: string | undefined;
  readonly settings: AfterwardsSettings;
};

/**
 * Who says `restart: true` of something that is started anew, directly or through others, what they
 * depend on first: https://github.com/compose-spec/compose-spec/blob/main/05-services.md#depends_on.
 * Also containers with an update of their own are among them, because that may fail.
 */
export function planRestarts(startedAnew: readonly string[], input: RestartsInput): readonly PlannedRestart[] {
  const { graph } = input;
  const dependents = restartedAfterEach(graph);
  const reasons = new Map<string, string[]>();
  const anew = new Set(startedAnew);
  // A set is walked in the order of insertion, what is added on the way included.
  for (const id of anew) {
    for (const dependent of dependents.get(id) ?? []) {
      if (!mayBeRestarted(dependent, input)) continue;
      reasons.set(dependent, [...(reasons.get(dependent) ?? []), id]);
      anew.add(dependent);
    }
  }
  const order = strongComponents([...reasons.keys()], (id) => neededBy(graph, id)).flat();
  return order.flatMap((id) => {
    const container = graph.containers.get(id);
    const because = (reasons.get(id) ?? []).flatMap((cause) => graph.containers.get(cause) ?? []);
    return container === undefined ? [] : [{ container, because }];
  });
}

/** By id: who wants a restart after it. */
function restartedAfterEach({ soft }: DependencyGraph): ReadonlyMap<string, readonly string[]> {
  const dependents = new Map<string, string[]>();
  for (const [id, dependencies] of soft) {
    for (const { targetId, restart } of dependencies) {
      if (restart) dependents.set(targetId, [...(dependents.get(targetId) ?? []), id]);
    }
  }
  return dependents;
}

function mayBeRestarted(id: string, { graph, jobs, optedOut, ownId, settings }: RestartsInput): boolean {
  const container = graph.containers.get(id);
  if (container === undefined || id === ownId || optedOut.has(id) || container.state.status !== 'running') return false;
  return afterwardsOf(container, { isLinked: true, isJob: jobs.has(id) }, settings) === 'running';
}

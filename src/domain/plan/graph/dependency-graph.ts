import type { Container } from '../../container/container.ts';
import { addTo } from '../../text/plain-data.ts';
import type { HardDependency } from './hard-dependencies.ts';
import type { SoftDependency } from './soft-dependencies.ts';

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

import { type DependencyGraph, heldBy, movedWith } from './dependency-graph.ts';
import { restartedAfterEach } from './planned-restarts.ts';

/**
 * Ids of all containers whose state matters for the replacement of the given ones: the moved ones, the targets of their
 * dependencies, and the dependents that may be restarted.
 */
export function touchedBy(
  graph: Pick<DependencyGraph, 'containers' | 'hard' | 'soft'>,
  ids: Iterable<string>,
): ReadonlySet<string> {
  const moved = movedWith(graph, ids);
  const touched = new Set(moved);
  const dependents = restartedAfterEach(graph);
  // A Set may grow during iteration; added ids are visited too.
  for (const id of touched) for (const dependent of dependents.get(id) ?? []) touched.add(dependent);
  for (const id of moved) for (const target of heldBy(graph, id)) touched.add(target);
  return touched;
}

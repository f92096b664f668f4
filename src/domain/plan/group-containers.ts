import type { Container } from '../container/container.ts';
import { dependenciesOfId, type DependencyGraph, hardDependenciesOfId } from './graph/dependency-graph.ts';
import { strongComponents } from './graph/strong-components.ts';

/** The moved containers in groups connected by hard dependencies, targets first. */
export function groupsOf(graph: DependencyGraph, moved: ReadonlySet<string>): readonly (readonly Container[])[] {
  const groupOf = new Map<string, Set<string>>();
  for (const id of moved) {
    const linked = [id, ...hardDependenciesOfId(graph, id).filter((target) => moved.has(target))];
    const joined = new Set(linked.flatMap((each) => [each, ...(groupOf.get(each) ?? [])]));
    for (const member of joined) groupOf.set(member, joined);
  }
  const sorted = targetsFirst(graph, moved);
  return [...new Set(sorted.map((id) => groupOf.get(id)))].map((group) =>
    sorted.filter((id) => group?.has(id)).flatMap((id) => graph.containers.get(id) ?? []),
  );
}

/** If soft dependencies contradict hard ones, the hard ones count. */
function targetsFirst(graph: DependencyGraph, ids: ReadonlySet<string>): readonly string[] {
  const byName = [...graph.containers.keys()].filter((id) => ids.has(id));
  return strongComponents(byName, (id) => dependenciesOfId(graph, id)).flatMap((circle) =>
    strongComponents(circle, (id) => hardDependenciesOfId(graph, id)).flat(),
  );
}

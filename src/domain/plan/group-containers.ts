import type { Container } from '../container/container.ts';
import { addTo } from '../text/maps.ts';
import { dependenciesOfId, type DependencyGraph, hardDependenciesOfId } from './graph/dependency-graph.ts';
import { strongComponents } from './graph/strong-components.ts';

/** The moved containers in groups connected by hard dependencies, targets first. */
export function groupsOf(graph: DependencyGraph, moved: ReadonlySet<string>): readonly (readonly Container[])[] {
  const linked = linksAmong(graph, moved);
  const leaderOf = new Map<string, string>();
  for (const leader of moved) {
    if (leaderOf.has(leader)) continue;
    const group = new Set([leader]);
    // A Set may grow during iteration; added ids are visited too.
    for (const id of group) for (const other of linked.get(id) ?? []) group.add(other);
    for (const id of group) leaderOf.set(id, leader);
  }
  const groups = new Map<string, Container[]>();
  for (const id of targetsFirst(graph, moved)) {
    const [leader = id, container] = [leaderOf.get(id), graph.containers.get(id)];
    if (container !== undefined) addTo(groups, leader, container);
  }
  return [...groups.values()];
}

/** Hard dependencies among the moved containers, by the ids of both sides. */
function linksAmong(graph: DependencyGraph, moved: ReadonlySet<string>): ReadonlyMap<string, readonly string[]> {
  const linked = new Map<string, string[]>();
  for (const id of moved)
    for (const target of hardDependenciesOfId(graph, id).filter((each) => moved.has(each))) {
      addTo(linked, id, target);
      addTo(linked, target, id);
    }
  return linked;
}

/** If soft dependencies contradict hard ones, the hard ones count. */
function targetsFirst(graph: DependencyGraph, ids: ReadonlySet<string>): readonly string[] {
  const byName = [...graph.containers.keys()].filter((id) => ids.has(id));
  return strongComponents(byName, (id) => dependenciesOfId(graph, id)).flatMap((circle) =>
    strongComponents(circle, (id) => hardDependenciesOfId(graph, id)).flat(),
  );
}

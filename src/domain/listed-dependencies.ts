import type { ContainerSummary } from './container.ts';
import type { LinkedContainer } from './container-lookup.ts';
import { buildDependencyGraph, type GraphOptions, neededBy } from './dependency-graph.ts';

/**
 * The names of the containers that each one needs, by its id, as far as a list without inspection
 * tells: by label, by compose, by a shared network. Links, shared volumes and other namespaces are
 * known to a plan only, which inspects all.
 */
export function listedDependencies(
  containers: readonly ContainerSummary[],
  options: GraphOptions,
): ReadonlyMap<string, readonly string[]> {
  const graph = buildDependencyGraph(containers.map(linked), options);
  const namesOf = (id: string) => neededBy(graph, id).flatMap((needed) => graph.containers.get(needed)?.name ?? []);
  return new Map(containers.map(({ id }) => [id, namesOf(id)]));
}

/** Whether both lists have the same dependencies, because nothing that tells of them has changed. */
export function haveSameLinks(one: readonly ContainerSummary[], other: readonly ContainerSummary[]): boolean {
  return (
    one.length === other.length &&
    one.every(({ id, name, labels, networkMode }, index) => {
      const same = other[index];
      return id === same?.id && name === same.name && labels === same.labels && networkMode === same.networkMode;
    })
  );
}

function linked({ id, name, image, labels, networkMode }: ContainerSummary): LinkedContainer {
  return {
    id,
    name,
    settings: {
      Config: { Image: image, Labels: labels },
      HostConfig: { NetworkMode: networkMode },
      Mounts: [],
      Networks: {},
    },
  };
}

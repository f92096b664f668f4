import type { ContainerSummary } from '../container/container.ts';
import { createContainerLookup, type LinkedContainer } from '../container/lookup.ts';
import { dependenciesOf, type SoftOptions } from '../plan/dependency-graph.ts';
import { withoutKept } from '../rollback/kept-containers.ts';
import type { WatchedContainer } from '../check/selection.ts';

/** The names of the containers that a listed one depends on. */
export type ListedDependencies = (watched: Pick<WatchedContainer, 'container' | 'wishes'>) => readonly string[];

/**
 * Dependencies that a list shows without inspections: by label, by compose, by a shared network. Links, shared volumes
 * and other namespaces are only known to a plan, which inspects all containers.
 */
export function readListedDependencies(
  containers: readonly ContainerSummary[],
  options: Pick<SoftOptions, 'useComposeDependsOn'>,
): ListedDependencies {
  const linked = new Map(withoutKept(containers).map((container) => [container.id, link(container)]));
  const lookup = createContainerLookup([...linked.values()]);
  return ({ container, wishes: { dependsOn } }) => {
    const ids = dependenciesOf(link(container), lookup, { ...options, dependsOn });
    return ids.flatMap((id) => linked.get(id)?.name ?? []);
  };
}

/** True if both lists give the same dependencies: no container was added, removed or renamed. */
export function haveSameLinks(one: readonly ContainerSummary[], other: readonly ContainerSummary[]): boolean {
  return (
    one.length === other.length &&
    one.every(({ id, name, labels, networkMode }, index) => {
      const same = other[index];
      return id === same?.id && name === same.name && labels === same.labels && networkMode === same.networkMode;
    })
  );
}

function link({ id, name, image, labels, networkMode }: ContainerSummary): LinkedContainer {
  const Config = { Image: image, Labels: labels };
  return { id, name, settings: { Config, HostConfig: { NetworkMode: networkMode }, Mounts: [], Networks: {} } };
}

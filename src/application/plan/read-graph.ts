import type { Container, ContainerSummary } from '../../domain/container/container.ts';
import type { ReadOnlyOutside } from '../../domain/outside/outside.ts';
import { buildDependencyGraph } from '../../domain/plan/graph/build-graph.ts';
import type { DependencyGraph } from '../../domain/plan/graph/dependency-graph.ts';
import type { SoftOptions } from '../../domain/plan/graph/soft-dependencies.ts';
import { affectedBy } from '../../domain/plan/planned-restarts.ts';
import { inspectionsAtOnce, mapConcurrently } from '../async/concurrency.ts';
import { unlessBroken } from '../engine/object-error.ts';

export type ReadGraph = {
  readonly graph: DependencyGraph;
  /** Listed containers that the engine cannot inspect. */
  readonly unreadable: readonly ContainerSummary[];
};

/** `ids` are the containers to replace. Throws a `ServiceError` when the engine cannot be reached. */
export type GraphReader = (
  listed: readonly ContainerSummary[],
  ids: ReadonlySet<string>,
  signal?: AbortSignal,
) => Promise<ReadGraph>;

/**
 * Reads the dependencies among all listed containers. The list does not show them, so each container is inspected once
 * in its life. Containers that an update of `ids` changes are always inspected again. For the others the earlier
 * inspection still holds: an engine fixes the dependencies when it creates a container.
 */
export function createGraphReader(
  outside: Pick<ReadOnlyOutside, 'engine' | 'log'>,
  options: Pick<SoftOptions, 'useComposeDependsOn'>,
): GraphReader {
  let remembered: ReadonlyMap<string, Container> = new Map();

  return async (listed, ids, signal) => {
    const containers = new Map(listed.flatMap((summary) => asListed(summary, remembered.get(summary.id))));
    const unreadable: ContainerSummary[] = [];
    const inspected = new Set<string>();
    let graph = buildDependencyGraph([...containers.values()], options);
    let wanted = listed.filter(({ id }) => ids.has(id) || !containers.has(id));
    while (wanted.length > 0) {
      const read = await inspectContainers(outside, wanted, signal);
      for (const { id } of wanted) {
        inspected.add(id);
        containers.delete(id);
      }
      for (const container of read.containers) containers.set(container.id, container);
      unreadable.push(...read.unreadable);
      graph = buildDependencyGraph([...containers.values()], options);
      const touched = affectedBy(graph, ids);
      wanted = listed.filter(({ id }) => touched.has(id) && !inspected.has(id));
    }
    remembered = containers;
    return { graph, unreadable };
  };
}

/** Names change, and links name their targets. */
function asListed(
  { id, name }: ContainerSummary,
  container: Container | undefined,
): readonly (readonly [string, Container])[] {
  return container === undefined || hasLinks(container) ? [] : [[id, { ...container, name }]];
}

function hasLinks({ settings: { HostConfig, Networks } }: Container): boolean {
  const links = [HostConfig.Links, ...Object.values(Networks).map(({ Links }) => Links)];
  return links.some((each) => (each ?? []).length > 0);
}

/** A container that was removed since the listing is in neither part of the answer. */
async function inspectContainers(
  outside: Pick<ReadOnlyOutside, 'engine' | 'log'>,
  listed: readonly ContainerSummary[],
  signal: AbortSignal | undefined,
) {
  const unreadable: ContainerSummary[] = [];
  const containers = await mapConcurrently(listed, inspectionsAtOnce, (summary) => {
    const note = (error: string) => {
      unreadable.push(summary);
      const fields = { container: summary.name, error };
      outside.log.warn('A container cannot be inspected and is left out of the plan', fields);
    };
    return unlessBroken(outside, () => outside.engine.inspectContainer(summary.id, signal), note, signal);
  });
  return { containers: containers.filter((container) => container !== undefined), unreadable };
}

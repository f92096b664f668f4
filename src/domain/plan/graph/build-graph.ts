import type { Container } from '../../container/container.ts';
import { type ContainerLookup, createContainerLookup, type LinkedContainer } from '../../container/lookup.ts';
import { labelValuesOf } from '../../settings/effective-settings.ts';
import { quoted } from '../../text/printable.ts';
import { dependenciesOfId, type DependencyGraph } from './dependency-graph.ts';
import { type HardDependency, hardDependencies } from './hard-dependencies.ts';
import { type SoftDependency, softDependencies, type SoftOptions } from './soft-dependencies.ts';
import { strongComponents } from './strong-components.ts';

/**
 * Reads all dependencies. The `depends-on` label replaces the other soft ones (compose, aliases), but not the hard
 * ones, which are facts of the engine.
 */
export function buildDependencyGraph(
  containers: readonly Container[],
  options: Pick<SoftOptions, 'useComposeDependsOn'>,
): DependencyGraph {
  const sorted = containers.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const lookup = createContainerLookup(sorted);
  const warnings: string[] = [];
  const hard = new Map<string, readonly HardDependency[]>();
  const soft = new Map<string, readonly SoftDependency[]>();
  for (const container of sorted) {
    hard.set(container.id, withoutSelf(container, hardDependencies(container, lookup), warnings));
    const { dependsOn } = labelValuesOf(container);
    const known = softDependencies(container, lookup, { ...options, dependsOn }, warnings);
    soft.set(container.id, withoutSelf(container, known, warnings));
  }
  const graph = { containers: new Map(sorted.map((container) => [container.id, container])), hard, soft };
  return { ...graph, warnings: [...warnings, ...cycleWarnings(graph)].slice(0, mostWarnings) };
}

/** Dependencies of one container: ids, each once. */
export function dependenciesOf(
  container: LinkedContainer,
  lookup: ContainerLookup,
  options: SoftOptions,
): readonly string[] {
  const hard = hardDependencies(container, lookup).flatMap(({ targetId }) => targetId ?? []);
  const soft = softDependencies(container, lookup, options, []).map(({ targetId }) => targetId);
  return [...new Set([...hard, ...soft])].filter((id) => id !== container.id);
}

const mostWarnings = 100;

function withoutSelf<Dependency extends { readonly targetId: string | undefined }>(
  { id, name }: LinkedContainer,
  dependencies: readonly Dependency[],
  warnings: string[],
): readonly Dependency[] {
  const others = dependencies.filter(({ targetId }) => targetId !== id);
  if (others.length < dependencies.length) {
    warnings.push(`Container ${quoted(name)} depends on itself, which is ignored`);
  }
  return others;
}

/** The members of a cycle have no order among themselves. All others keep theirs. */
function cycleWarnings(graph: Omit<DependencyGraph, 'warnings'>): readonly string[] {
  const components = strongComponents([...graph.containers.keys()], (id) => dependenciesOfId(graph, id));
  return components
    .filter((members) => members.length > 1)
    .map((members) => {
      const names = members.slice(0, 10).map((id) => quoted(graph.containers.get(id)?.name ?? id));
      return `Containers ${names.join(', ')}${members.length > 10 ? ' …' : ''} depend on each other in a circle, so they are not ordered among themselves`;
    });
}

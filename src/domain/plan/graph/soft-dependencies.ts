import type { ComposeCondition, ContainerLookup, LinkedContainer } from '../../container/lookup.ts';
import { quoted } from '../../text/printable.ts';
import { beforeColon } from './hard-dependencies.ts';

/** A dependency on the order of starts. Nothing breaks when the other container is replaced. */
export type SoftDependency = {
  readonly targetId: string;
  readonly condition: ComposeCondition;
  /** Whether it must be restarted after an update of the other. */
  readonly restart: boolean;
};

export type SoftOptions = {
  readonly useComposeDependsOn: boolean;
  /** The value of the label. Undefined without it. */
  readonly dependsOn: readonly string[] | undefined;
};

/** Adds a warning for each name in `dependsOn`, the value of the label, that no container has. */
export function softDependencies(
  container: LinkedContainer,
  lookup: ContainerLookup,
  { useComposeDependsOn, dependsOn }: SoftOptions,
  warnings: string[],
): readonly SoftDependency[] {
  if (dependsOn !== undefined) return fromLabel(container, dependsOn, lookup, warnings);
  const compose = useComposeDependsOn ? fromCompose(container, lookup) : [];
  const all = [...compose, ...fromAliases(container, lookup)];
  return [...new Map(all.map((one) => [one.targetId, one])).values()];
}

function fromLabel(
  container: LinkedContainer,
  names: readonly string[],
  lookup: ContainerLookup,
  warnings: string[],
): readonly SoftDependency[] {
  return names.flatMap((name) => {
    const targets = meantByLabel(container, name, lookup);
    if (targets.length === 0) {
      warnings.push(`Container ${quoted(container.name)} depends on ${quoted(name)} by label, but there is none`);
    }
    return targets.map(({ id }) => ordering(id));
  });
}

/** Matches a container's name, else a compose service: of the same project, or with its project's name before it. */
function meantByLabel(container: LinkedContainer, name: string, lookup: ContainerLookup): readonly LinkedContainer[] {
  const exact = lookup.byName(name);
  if (exact !== undefined) return [exact];
  const asking = lookup.composeOf(container);
  const siblings = asking === undefined ? [] : lookup.byService(asking.project, name, asking);
  if (siblings.length > 0 || name.length > longestServiceName) return siblings;
  for (const { index } of name.matchAll(/[-_]/g)) {
    const service = lookup.byService(name.slice(0, index), name.slice(index + 1), asking);
    if (service.length > 0) return service;
  }
  return [];
}

/** A project, a separator and a service: see `isName` of `compose-identity.ts`. */
const longestServiceName = 511;

function fromCompose(container: LinkedContainer, lookup: ContainerLookup): readonly SoftDependency[] {
  const identity = lookup.composeOf(container);
  if (identity === undefined) return [];
  return identity.dependsOn.flatMap(({ service, condition, restart }) =>
    lookup
      .byService(identity.project, service, identity)
      .map(({ id }): SoftDependency => ({ targetId: id, condition, restart })),
  );
}

/** Links on a user-defined network are names that its DNS resolves each time. */
function fromAliases({ settings }: LinkedContainer, lookup: ContainerLookup): readonly SoftDependency[] {
  const links = Object.values(settings.Networks).flatMap(({ Links }) => Links ?? []);
  return links.flatMap((text) => {
    const target = lookup.byIdOrName(beforeColon(text));
    return target === undefined ? [] : [ordering(target.id)];
  });
}

function ordering(targetId: string): SoftDependency {
  return { targetId, condition: 'service_started', restart: false };
}

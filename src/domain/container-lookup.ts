import { type ComposeIdentity, readComposeIdentity } from './compose-identity.ts';
import type { Container } from './container.ts';

/** Finds containers by what others call them. */
export type ContainerLookup<Each extends LinkedContainer = Container> = {
  /** As the engine reads an id or name: the whole id, then the name, then an id's beginning if only one has it. */
  readonly byIdOrName: (text: string) => Each | undefined;
  readonly byName: (name: string) => Each | undefined;
  /** The replicas of a compose service; those made by `compose run` are none. */
  readonly byService: (project: string, service: string) => readonly Each[];
  /** Undefined for a container outside compose. */
  readonly composeOf: (container: LinkedContainer) => ComposeIdentity | undefined;
};

/** As much of a container as tells who it is to others, and whom it names itself. */
export type LinkedContainer = Pick<Container, 'id' | 'name' | 'settings'>;

export function createContainerLookup<Each extends LinkedContainer>(
  containers: readonly Each[],
): ContainerLookup<Each> {
  const byId = new Map(containers.map((container) => [container.id, container]));
  const byName = new Map(containers.map((container) => [container.name, container]));
  const identities = new Map(
    containers.map((container) => [container.id, readComposeIdentity(container.settings.Config.Labels ?? {})]),
  );
  const services = new Map<string, Each[]>();
  for (const container of containers) {
    const identity = identities.get(container.id);
    if (identity === undefined || identity.oneOff) continue;
    const key = serviceKey(identity.project, identity.service);
    services.set(key, [...(services.get(key) ?? []), container]);
  }

  const byBeginning = (text: string): Each | undefined => {
    if (!/^[0-9a-f]{4,64}$/.test(text)) return undefined;
    const [only, another] = containers.filter(({ id }) => id.startsWith(text));
    return another === undefined ? only : undefined;
  };

  return {
    byIdOrName: (text) => byId.get(text) ?? byName.get(text) ?? byBeginning(text),
    byName: (name) => byName.get(name),
    byService: (project, service) => services.get(serviceKey(project, service)) ?? [],
    composeOf: ({ id }) => identities.get(id),
  };
}

/** Names of projects and services contain no slash. */
function serviceKey(project: string, service: string): string {
  return `${project}/${service}`;
}

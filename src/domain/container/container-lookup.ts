import { addTo } from '../text/plain-data.ts';
import { type Labels, containerOwnLabels } from '../image/image-labels.ts';
import { type ComposeIdentity, composePrefix, mayBelongTogether, readComposeIdentity } from './compose-identity.ts';
import type { Container } from './container.ts';

/** Finds containers by the names and ids in other containers' settings. */
export type ContainerLookup = {
  /** Looks up a text as the engine does: a whole id, then a name, then the beginning of an id if only one matches. */
  readonly byIdOrName: (text: string) => LinkedContainer | undefined;
  readonly byName: (name: string) => LinkedContainer | undefined;
  /**
   * The replicas of a compose service. If unlike projects share its name, `asking` sees its own project; any other
   * container, or undefined (outside of compose), sees none. Containers of `compose run` are not replicas.
   */
  readonly byService: (
    project: string,
    service: string,
    asking: ComposeIdentity | undefined,
  ) => readonly LinkedContainer[];
  /** Undefined for a container outside compose. */
  readonly composeOf: (container: LinkedContainer) => ComposeIdentity | undefined;
};

/** The fields of a container that name it or other containers. */
export type LinkedContainer = Pick<Container, 'id' | 'name' | 'settings' | 'imageLabels'>;

export function createContainerLookup(containers: readonly LinkedContainer[]): ContainerLookup {
  const byId = new Map(containers.map((container) => [container.id, container]));
  const byName = new Map(containers.map((container) => [container.name, container]));
  const identities = new Map(
    containers.map((container) => [container.id, readComposeIdentity(composeLabels(container))]),
  );
  const services = new Map<string, LinkedContainer[]>();
  for (const container of containers) {
    const identity = identities.get(container.id);
    if (identity === undefined || identity.oneOff) continue;
    addTo(services, serviceKey(identity.project, identity.service), container);
  }

  const byBeginning = (text: string): LinkedContainer | undefined => {
    if (!/^[0-9a-f]{4,64}$/.test(text)) return undefined;
    const [only, another] = containers.filter(({ id }) => id.startsWith(text));
    return another === undefined ? only : undefined;
  };

  const composeOf = ({ id }: LinkedContainer) => identities.get(id);

  return {
    byIdOrName: (text) => byId.get(text) ?? byName.get(text) ?? byBeginning(text),
    byName: (name) => byName.get(name),
    byService: (project, service, asking) => {
      const claiming = services.get(serviceKey(project, service)) ?? [];
      const [first] = claiming;
      const like = asking?.project === project ? asking : first && composeOf(first);
      const alike = claiming.filter((each) => mayBeOf(like, composeOf(each)));
      return like === asking || alike.length === claiming.length ? alike : [];
    },
    composeOf,
  };
}

/**
 * A container whose compose labels all come from its image was not created by compose: compose writes more labels to a
 * container than to an image that it builds.
 */
function composeLabels({ settings, imageLabels = {} }: LinkedContainer): Labels {
  const labels = settings.Config.Labels ?? {};
  const own = Object.keys(containerOwnLabels(labels, imageLabels)).some((label) => label.startsWith(composePrefix));
  return own ? labels : {};
}

function mayBeOf(one: ComposeIdentity | undefined, other: ComposeIdentity | undefined): boolean {
  return one !== undefined && other !== undefined && mayBelongTogether(one, other);
}

/** Names of projects and services contain no slash. */
function serviceKey(project: string, service: string): string {
  return `${project}/${service}`;
}

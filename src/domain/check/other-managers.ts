import { isAlive, type ContainerSummary } from '../container/container.ts';
import { labelOf, watchtowerLabel } from '../image/labels.ts';
import type { ImageLabelsOf } from '../container/lookup.ts';
import { tryParseImageReference } from '../image/image-reference.ts';
import { readLabels } from '../settings/effective-settings.ts';
import { quoted } from '../text/printable.ts';

/** The list shows enough of a container to know its manager. */
export type ManagedCandidate = Pick<ContainerSummary, 'name' | 'labels'> & { readonly networkMode?: string };

/**
 * Why a container belongs to another program, which creates it, replaces it and knows it by its id, so that a successor
 * would be removed or not found. The text follows its name. Undefined for a container of a person, which includes
 * everything that `docker compose up` starts.
 *
 * The origin of a label does not matter: an image can only withdraw its own containers from updates.
 */
export function whyManagedElsewhere(candidate: ManagedCandidate): string | undefined {
  const { name, networkMode = '', labels } = candidate;
  const mayBe = byName.test(name) || byNetwork.test(networkMode) || Object.keys(labels).some(isKnownLabel);
  return mayBe ? managers.find(({ marks }) => marks.some((mark) => carries(candidate, mark)))?.reason : undefined;
}

type Manager = {
  /** Follows the container's name. */
  readonly reason: string;
  /** One of them is enough. */
  readonly marks: readonly Mark[];
};

/** A label by its name, its beginning or its end, with any value if none is listed; or a beginning of a name. */
type Mark =
  | { readonly label: string; readonly values?: readonly string[] }
  | { readonly prefix: string }
  | { readonly suffix: string }
  | { readonly name: RegExp }
  | { readonly network: RegExp };

const managers: readonly Manager[] = [
  // Of a cluster or a scheduler.
  {
    reason: 'belongs to a pod of Kubernetes, and Kubernetes replaces it itself',
    marks: [
      { prefix: 'io.kubernetes.pod.' },
      { prefix: 'io.kubernetes.container.' },
      { prefix: 'io.kubernetes.docker.' },
      { prefix: 'io.kubernetes.sandbox.' },
      { prefix: 'annotation.io.kubernetes.' },
    ],
  },
  { reason: 'is a node of a kind cluster, and kind replaces it itself', marks: [{ prefix: 'io.x-k8s.kind.' }] },
  {
    reason: 'is a part of a k3d cluster, and k3d replaces it itself',
    marks: [{ label: 'k3d.cluster' }, { label: 'k3d.role' }],
  },
  {
    reason: 'is a node of a minikube cluster, and minikube replaces it itself',
    marks: [{ suffix: '.minikube.sigs.k8s.io' }],
  },
  { reason: 'is a node of a Talos cluster, and talosctl replaces it itself', marks: [{ label: 'talos.cluster.name' }] },
  {
    reason: 'is a machine of a footloose cluster, and footloose replaces it itself',
    marks: [{ label: 'works.weave.owner', values: ['footloose'] }],
  },
  {
    reason: 'belongs to Rancher, and Rancher replaces it itself',
    marks: [{ prefix: 'io.rancher.container.' }, { prefix: 'io.rancher.rke.' }],
  },
  { reason: 'belongs to a task of Amazon ECS, and ECS replaces it itself', marks: [{ prefix: 'com.amazonaws.ecs.' }] },
  {
    reason: 'belongs to an allocation of Nomad, and Nomad replaces it itself',
    marks: [{ prefix: 'com.hashicorp.nomad.' }],
  },
  // Of a supervisor, which installs, updates and restarts it.
  {
    // Home Assistant without Supervisor has the type `core`, and older ones `homeassistant`.
    reason: 'belongs to Home Assistant Supervisor, and is updated in Home Assistant',
    marks: [
      { label: 'supervisor_managed' },
      {
        label: 'io.hass.type',
        values: ['addon', 'app', 'supervisor', 'audio', 'cli', 'dns', 'multicast', 'observer'],
      },
    ],
  },
  {
    reason: 'belongs to balena, and is updated by a release there',
    marks: [{ label: 'io.balena.supervised' }, { label: 'io.resin.supervised' }],
  },
  {
    reason: 'is a module of Azure IoT Edge, and is updated by its deployment',
    marks: [{ label: 'net.azure-devices.edge.owner' }],
  },
  {
    reason: 'is a game server of Pterodactyl, and is recreated at each start',
    marks: [{ label: 'Service', values: ['Pterodactyl', 'Pelican'] }],
  },
  { reason: 'is an app of Dokku, and is replaced by a deployment there', marks: [{ label: 'com.dokku.app-name' }] },
  {
    reason: 'belongs to Cloudron, and is updated there',
    marks: [{ label: 'isCloudronManaged', values: ['true'] }],
  },
  {
    reason: 'belongs to Coolify, and is replaced by a deployment there',
    marks: [{ label: 'coolify.managed', values: ['true'] }],
  },
  {
    reason: 'belongs to an extension of Docker Desktop, and is updated there',
    marks: [{ label: 'com.docker.desktop.extension' }],
  },
  // Of a job, and removed at its end.
  {
    reason: 'belongs to a job of GitLab Runner, which removes it at its end',
    marks: [{ prefix: 'com.gitlab.gitlab-runner.' }],
  },
  {
    // The runners of GitHub and of Azure have a common origin. Only the network has a constant name.
    reason: 'belongs to a job of a CI runner, which removes it at its end',
    marks: [
      { network: /^(?:github|vsts)_network_/ },
      { name: /^(?:GITEA|FORGEJO)-ACTIONS-TASK-/ },
      { label: 'io.drone' },
      { prefix: 'io.drone.build.' },
      { prefix: 'woodpecker-ci.org/' },
      { label: 'wp_uuid' },
      // act ends each name with a checksum.
      { name: /^act-.+-[0-9a-f]{64}(?:$|-)/ },
      { prefix: 'com.nirima.jenkins.plugins.docker.' },
    ],
  },
  {
    reason: 'belongs to a test (Testcontainers), which removes it at its end',
    marks: [{ label: 'org.testcontainers' }, { prefix: 'org.testcontainers.' }],
  },
  {
    reason: 'is a builder (BuildKit), and the build tool recreates it',
    marks: [
      { name: /^buildx_buildkit_(?!\d+$)/ },
      { name: /^dagger-engine-(?:v\d|[0-9a-f]{16})/ },
      { label: 'dev.earthly.settingshash' },
    ],
  },
  {
    reason: 'is a single command (docker compose run), and not the service itself',
    marks: [{ label: 'com.docker.compose.oneoff', values: ['true'] }],
  },
  // Of a person's work: with programs and files that are only in the container.
  {
    reason: 'is a development environment, and its own tool recreates it',
    marks: [
      { label: 'devcontainer.local_folder' },
      { label: 'vsch.local.folder' },
      { label: 'dev.containers.id' },
      { label: 'com.supabase.cli.project' },
      { prefix: 'skaffold.dev/' },
      { label: 'com.ddev.site-name' },
      { label: 'com.ddev.platform' },
      { label: 'io.lando.container' },
      { label: 'coder.workspace_id' },
      { label: 'com.github.containers.toolbox' },
      { label: 'manager', values: ['distrobox'] },
    ],
  },
];

function carries({ name, labels, networkMode = '' }: ManagedCandidate, mark: Mark): boolean {
  if ('name' in mark) return mark.name.test(name);
  if ('network' in mark) return mark.network.test(networkMode);
  if ('prefix' in mark) return Object.keys(labels).some((label) => label.startsWith(mark.prefix));
  if ('suffix' in mark) return Object.keys(labels).some((label) => label.endsWith(mark.suffix));
  const value = labelOf(labels, mark.label);
  if (value === undefined || mark.values === undefined) return value !== undefined;
  return mark.values.some((wanted) => wanted.toLowerCase() === value.trim().toLowerCase());
}

/**
 * Nearly all containers have no mark at all, and each listing is judged, so one expression finds the few that may have
 * one.
 */
const allMarks = managers.flatMap(({ marks }) => marks);
const byName = anyOf(allMarks.flatMap((mark) => ('name' in mark ? mark.name.source : [])));
const byNetwork = anyOf(allMarks.flatMap((mark) => ('network' in mark ? mark.network.source : [])));
const byLabel = anyOf(
  allMarks.flatMap((mark) => {
    if ('label' in mark) return `^${literally(mark.label)}$`;
    if ('prefix' in mark) return `^${literally(mark.prefix)}`;
    return 'suffix' in mark ? `${literally(mark.suffix)}$` : [];
  }),
);

function isKnownLabel(label: string): boolean {
  return byLabel.test(label);
}

function anyOf(patterns: readonly string[]): RegExp {
  return new RegExp(patterns.join('|'));
}

function literally(text: string): string {
  return text.replaceAll('.', '\\.');
}

/**
 * Running containers of known updaters that may replace the same containers. An updater that respects scopes is ignored
 * if its label has another scope. An updater that only watches, or only updates Swarm services, is harmless. A warning
 * is one line, safe to print: the container, the danger and the remedy.
 */
export function otherUpdaters({
  containers,
  imageLabelsOf,
  ownId,
  scope,
}: {
  readonly containers: readonly ContainerSummary[];
  readonly imageLabelsOf: ImageLabelsOf;
  /** The id of the container that we run in. */
  readonly ownId: string | undefined;
  /** Our scope; empty for unscoped. */
  readonly scope: string;
}): readonly { readonly container: ContainerSummary; readonly warning: string }[] {
  const own = ownId === undefined ? undefined : containers.find(({ id }) => id === ownId);
  return containers.flatMap((container) => {
    if (container.id === ownId || !isAlive(container.status)) return [];
    const kind = kindOf(container, own);
    if (kind === undefined) return [];
    const { labelSettings } = readLabels(container.labels, imageLabelsOf(container));
    if (!meets(kind, labelSettings.scope ?? '', scope)) return [];
    const { called, danger, remedy } = kind;
    const warning = `Container ${quoted(container.name)} is ${called} on the same engine: ${danger}. ${remedy}`;
    return [{ container, warning }];
  });
}

type Kind = {
  readonly called: string;
  readonly danger: string;
  readonly remedy: string;
  /** Containers that an updater without a scope updates; undefined for a kind without scopes. */
  readonly unscoped?: 'all' | 'unscoped';
};

const stopOrDivide =
  'Stop it, or divide their containers by scopes or labels: docs/operations.md, "Two updaters on one engine?"';

const removing: Omit<Kind, 'called'> = {
  danger: 'it removes a container before it creates the successor, even during an update by Upkeep',
  remedy: stopOrDivide,
};

/** Kinds that update only with a configured trigger. */
const triggered = { ...removing, danger: `with a docker trigger ${removing.danger}` };

const watchtower: Kind = { ...removing, called: 'an updater of the Watchtower family', unscoped: 'all' };

const upkeep: Kind = {
  called: 'another Upkeep',
  danger: 'both update the same containers, and each defers the updates of the other',
  remedy: 'Stop it, or give each a --scope',
  unscoped: 'unscoped',
};

/** Matched by the end of the repository, so that a mirror's prefix does not matter. */
const kindsByRepository: readonly (readonly [RegExp, Kind])[] = [
  [/(?:^|\/)(?:containrrr|v2tec|centurylink|beatkind)\/watchtower$/, watchtower],
  [/(?:^|\/)(?:nickfedor|nicholas-fedor)\/watchtower$/, { ...watchtower, unscoped: 'unscoped' }],
  [/(?:^|\/)(?:getwud\/wud|fmartinou\/whats-up-docker)$/, { ...triggered, called: 'What’s Up Docker' }],
  [/(?:^|\/)codeswhat\/drydock$/, { ...triggered, called: 'drydock' }],
  [/(?:^|\/)pyouroboros\/ouroboros$/, { ...removing, called: 'Ouroboros' }],
  [/(?:^|\/)quenary\/tugtainer$/, { ...removing, called: 'Tugtainer' }],
  [/(?:^|\/)upkeep$/, upkeep],
];

/** The label marks every image of the family, under any repository name. */
function kindOf(container: ContainerSummary, own: ContainerSummary | undefined): Kind | undefined {
  const repository = tryParseImageReference(container.image)?.repository ?? '';
  const byRepository = kindsByRepository.find(([pattern]) => pattern.test(repository))?.[1];
  const kind = container.imageId === own?.imageId ? upkeep : byRepository;
  if (kind === upkeep) return belongTogether(container, own) ? undefined : upkeep;
  return kind ?? (container.labels[watchtowerLabel] === 'true' ? watchtower : undefined);
}

/** A container that takes part in Upkeep's own update has a name of that update. */
function belongTogether(container: ContainerSummary, own: ContainerSummary | undefined): boolean {
  return [container, own].some((one) => one?.name.includes('.upkeep-') === true);
}

function meets({ unscoped }: Kind, theirs: string, ours: string): boolean {
  return unscoped === undefined || theirs === ours || (theirs === '' && unscoped === 'all');
}

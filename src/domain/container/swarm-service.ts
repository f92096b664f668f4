import { dropInPrefix, familyPrefix, journalPrefix, ownPrefix, type Labels } from '../image/labels.ts';
import type { Platform } from '../image/platform.ts';
import {
  shortDigest,
  sameRepository,
  tryParseImageReference,
  type Digest,
  type ImageReference,
} from '../image/image-reference.ts';
import { quoted } from '../text/printable.ts';
import type { ContainerSummary } from './container.ts';

/** A service of a swarm from one reading. All fields are of one version. */
export type SwarmService = {
  readonly id: string;
  readonly name: string;
  /**
   * Decimal digits. It also changes without a change of the service. A change is based on the version that was read
   * with it.
   */
  readonly version: string;
  /** Verbatim: `repository:tag@sha256:…`, or a shorter form. */
  readonly image: string;
  /** `Spec.Labels`. */
  readonly labels: Labels;
  /** Labels of its containers: `Spec.TaskTemplate.ContainerSpec.Labels`. */
  readonly containerLabels: Labels;
  /** Milliseconds since the epoch. */
  readonly createdAtMs: number;
  readonly mode: ServiceMode;
  /** The number in the spec. Undefined for a mode without one. */
  readonly replicas: number | undefined;
  /**
   * The swarm's own count, which may include tasks on a lost node, with the tasks of a global service that wait for
   * their restart. Undefined where it was not requested.
   */
  readonly count: { readonly running: number; readonly wanted: number } | undefined;
  /**
   * The report of the swarm's updater about itself. It can be wrong, and `updating` may never end. Undefined: never
   * updated, or changed since without a restart of its tasks.
   */
  readonly update:
    | {
        readonly state: SwarmUpdateStatus;
        /** Milliseconds since the epoch by the swarm's clock; undefined without it. */
        readonly startedAtMs: number | undefined;
        readonly completedAtMs: number | undefined;
        /** One printable line. */
        readonly message: string;
      }
    | undefined;
  readonly order: 'start-first' | 'stop-first';
  readonly failureAction: 'pause' | 'continue' | 'rollback';
  /** The time for which the swarm's updater watches a new task. */
  readonly monitorMs: number;
  /** The time that its spec allows between two changes of its tasks: delay, stop, and start until its HEALTHCHECK passes. */
  readonly pauseMs: number;
  /** It publishes a port on the node itself, so each node runs at most one of its tasks. */
  readonly hasHostPorts: boolean;
  /** `node.role==worker`, as in the spec. */
  readonly constraints: readonly string[];
  /** `Placement.Platforms` of the spec; undefined without it. */
  readonly platforms: readonly Platform[] | undefined;
  /** From `PreviousSpec`. Undefined without one, for example after the swarm's own rollback. */
  readonly previous: { readonly image: string; readonly labels: Labels } | undefined;
  readonly spec: RawSpec;
};

/** The bytes of a spec as they were read. Only the adapter that read them parses them. */
export type RawSpec = string & { readonly [rawSpec]: never };
declare const rawSpec: unique symbol;

export const serviceModes = ['replicated', 'global', 'replicated-job', 'global-job'] as const;

export type ServiceMode = (typeof serviceModes)[number];

/** https://docs.docker.com/reference/api/engine/version/v1.51/#tag/Service/operation/ServiceInspect */
export const swarmUpdateStatuses = [
  'updating',
  'paused',
  'completed',
  'rollback_started',
  'rollback_paused',
  'rollback_completed',
] as const;

export type SwarmUpdateStatus = (typeof swarmUpdateStatuses)[number];

export type SwarmTask = {
  readonly id: string;
  readonly serviceId: string;
  /** Empty until it is assigned to a node. */
  readonly nodeId: string;
  /** Undefined for a task of a global service. */
  readonly slot: number | undefined;
  /** Verbatim, from the task's own spec. */
  readonly image: string;
  readonly state: TaskState;
  readonly desired: TaskState;
  /** One printable line: `task: non-zero exit (3)`; empty without an error. */
  readonly error: string;
  readonly exitCode: number | undefined;
  readonly createdAtMs: number;
  /** The time at which it reached its state, by the clock of its node. */
  readonly stateAtMs: number;
};

/** In the order of a task's life: https://docs.docker.com/engine/swarm/how-swarm-mode-works/swarm-task-states/ */
export const taskStates = [
  'new',
  'pending',
  'assigned',
  'accepted',
  'preparing',
  'ready',
  'starting',
  'running',
  'complete',
  'shutdown',
  'failed',
  'rejected',
  'remove',
  'orphaned',
] as const;

export type TaskState = (typeof taskStates)[number];

/** The tasks of one version. */
export type TaskProgress = { readonly running: number; readonly wanted: number };

export type SwarmNode = {
  readonly id: string;
  readonly hostname: string;
  /** Only a `ready` node is known to run its tasks. */
  readonly state: 'ready' | 'down' | 'unknown' | 'disconnected';
  readonly availability: 'active' | 'pause' | 'drain';
  readonly role: 'manager' | 'worker';
  readonly platform: Platform;
  readonly labels: Labels;
};

/** The number of tasks that a service should have, and of those that run a version. */
type TaskCount = { readonly wanted: number; readonly running: readonly SwarmTask[] };

/**
 * Only tasks that should run on a ready node count: for some time the manager shows a task on a lost node as running. A
 * global service should run on every ready node that has one of its tasks.
 */
export function countTasks(
  { mode, replicas = 0 }: Pick<SwarmService, 'mode' | 'replicas'>,
  image: string,
  tasks: readonly SwarmTask[],
  nodes: readonly SwarmNode[],
): TaskCount {
  const ready = new Set(nodes.filter(({ state }) => state === 'ready').map(({ id }) => id));
  const wanted = tasks.filter(({ desired, nodeId }) => desired === 'running' && ready.has(nodeId));
  const running = wanted.filter((task) => task.image === image && task.state === 'running');
  if (mode === 'global') return { wanted: new Set(wanted.map(({ nodeId }) => nodeId)).size, running };
  return { wanted: replicas, running };
}

/** The place of a task in its service: a slot, or for a global service a node. */
export function placeOf({ slot, nodeId }: SwarmTask): string {
  return slot === undefined ? `node ${nodeId}` : `slot ${slot}`;
}

/** The number of states that a task has passed on its way to `running`; 0 for one that has ended. */
export function progressOf({ state }: SwarmTask): number {
  const at = taskStates.indexOf(state);
  return at > taskStates.indexOf('running') ? 0 : at + 1;
}

/** Whether the swarm wants the task to run, now or after a delay before its restart. */
export function isToRun({ desired }: SwarmTask): boolean {
  return taskStates.indexOf(desired) <= taskStates.indexOf('running');
}

/** Whether a task of a service that should keep running has ended by itself. */
export function hasFailed({ state }: SwarmTask): boolean {
  return state === 'failed' || state === 'complete' || state === 'rejected';
}

/**
 * Whether an end is the image's own fault. A rejected task lacks something on its node: "No such image" means that the
 * registry is unreachable, requires a login or has lost the digest.
 */
export function isImagesOwnFault({ state, error }: Pick<SwarmTask, 'state' | 'error'>): boolean {
  return (state === 'failed' || state === 'complete') && !ofTheNode.test(error);
}

const ofTheNode = /no such image|port is already|address already in use|no suitable node|no space left/i;

/** The error text of a task, with its node. */
export function describeTaskError(task: SwarmTask, nodes: readonly SwarmNode[]): string {
  const node = nodes.find(({ id }) => id === task.nodeId)?.hostname;
  const error =
    task.error || (task.exitCode === undefined ? task.state : `${task.state} with exit code ${task.exitCode}`);
  return node === undefined || node === '' ? error : `${error} on ${node}`;
}

/** The service of the task in which this process runs. */
export function ownServiceId(
  containers: readonly Pick<ContainerSummary, 'id' | 'labels'>[],
  ownId: string | undefined,
): string | undefined {
  return containers.find(({ id }) => id === ownId)?.labels[serviceIdLabel];
}

/**
 * A label of every container of a task: https://docs.docker.com/engine/swarm/how-swarm-mode-works/swarm-task-states/
 */
const serviceIdLabel = 'com.docker.swarm.service.id';

/** The parsed image of a service's spec. */
export type ServiceImage =
  | {
      readonly kind: 'tagged';
      /** Verbatim, without the digest and with a tag. An update writes it with another digest. */
      readonly text: string;
      /** Without a digest. */
      readonly reference: ImageReference;
      /** Undefined: every node runs the version that the tag had when it pulled. */
      readonly digest: Digest | undefined;
    }
  | { readonly kind: 'pinned'; readonly text: string; readonly reason: string; readonly digest: Digest }
  | { readonly kind: 'unreadable'; readonly text: string; readonly reason: string };

/**
 * The image in the compose file, which `docker stack deploy` stores in this label:
 * https://github.com/docker/cli/blob/master/cli/compose/convert/service.go
 */
const stackImageLabel = 'com.docker.stack.image';

/**
 * Docker's client adds a digest to `app:1` by itself, which then looks pinned by a person. Only the image in the
 * compose file, if there is one, distinguishes the two.
 */
export function readServiceImage(image: string, labels: Labels): ServiceImage {
  const parsed = tryParseImageReference(image);
  if (parsed === undefined)
    return { kind: 'unreadable', text: image, reason: `Runs ${quoted(image)}, which is not an image reference` };
  const [name = image] = image.split('@');
  const { tag, digest } = parsed;
  const written = tryParseImageReference(labels[stackImageLabel] ?? '');
  if (digest !== undefined && (tag === undefined || written?.digest !== undefined))
    return { kind: 'pinned', text: name, digest, reason: `Pinned to the digest ${shortDigest(digest)}` };
  const isTagWritten = tryParseImageReference(`${name}@${exampleDigest}`)?.tag !== undefined;
  const text = isTagWritten ? name : `${name}:${tag ?? 'latest'}`;
  return { kind: 'tagged', text, digest, reference: { ...parsed, digest: undefined } };
}

/** A reference with a digest gets no default tag, so its tag was written. */
const exampleDigest = `sha256:${'0'.repeat(64)}`;

/** The digest of an image's text; undefined without one. */
export function digestIn(image: string): Digest | undefined {
  return tryParseImageReference(image)?.digest;
}

/** Labels of the service, written by the call that changes it. */
export const updateIdLabel = 'upkeep.tx.id';
/** The image that the update replaced, verbatim. */
export const updateFromLabel = 'upkeep.tx.from';
/** The seal of an instance with a key: see `Seal` in `outside.ts`. */
export const updateSealLabel = 'upkeep.tx.seal';

/** The labels of an update. */
export function updateLabels(
  { id, serviceId, from }: { readonly id: string; readonly serviceId: string; readonly from: string },
  seal: { readonly sign: (text: string) => string } | undefined,
): Labels {
  const labels = { [updateIdLabel]: id, [updateFromLabel]: from };
  return seal === undefined ? labels : { ...labels, [updateSealLabel]: seal.sign(sealedText(id, serviceId, from)) };
}

function sealedText(...parts: readonly string[]): string {
  return JSON.stringify(['service', ...parts]);
}

/**
 * The image that a rollback of a service writes into its spec, verbatim: the image before its last update by Upkeep,
 * else the image of `PreviousSpec`. Undefined if neither differs from the present one. An image without a digest does
 * not count, because the nodes would pull the present version of its tag.
 */
export function rollbackImageOf(service: SwarmService, seal: SealReader): string | undefined {
  return earlierImages(service, seal).find((image) => digestIn(image) !== undefined);
}

/** The earlier image of a service that cannot be rolled back, because it has no digest. */
export function unpinnedEarlierImage(service: SwarmService, seal: SealReader): string | undefined {
  return rollbackImageOf(service, seal) === undefined ? earlierImages(service, seal)[0] : undefined;
}

/** See `Seal` in `outside.ts`. */
type SealReader = { readonly verify: (text: string, seal: string) => boolean } | undefined;

function earlierImages(service: SwarmService, seal: SealReader): readonly string[] {
  const { image, labels, previous } = service;
  const claimed = whyFromIgnored(service, seal) === undefined ? labels[updateFromLabel] : undefined;
  return [claimed, previous?.image].filter((each): each is string => each !== undefined && each !== image);
}

/**
 * Why the label with the image before the last update does not count. Undefined: it counts, or there is none. Anyone
 * who may create services can write it, so it names an image of the service's own repository only, and with a key it
 * has its seal.
 */
export function whyFromIgnored({ id, image, labels }: SwarmService, seal: SealReader): string | undefined {
  const from = labels[updateFromLabel];
  if (from === undefined) return undefined;
  const [now, before] = [tryParseImageReference(image), tryParseImageReference(from)];
  if (now === undefined || before === undefined || !sameRepository(now, before))
    return `its label ${updateFromLabel} names an image of another repository, ${quoted(from, 200)}`;
  const text = sealedText(labels[updateIdLabel] ?? '', id, from);
  if (seal === undefined || seal.verify(text, labels[updateSealLabel] ?? '')) return undefined;
  return `its label ${updateFromLabel} does not have the seal of this instance's key`;
}

/**
 * A service in the form of a container, for the rules of selection, without an image of this engine. Its own labels
 * take precedence over those of its containers. Labels without effect on a service are omitted.
 */
export function summaryOfService(service: SwarmService): ContainerSummary {
  const { id, name, image, createdAtMs } = service;
  return {
    id,
    name,
    image: readServiceImage(image, service.labels).text,
    imageId: '',
    status: isRestarting(service) ? 'restarting' : 'running',
    health: 'none',
    labels: Object.fromEntries(Object.entries(labelsOfService(service)).filter(([label]) => hasEffect(label))),
    // Docker's lists have whole seconds.
    createdAtMs: Math.floor(createdAtMs / 1000) * 1000,
    networkMode: '',
  };
}

/**
 * Whether its tasks end as soon as they start. During an update, no task may run for a moment. A global service that no
 * node fits wants no task.
 */
function isRestarting({ count, mode, replicas, update }: SwarmService): boolean {
  if (count === undefined || count.running > 0 || replicas === 0) return false;
  if (mode === 'global' && count.wanted === 0) return false;
  return update === undefined || update.state === 'completed' || update.state === 'rollback_completed';
}

/** Warnings about its labels without effect on a service, with the reasons; safe to print. */
export function labelsWithoutEffect(service: SwarmService): readonly string[] {
  return Object.keys(labelsOfService(service))
    .filter(
      (label) => !hasEffect(label) && !restraints.includes(nameOf(label) ?? '') && !label.startsWith(journalPrefix),
    )
    .slice(0, maxWarnings)
    .map((label) => `The label ${quoted(label)} has no effect on a service: ${whyNot(label)}`);
}

const maxWarnings = 20;

/** Its own labels over those of its containers. */
function labelsOfService({ labels, containerLabels }: SwarmService): Labels {
  return { ...containerLabels, ...labels };
}

function hasEffect(label: string): boolean {
  const name = nameOf(label);
  return name === undefined || supportedNames.includes(name);
}

/** Without its prefix. Undefined for a label of a tool outside Watchtower's family. */
function nameOf(label: string): string | undefined {
  const prefix = [ownPrefix, dropInPrefix].find((each) => label.startsWith(each));
  if (prefix !== undefined) return label.slice(prefix.length);
  return label.startsWith(familyPrefix) ? label : undefined;
}

/**
 * Its labels that restrain the updates of a container, and cannot be followed on a service, so that they hold it back:
 * see `whyHeldByLabel`. `name` is without the prefix.
 */
export function restraintsOf(service: SwarmService): readonly { label: string; name: string; text: string }[] {
  return Object.entries(labelsOfService(service)).flatMap(([label, text]) => {
    const name = nameOf(label);
    return name !== undefined && restraints.includes(name) ? [{ label, name, text }] : [];
  });
}

const restraints: readonly string[] = [
  'no-pull',
  'no-restart',
  'from-registry',
  'data',
  'health-probe',
  'lifecycle.pre-update',
];

const supportedNames: readonly string[] = [
  'enable',
  'monitor-only',
  'scope',
  'cooldown-delay',
  'approve',
  'window',
  'verify',
  'verify-identity',
  'verify-annotation',
  'depends-on',
  'health-window',
  'health-timeout',
  'notify',
];

/** Why a label cannot be followed on a service: a clause. */
export function whyNot(label: string): string {
  if (/lifecycle|pre-|post-|health-probe/.test(label))
    return 'it needs a shell, or an address, on the node of each task';
  if (/start-first|stop-|keep-old|no-restart|auto-remove/.test(label))
    return "the swarm replaces its tasks, by the service's own update_config";
  if (/\.data\b/.test(label)) return 'the swarm starts and stops its tasks by itself, so their data cannot be copied';
  if (label.endsWith('no-pull')) return 'the nodes pull its image themselves';
  return `a service supports only ${supportedNames.slice(0, -1).join(', ')} and ${supportedNames.at(-1)}`;
}

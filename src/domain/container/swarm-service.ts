import type { Labels } from '../image/labels.ts';
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

type ServiceMode = (typeof serviceModes)[number];

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

type TaskState = (typeof taskStates)[number];

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

/** Whether the swarm wants the task to run, now or after a delay before its restart. */
export function isToRun({ desired }: SwarmTask): boolean {
  return taskStates.indexOf(desired) <= taskStates.indexOf('running');
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
type ServiceImage =
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
export const journalLabels = {
  id: 'upkeep.tx.id',
  /** The image that the update replaced, verbatim. */
  from: 'upkeep.tx.from',
  /** The seal of an instance with a key: see `Seal` in `outside.ts`. */
  seal: 'upkeep.tx.seal',
} as const;

/** The labels of an update. */
export function updateLabels(
  { id, serviceId, from }: Omit<ServiceUpdate, 'to'>,
  seal: { readonly sign: (text: string) => string } | undefined,
): Labels {
  const labels = { [journalLabels.id]: id, [journalLabels.from]: from };
  return seal === undefined ? labels : { ...labels, [journalLabels.seal]: seal.sign(sealedText(id, serviceId, from)) };
}

function sealedText(...parts: readonly string[]): string {
  return JSON.stringify(['service', ...parts]);
}

/**
 * The image that a rollback of a service writes into its spec, verbatim: the image before its last update by Upkeep,
 * else the image of `PreviousSpec`, if it differs from the present one. `unpinned`: it has no digest, so the nodes would
 * pull the present version of its tag. `why`: why the label of the update does not count.
 */
export function earlierImageOf(
  service: SwarmService,
  seal: SealReader,
):
  | { readonly kind: 'pinned' | 'unpinned'; readonly image: string }
  | { readonly kind: 'none'; readonly why: string | undefined } {
  const { image, labels, previous } = service;
  const why = whyFromIgnored(service, seal);
  const claimed = why === undefined ? labels[journalLabels.from] : undefined;
  const earlier = [claimed, previous?.image].flatMap((each) => (each === undefined || each === image ? [] : each));
  const pinned = earlier.find((each) => digestIn(each) !== undefined);
  if (pinned !== undefined) return { kind: 'pinned', image: pinned };
  const [unpinned] = earlier;
  return unpinned === undefined ? { kind: 'none', why } : { kind: 'unpinned', image: unpinned };
}

/** See `Seal` in `outside.ts`. */
type SealReader = { readonly verify: (text: string, seal: string) => boolean } | undefined;

/**
 * Why the label with the image before the last update does not count. Undefined: it counts, or there is none. Anyone
 * who may create services can write it, so it names an image of the service's own repository only, and with a key it
 * has its seal.
 */
function whyFromIgnored({ id, image, labels }: SwarmService, seal: SealReader): string | undefined {
  const from = labels[journalLabels.from];
  if (from === undefined) return undefined;
  const [now, before] = [tryParseImageReference(image), tryParseImageReference(from)];
  if (now === undefined || before === undefined || !sameRepository(now, before))
    return `its label ${journalLabels.from} names an image of another repository, ${quoted(from, 200)}`;
  const text = sealedText(labels[journalLabels.id] ?? '', id, from);
  if (seal === undefined || seal.verify(text, labels[journalLabels.seal] ?? '')) return undefined;
  return `its label ${journalLabels.from} does not have the seal of this instance's key`;
}

/**
 * Our unfinished update of a service, from its spec alone, so that no owner has to be found. Undefined without one. An
 * update that the swarm calls completed stays open for an hour; failures of tasks after that do not belong to it.
 */
export function openUpdate(service: SwarmService, nowMs: number): ServiceUpdate | undefined {
  const { id: serviceId, image, labels, previous, update } = service;
  if (update === undefined) return undefined;
  const isRecent = update.completedAtMs === undefined || nowMs - update.completedAtMs < openForMs;
  const [id, from] = [labels[journalLabels.id], labels[journalLabels.from]];
  if (id !== undefined && from !== undefined && previous?.image === from) {
    const isOpen =
      update.state === 'updating' || update.state === 'paused' || (update.state === 'completed' && isRecent);
    return isOpen ? { id, serviceId, from, to: image } : undefined;
  }
  const previousId = previous?.labels[journalLabels.id];
  if (previousId === undefined || previous?.labels[journalLabels.from] !== image) return undefined;
  const isOpen = update.state === 'rollback_started' || (update.state === 'rollback_completed' && isRecent);
  return isOpen ? { id: previousId, serviceId, from: image, to: previous.image } : undefined;
}

/** The time for which a start watches an update that the swarm calls ended, in milliseconds. */
const openForMs = 3_600_000;

/**
 * Whether the swarm's own rollback has ended recently. It leaves no `PreviousSpec`, so the spec does not show the
 * version.
 */
export function isRolledBackBySwarm({ update, previous }: SwarmService, nowMs: number): boolean {
  if (update?.state !== 'rollback_completed' || previous !== undefined) return false;
  return update.completedAtMs === undefined || nowMs - update.completedAtMs < openForMs;
}

/** One update of a service. The swarm stores it, as labels of the spec that the update made. */
export type ServiceUpdate = {
  readonly id: string;
  readonly serviceId: string;
  /** Verbatim from the spec. */
  readonly from: string;
  readonly to: string;
};

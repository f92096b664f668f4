import {
  effectiveSettings,
  labelledSettings,
  labelsInEffect,
  type LabelledSetting,
  type ServiceSettings,
} from './settings/effective-settings.ts';
import {
  isAlive,
  type ContainerStatus,
  type HealthStatus,
  type ContainerSummary,
  type ImageSummary,
  type ContainerReach,
} from './container/container.ts';
import type { NotesSummary } from './notes/notes.ts';
import { hasFormerImage, withoutKept, type UnfinishedUpdate } from './recovery/leftovers.ts';
import type { Hold, CandidateKind } from './decision/decisions.ts';
import type { ComposeState } from './compose/compose-state.ts';
import type { UnwatchedReason, WatchedContainer } from './check/selection.ts';
import { versionOf, type ImageVersions } from './image/labels.ts';
import type { EntryKind, PastOutcome } from './run/session.ts';
import { digestIn, earlierImageOf, type SwarmUpdateStatus, type SwarmService } from './container/swarm-service.ts';
import { registryDigest, type Staleness } from './check/verdict.ts';
import { isImageId, readContainerReference } from './check/container-reference.ts';
import { familiarReference } from './image/image-reference.ts';
import {
  readComposeIdentity,
  labelsOfImage,
  versionFactsOf,
  createContainerLookup,
  type LinkedContainer,
} from './container/lookup.ts';
import { iconIn } from './image/image-source.ts';
import type { Seal } from './outside/outside.ts';
import { dependenciesOf, type SoftOptions } from './plan/dependency-graph.ts';
import { isSameList, isSameRecord } from './text/plain-data.ts';
import { summaryOfService } from './swarm/service-verdict.ts';

/** Containers and images that Upkeep watches: an immutable snapshot. */
export type Inventory = {
  /** Increases with every change of the content, so that output for one revision can be cached. */
  readonly revision: number;
  /** False before the first listing. */
  readonly known: boolean;
  /** The scope; empty: unscoped, or not yet listed. */
  readonly scope: string;
  /** The watched containers, newest first, as Docker lists them. */
  readonly containers: readonly TrackedContainer[];
  /** Watched containers with an interrupted update, by their plain names. */
  readonly unfinished: readonly UnfinishedTracked[];
  /** Images of the containers, one per image id and reference, sorted by name. */
  readonly images: readonly TrackedImage[];
  /** Containers with a newer version in the last check, held back or not. Undefined while no check has told. */
  readonly updatesAvailable: number | undefined;
};

/** A container that is not watched. `reason` follows its name: `is stopped`. */
export type UnwatchedTracked = Pick<TrackedContainer, 'name' | 'image' | 'engine'> & UnwatchedReason;

export type UnfinishedTracked = Pick<UnfinishedUpdate, 'name' | 'state' | 'reason' | 'isDown' | 'isAbandoned'> & {
  /** The reference it was created from, as the engine lists it. */
  readonly image: string;
  /** Present with several engines. */
  readonly engine?: string;
};

export type TrackedContainer = LastCheck & {
  readonly id: string;
  readonly name: string;
  /** Present with several engines. */
  readonly engine?: string;
  /** The reference that it was created from, in short form. */
  readonly image: string;
  readonly imageId: string;
  /** The registry digest of its image; empty for a local build. */
  readonly digest: string;
  /** Whether it has a process. A paused one has. */
  readonly running: boolean;
  readonly status: ContainerStatus;
  readonly health: HealthStatus;
  /** By the engine's clock, in whole seconds. */
  readonly createdAtMs: number;
  /** By the engine's clock; absent without a process, or if unknown. */
  readonly startedAtMs?: number;
  /** Whether we run in it ourselves. */
  readonly self: boolean;
  /** The effective value of label and option. */
  readonly monitorOnly: boolean;
  readonly noPull: boolean;
  /** Value of the container's label; without one, true if unlabelled containers are watched. */
  readonly enabled: boolean;
  /** Empty: none. */
  readonly scope: string;
  /**
   * Names of the containers that it depends on, as far as the engine's list shows: by label, by compose, by a shared
   * network.
   */
  readonly dependsOn: readonly string[];
  /** The effective labels, verbatim. If an own and a drop-in label mean the same, only the own one. */
  readonly labelsInEffect: Readonly<Record<string, string>>;
  /** The settings that these labels change. */
  readonly settings: readonly LabelledSetting[];
  /** Present where services of a swarm are watched too. */
  readonly kind?: EntryKind;
  /** For a service: its mode, its wanted and running tasks, and the swarm's state of its last update. */
  readonly mode?: SwarmService['mode'];
  readonly wantedTasks?: number;
  readonly runningTasks?: number;
  readonly updateState?: SwarmUpdateStatus;
  /** Compose project, or stack; absent without one. */
  readonly project?: string;
  readonly composeService?: string;
  /** Version of its image for display; absent when nothing is known. */
  readonly version?: string;
  /** Whether a rollback has a former image, as far as the engine's lists show. */
  readonly canRollBack: boolean;
  /** The address of an icon that one of its labels gives; absent without one. */
  readonly icon?: string;
  /** The newest outcome with an effect, or else the newest other than `fresh`, of the known runs; absent without one. */
  readonly last?: PastOutcome;
};

/** Result of the last check of the container's image. */
export type LastCheck = Omit<ImageVersions, 'version'> & {
  /** Undefined before the first check. */
  readonly staleness: Staleness | undefined;
  /** Whether an update would replace it. */
  readonly stale: boolean;
  /** Also true for a version that is held back. A failed check keeps the earlier value. */
  readonly updateAvailable: boolean;
  /** Empty when it is not known. */
  readonly latestDigest: string;
  readonly reason: string;
  readonly checkedAtMs: number | undefined;
  /** Kind of reason of `held` and `unknown`. */
  readonly hold?: Hold;
  /** With the hold `approval`: what the release notes have to do with it. */
  readonly holdBecause?: 'breaking' | 'unread';
  /** The release notes of the newer version, in short. */
  readonly notes?: NotesSummary;
  /** The version that an update would apply, if it is not the newest: see `latestDigest`. */
  readonly candidateDigest?: string;
  /** Held until then, milliseconds since the epoch. */
  readonly eligibleAtMs?: number;
  /** After a failed check: the time of the next permitted registry request. */
  readonly retryAtMs?: number;
  /** See `CheckedContainer`. */
  readonly candidate?: string;
  readonly candidateKind?: CandidateKind;
  readonly compose?: ComposeState;
};

export type TrackedImage = {
  /** Present with several engines. */
  readonly engine?: string;
  /** The reference in short form. */
  readonly name: string;
  readonly imageId: string;
  readonly digest: string;
  /** The number of watched containers that run it. */
  readonly containers: number;
};

type TrackingFacts = {
  readonly watched: WatchedContainer;
  /** Its image; undefined when the engine no longer has it. */
  readonly image: ImageSummary | undefined;
  readonly dependsOn: readonly string[];
  readonly imageOf: (id: string) => ImageSummary | undefined;
  /** The seal of our key; absent without one. */
  readonly seal: Pick<Seal, 'verify'> | undefined;
  /** Present where the entry is a service. */
  readonly service?: SwarmService;
  /** The id of the container that we run in, and of the service of its task. */
  readonly ownId: string | undefined;
  readonly ownServiceId?: string | undefined;
};

/** A watched container in the inventory, from the engine's lists alone. */
export function trackContainer(
  facts: TrackingFacts,
  settings: ServiceSettings,
): Omit<TrackedContainer, keyof LastCheck | 'last' | 'startedAtMs'> {
  const { container, labelSettings } = facts.watched;
  const { id, name, imageId, status, health, createdAtMs, labels } = container;
  const imageLabels = labelsOfImage(facts.image);
  const { monitorOnly, noPull } = effectiveSettings(settings, labelSettings);
  const { image, digest } = imageOf(container, facts);
  const { project, service } = readComposeIdentity(labels) ?? {};
  const icon = iconIn(labels, imageLabels);
  const version = versionOf(versionFactsOf(facts.image, { image, digest: digest === '' ? imageId : digest }));
  return {
    id,
    name,
    image,
    imageId,
    digest,
    running: isAlive(status),
    status,
    health,
    createdAtMs,
    self: id === facts.ownId,
    monitorOnly,
    noPull,
    enabled: labelSettings.enable ?? !settings.labelEnable,
    scope: labelSettings.scope ?? '',
    dependsOn: facts.dependsOn,
    labelsInEffect: labelsInEffect(labels, imageLabels),
    settings: labelledSettings(settings, labels, imageLabels),
    ...(project !== undefined && { project }),
    ...(service !== undefined && { composeService: service }),
    ...(version !== undefined && { version }),
    ...(icon !== undefined && { icon }),
    canRollBack: id !== facts.ownId && hasFormerImage(formerImageFacts(facts)),
    ...(settings.swarm && { kind: 'container' as const }),
    ...(facts.service && trackService(facts.service, facts)),
  };
}

function formerImageFacts({ watched: { container }, image, seal, imageOf }: TrackingFacts) {
  const { image: shown, imageId } = container;
  const carrier = {
    ...container,
    image: isImageId(shown, imageId) ? undefined : shown,
    imageLabels: labelsOfImage(image),
  };
  return { carrier, seal, imageOf };
}

/** The fields of a service that differ from a container's. */
function trackService(
  service: SwarmService,
  { seal, ownServiceId }: TrackingFacts,
): Partial<ReturnType<typeof trackContainer>> {
  const { image, labels, count, mode, replicas, update } = service;
  const digest = digestIn(image) ?? '';
  const self = service.id === ownServiceId;
  const stack = labels['com.docker.stack.namespace'];
  return {
    kind: 'service',
    digest,
    self,
    running: (count?.running ?? 0) > 0,
    ...(stack !== undefined && { project: stack }),
    mode,
    wantedTasks: count?.wanted ?? replicas ?? 0,
    runningTasks: count?.running ?? 0,
    ...(update && { updateState: update.state }),
    canRollBack: !self && earlierImageOf(service, seal).kind === 'pinned',
  };
}

/** One entry for each image id and reference, by name. */
export function trackImages(containers: readonly TrackedContainer[]): readonly TrackedImage[] {
  const images = new Map<string, TrackedImage>();
  for (const { image: name, imageId, digest } of containers) {
    const key = `${imageId} ${name}`;
    images.set(key, { name, imageId, digest, containers: (images.get(key)?.containers ?? 0) + 1 });
  }
  return [...images.values()].toSorted(
    (one, other) => compare(one.name, other.name) || compare(one.imageId, other.imageId),
  );
}

function imageOf(
  { image: text, imageId }: ContainerSummary,
  { image, watched }: TrackingFacts,
): Pick<TrackedContainer, 'image' | 'digest'> {
  const read = readContainerReference({ text, originalImage: watched.labelSettings.originalImage, imageId, image });
  const reference = read.kind === 'known' ? read.reference : undefined;
  return {
    image: reference === undefined ? read.text : familiarReference(reference),
    digest: image === undefined ? '' : (registryDigest(image, reference) ?? ''),
  };
}

function compare(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

/** The names of the containers that a listed one depends on. */
export type ListedDependencies = (watched: Pick<WatchedContainer, 'container' | 'labelSettings'>) => readonly string[];

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
  return ({ container, labelSettings: { dependsOn } }) => {
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

/** An engine's lists in the mirror. Unchanged entries stay the same objects. */
export type EngineListing = {
  /** Newest first. */
  readonly containers: readonly ContainerSummary[];
  readonly images: readonly ImageSummary[];
  /** Sorted by name. Absent unless services are watched. */
  readonly services?: readonly ListedService[];
};

/** A service of a swarm, with its summary in the form of a container. */
export type ListedService = { readonly service: SwarmService; readonly summary: ContainerSummary };

export const emptyListing: EngineListing = { containers: [], images: [] };

/** The listing after all containers have been read again. */
export function withAllContainers(listing: EngineListing, read: readonly ContainerSummary[]): EngineListing {
  const known = new Map(listing.containers.map((container) => [container.id, container]));
  return withContainers(
    listing,
    read.map((container) => merge(known.get(container.id), container)),
  );
}

/** The listing after these containers have been read again. A requested container that was not found is removed. */
export function withSomeContainers(
  listing: EngineListing,
  ids: ReadonlySet<string>,
  read: readonly ContainerSummary[],
): EngineListing {
  const found = new Map(read.map((container) => [container.id, container]));
  const kept = listing.containers.flatMap((container) => {
    if (!ids.has(container.id)) return [container];
    const again = found.get(container.id);
    found.delete(container.id);
    return again === undefined ? [] : [merge(container, again)];
  });
  // Of containers created in the same second, the newer one comes first.
  return withContainers(listing, [...found.values(), ...kept]);
}

/** The listing with references from inspections, by container id. */
export function withReferences(listing: EngineListing, references: ReadonlyMap<string, string>): EngineListing {
  const containers = listing.containers.map((container) => {
    const image = references.get(container.id) ?? container.image;
    return image === container.image ? container : { ...container, image };
  });
  return withContainers(listing, containers);
}

/**
 * Whether a new container was created in the same second as a listed one. Only a complete list then shows their order.
 */
export function isOrderInDoubt(before: EngineListing, after: EngineListing): boolean {
  const known = new Set(before.containers.map(({ id }) => id));
  const seconds = new Set(before.containers.map(({ createdAtMs }) => createdAtMs));
  return after.containers.some(({ id, createdAtMs }) => !known.has(id) && seconds.has(createdAtMs));
}

export function withImages(listing: EngineListing, read: readonly ImageSummary[]): EngineListing {
  const known = new Map(listing.images.map((image) => [image.id, image]));
  const images = read.map((image) => {
    const old = known.get(image.id);
    return old !== undefined && isSameImage(old, image) ? old : image;
  });
  return isSameList(listing.images, images) ? listing : { ...listing, images };
}

/** The listing with the services that were read. Undefined: no service is watched. */
export function withServices(listing: EngineListing, read: readonly SwarmService[] | undefined): EngineListing {
  if (read === undefined) {
    const { services: _, ...others } = listing;
    return listing.services === undefined ? listing : others;
  }
  const known = new Map(listing.services?.map((listed) => [listed.service.id, listed]));
  const services = read.map((service) => {
    const before = known.get(service.id);
    if (before !== undefined && isSameService(before.service, service)) return before;
    return { service, summary: summaryOfService(service) };
  });
  const isSame = listing.services !== undefined && isSameList(listing.services, services);
  return isSame ? listing : { ...listing, services };
}

/** All entries: containers, then services. */
export function everyEntry({ containers, services }: EngineListing): readonly ContainerSummary[] {
  return services === undefined ? containers : [...containers, ...services.map(({ summary }) => summary)];
}

/** Tasks start and end without a new version of their service. */
function isSameService(one: SwarmService, other: SwarmService): boolean {
  const counts = [one, other].map(({ count, update }) => [count?.running, count?.wanted, update?.state].join(' '));
  return one.version === other.version && counts[0] === counts[1];
}

/** Docker's order: newest first, equal seconds in the order of the list. Podman's list has another order. */
function withContainers(listing: EngineListing, containers: readonly ContainerSummary[]): EngineListing {
  const sorted = containers.toSorted((one, other) => other.createdAtMs - one.createdAtMs);
  return isSameList(listing.containers, sorted) ? listing : { ...listing, containers: sorted };
}

/**
 * Keeps a container's reference. The list shows a bare id after the tag has moved, but the earlier reference still
 * holds.
 */
function merge(old: ContainerSummary | undefined, read: ContainerSummary): ContainerSummary {
  if (old === undefined) return read;
  const moved = isImageId(read.image, read.imageId) && old.imageId === read.imageId;
  const image = moved ? old.image : read.image;
  const labels = isSameRecord(old.labels, read.labels) ? old.labels : read.labels;
  const reach = isSameReach(old.reach, read.reach) ? old.reach : read.reach;
  const merged = { ...read, image, labels, ...(reach && { reach }) };
  return isSameRecord(old, merged) ? old : merged;
}

function isSameReach(one: ContainerReach | undefined, other: ContainerReach | undefined): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function isSameImage(one: ImageSummary, other: ImageSummary): boolean {
  return isSameList(one.tags, other.tags) && isSameList(one.digests, other.digests);
}

/** Undefined while nothing is known of any of them. None of no containers is known without a check. */
export function countUpdates(
  containers: readonly Pick<TrackedContainer, 'staleness' | 'updateAvailable'>[],
): number | undefined {
  const isKnown = ({ staleness, updateAvailable }: (typeof containers)[number]) =>
    updateAvailable || (staleness !== undefined && staleness !== 'unknown');
  if (containers.length > 0 && !containers.some(isKnown)) return undefined;
  return containers.filter(({ updateAvailable }) => updateAvailable).length;
}

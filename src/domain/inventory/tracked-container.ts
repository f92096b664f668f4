import { type ContainerSummary, type ImageSummary, isAlive } from '../container/container.ts';
import { isImageId, readContainerReference } from '../check/container-reference.ts';
import { familiarReference } from '../image/image-reference.ts';
import { readComposeIdentity, labelsOfImage, versionFactsOf } from '../container/lookup.ts';
import { versionOf } from '../image/image-labels.ts';
import { iconIn } from '../image/image-source.ts';
import type { Seal } from '../outside/outside.ts';
import { hasFormerImage } from '../rollback/former-version.ts';
import { digestIn, rollbackImageOf, type SwarmService } from '../container/swarm-service.ts';
import type { LastCheck, TrackedContainer, TrackedImage } from './inventory.ts';
import {
  effectiveSettings,
  labelledSettings,
  labelsInEffect,
  type ServiceSettings,
} from '../settings/effective-settings.ts';
import type { WatchedContainer } from '../check/selection.ts';
import { registryDigest } from '../check/verdict.ts';

/** A tracked container from the engine's lists alone. */
export type UncheckedContainer = Omit<TrackedContainer, keyof LastCheck | 'last' | 'startedAtMs'>;

export type TrackingFacts = {
  readonly watched: WatchedContainer;
  /** Its image; undefined when the engine no longer has it. */
  readonly image: ImageSummary | undefined;
  readonly dependsOn: readonly string[];
  readonly imageOf: (id: string) => ImageSummary | undefined;
  /** The seal of our key; absent without one. */
  readonly seal: Pick<Seal, 'verify'> | undefined;
  /** Present where the entry is a service. */
  readonly service?: SwarmService;
  /** The id of the container that we run in. */
  readonly ownId: string | undefined;
};

/** A watched container in the inventory, before its last check. */
export function trackContainer(facts: TrackingFacts, settings: ServiceSettings): UncheckedContainer {
  const { container, wishes } = facts.watched;
  const { id, name, imageId, status, health, createdAtMs, labels } = container;
  const imageLabels = labelsOfImage(facts.image);
  const { monitorOnly, noPull } = effectiveSettings(settings, wishes);
  const { image, digest } = imageOf(container, facts);
  const project = readComposeIdentity(labels)?.project;
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
    enabled: wishes.enable ?? !settings.labelEnable,
    scope: wishes.scope ?? '',
    dependsOn: facts.dependsOn,
    labelsInEffect: labelsInEffect(labels, imageLabels),
    settings: labelledSettings(settings, labels, imageLabels),
    ...(project !== undefined && { project }),
    ...(version !== undefined && { version }),
    ...(icon !== undefined && { icon }),
    canRollBack: id !== facts.ownId && hasFormerImage(formerImageFacts(facts)),
    ...(settings.swarm && { kind: 'container' as const }),
    ...(facts.service && trackService(facts.service, facts.seal)),
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
function trackService(service: SwarmService, seal: TrackingFacts['seal']): Partial<UncheckedContainer> {
  const { image, labels, count, mode, replicas, update } = service;
  const digest = digestIn(image) ?? '';
  const stack = labels['com.docker.stack.namespace'];
  return {
    kind: 'service',
    digest,
    running: (count?.running ?? 0) > 0,
    ...(stack !== undefined && { project: stack }),
    mode,
    wantedTasks: count?.wanted ?? replicas ?? 0,
    runningTasks: count?.running ?? 0,
    ...(update && { updateState: update.state }),
    canRollBack: rollbackImageOf(service, seal) !== undefined,
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
  const read = readContainerReference({ text, originalImage: watched.wishes.originalImage, imageId, image });
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

import type { ContainerReach, ContainerSummary, ImageSummary } from '../container/container.ts';
import { isImageId } from '../check/container-reference.ts';
import { summaryOfService, type SwarmService } from '../container/swarm-service.ts';
import { isSameList, isSameRecord } from '../text/plain-data.ts';

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

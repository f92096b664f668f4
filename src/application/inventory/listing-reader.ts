import type { ImageSummary } from '../../domain/container/container.ts';
import { unlistedImageIds } from '../../domain/container/lookup.ts';
import { isImageId } from '../../domain/check/container-reference.ts';
import {
  type EngineListing,
  withAllContainers,
  withImages,
  withReferences,
  withServices,
  withSomeContainers,
} from '../../domain/inventory.ts';
import { describeError } from '../../domain/text/errors.ts';
import type { ReadOnlyOutside } from '../../domain/outside/outside.ts';
import { inspectionsAtOnce, mapConcurrently } from '../async/concurrency.ts';
import { listServices, unlessBroken } from '../engine/listing.ts';
import type { Reading } from './engine-changes.ts';

/** Updates a listing with as few engine calls as possible. */
export type ListingReader = {
  readonly read: (reading: Reading, known: EngineListing, signal: AbortSignal) => Promise<EngineListing>;
  /** Inspects the containers for which the list shows a bare image id, once each. */
  readonly findReferences: (listing: EngineListing, signal: AbortSignal) => Promise<void>;
  /** The listing with the references from those inspections. */
  readonly refer: (listing: EngineListing) => EngineListing;
};

export function createListingReader(outside: Pick<ReadOnlyOutside, 'engine' | 'swarm' | 'log'>): ListingReader {
  const { engine, swarm, log } = outside;
  /** References by container id. A container that was created from an id has that id here. */
  const references = new Map<string, string>();
  /** Images of containers that the engine no longer has. */
  let absentImages: ReadonlySet<string> = new Set();
  const refer = (listing: EngineListing) => withReferences(listing, references);

  async function readContainers({ all, containers }: Reading, known: EngineListing, signal: AbortSignal) {
    if (all) return withAllContainers(known, await engine.listContainers({}, signal));
    if (containers.size === 0) return known;
    return withSomeContainers(known, containers, await engine.listContainers({ ids: [...containers] }, signal));
  }

  async function readImages({ all, images }: Reading, listing: EngineListing, signal: AbortSignal) {
    const unknown = unlistedImages(listing, listing.images);
    if (!all && !images && unknown.length <= mostInspected)
      return unknown.length === 0 ? listing : await addImages(listing, listing.images, unknown, signal);
    const listed = await engine.listImages(signal);
    absentImages = new Set();
    return await addImages(listing, listed, unlistedImages(listing, listed), signal);
  }

  /** The listing with the listed images and the missing ones. */
  async function addImages(
    listing: EngineListing,
    listed: readonly ImageSummary[],
    missing: readonly string[],
    signal: AbortSignal,
  ): Promise<EngineListing> {
    const found = await mapConcurrently(missing, imagesAtOnce, (id) => findImage(id, signal));
    absentImages = new Set([...absentImages, ...missing.filter((_, index) => found[index] === undefined)]);
    const unlisted = found.flatMap((image) => (image === undefined ? [] : [summaryOf(image)]));
    return withImages(listing, [...listed, ...unlisted]);
  }

  function unlistedImages({ containers }: EngineListing, images: readonly ImageSummary[]): readonly string[] {
    return unlistedImageIds(containers, images).filter((id) => !absentImages.has(id));
  }

  /** An image that the engine cannot show is treated as absent. */
  function findImage(id: string, signal: AbortSignal): Promise<ImageSummary | undefined> {
    const note = (error: string) => log.debug('An image cannot be inspected', { image: id, error });
    return unlessBroken(outside, () => engine.inspectImage(id, signal), note, signal);
  }

  async function findOne(id: string, signal: AbortSignal): Promise<void> {
    try {
      const container = await engine.inspectContainer(id, signal);
      if (container !== undefined) references.set(id, container.settings.Config.Image);
    } catch (error) {
      if (!signal.aborted) log.debug('A container cannot be inspected', { container: id, error: describeError(error) });
    }
  }

  return {
    async read(reading, known, signal) {
      const listing = await readContainers(reading, known, signal);
      const whole = await readImages(reading, listing, signal);
      const services =
        swarm === undefined || !(reading.all || reading.services)
          ? whole
          : withServices(whole, (await listServices(outside, signal))?.services);
      const ids = new Set(whole.containers.map(({ id }) => id));
      for (const id of references.keys()) if (!ids.has(id)) references.delete(id);
      return refer(services);
    },
    async findReferences({ containers }, signal) {
      const bare = containers.filter(({ id, image, imageId }) => isImageId(image, imageId) && !references.has(id));
      await mapConcurrently(bare, inspectionsAtOnce, ({ id }) => findOne(id, signal));
    },
    refer,
  };
}

const imagesAtOnce = 4;

/** More unknown images than this are listed together with all others. */
const mostInspected = 20;

function summaryOf({ id, tags, digests, labels, isConfigUnknown }: ImageSummary): ImageSummary {
  return { id, tags, digests, ...(labels && { labels }), ...(isConfigUnknown && { isConfigUnknown }) };
}

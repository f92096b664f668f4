import type { Container, ContainerSummary, ImageSummary } from '../../domain/container/container.ts';
import { type FailedVersion, failedVersionsOf } from '../../domain/check/failed-version.ts';
import { type ImageIndex, indexImages, unlistedImageIds } from '../../domain/container/lookup.ts';
import type { ReadOnlyOutside } from '../../domain/outside/outside.ts';
import { doubtfulWays, ownWays, type OwnWays } from '../../domain/self-update/own-ways.ts';
import { completeImages } from './image-configs.ts';
import { inspectionsAtOnce, mapConcurrently } from '../async/concurrency.ts';
import { listServices, type ServiceListing } from './service-listing.ts';
import { unlessBroken } from './object-error.ts';
import { stoppedError } from '../async/stopped.ts';

/**
 * The engine's containers and images. One listing serves a whole run, which inspects only the containers that it may
 * change.
 */
export type Listing = {
  readonly containers: readonly ContainerSummary[];
  readonly images: ImageIndex;
  /** Images as the engine lists them: with the tags that mark updates, without untagged parents of other images. */
  readonly listedImages: readonly ImageSummary[];
  readonly failedVersions: readonly FailedVersion[];
  /** Absent unless services are watched. */
  readonly services?: ServiceListing;
  /** The time before the first call. */
  readonly begunAt: { readonly wallMs: number; readonly monotonicMs: number };
};

/**
 * Makes two calls, and one more for each image that the engine does not list. What the engine does not know of an image
 * is read from its registry. Throws a `ServiceError`.
 */
export async function listAll(outside: ReadOnlyOutside, signal: AbortSignal | undefined): Promise<Listing> {
  const { engine, clock, log } = outside;
  const begunAt = { wallMs: clock.nowMs(), monotonicMs: clock.monotonicMs() };
  try {
    const [containers, images, services] = await Promise.all([
      engine.listContainers({}, signal),
      engine.listImages(signal),
      listServices(outside, signal),
    ]);
    const found = await mapConcurrently(unlistedImageIds(containers, images), 4, (id) =>
      unlessBroken(
        outside,
        () => engine.inspectImage(id, signal),
        (error) => log.warn('An image cannot be inspected', { image: id, error }),
        signal,
      ),
    );
    const all = [...images, ...found.filter((image) => image !== undefined)];
    return {
      containers,
      images: indexImages(await completeImages(outside, containers, all, signal)),
      listedImages: images,
      failedVersions: failedVersionsOf(images),
      ...(services && { services }),
      begunAt,
    };
  } catch (error) {
    throw signal?.aborted ? stoppedError(signal, 'check containers') : error;
  }
}

/**
 * The containers of a listing that this process must not stop: see `ownWays()`. It makes no call where this process uses
 * the engine's own socket, and where the list shows enough.
 */
export async function readOwnWays(
  { engine, instance, routes, log }: Pick<ReadOnlyOutside, 'engine' | 'instance' | 'routes' | 'log'>,
  containers: readonly ContainerSummary[],
  signal?: AbortSignal,
): Promise<OwnWays> {
  const facts = { containers, ownId: instance.containerId, routes: routes?.() };
  const inspected = new Map<string, Container>();
  await mapConcurrently(doubtfulWays(facts), inspectionsAtOnce, async (id) => {
    const note = (error: string) =>
      log.debug('A container cannot be inspected, so the way to the engine may be unknown', { error });
    const container = await unlessBroken({ engine }, () => engine.inspectContainer(id, signal), note, signal);
    if (container !== undefined) inspected.set(id, container);
  });
  return ownWays({ ...facts, inspected });
}

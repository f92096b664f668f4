import type { ImageSummary, ContainerSummary } from '../../domain/container/container.ts';
import { unlistedImageIds } from '../../domain/container/lookup.ts';
import { isImageId } from '../../domain/check/container-reference.ts';
import {
  withAllContainers,
  withImages,
  withReferences,
  withServices,
  withSomeContainers,
  type EngineListing,
} from '../../domain/inventory.ts';
import { describeError } from '../../domain/text/errors.ts';
import type { ReadOnlyOutside } from '../../domain/outside/outside.ts';
import { inspectionsAtOnce, mapConcurrently } from '../async/concurrency.ts';
import { listServices, unlessBroken } from '../engine/listing.ts';
import type { Reading } from './engine-cache.ts';
import type { EngineEvent } from '../../domain/outside/engine.ts';

/** Updates a listing with as few engine calls as possible. */
type ListingReader = {
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
    if (!all && !images && unknown.length <= maxInspected)
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
const maxInspected = 20;

function summaryOf({ id, tags, digests, labels, isConfigUnknown }: ImageSummary): ImageSummary {
  return { id, tags, digests, ...(labels && { labels }), ...(isConfigUnknown && { isConfigUnknown }) };
}

/** Start times of containers, by the engine's clock. The engine's list does not show them. */
export type StartTimes = {
  /** Forgets the time of a container that starts. Marks all times as doubtful after a reconnect. */
  readonly onEvent: (event: EngineEvent) => void;
  /** Inspects running containers without a time, few at once, including those of a later call. Never rejects. */
  readonly find: (containers: readonly ContainerSummary[], signal: AbortSignal) => Promise<void>;
  /** Milliseconds since the epoch. Undefined for a container that does not run or has not been inspected. */
  readonly of: (container: Pick<ContainerSummary, 'id' | 'status'>) => number | undefined;
  /** Changes with every change of the times. */
  readonly revision: () => number;
};

/**
 * Inspects a container once per start. The engine announces starts, so a time is valid until the next one. Nothing is
 * inspected before the first `connected`, because a start could be missed.
 */
export function createStartTimes({
  engine,
  clock,
  log,
  picture,
}: Pick<ReadOnlyOutside, 'engine' | 'clock' | 'log' | 'picture'>): StartTimes {
  /** Finished and running inspections by container id, each since the last start. */
  const known = new Map<string, Inspected>();
  /** When the last start of a container was heard, until it is inspected. */
  const heardAtMs = new Map<string, number>();
  let listed: readonly ContainerSummary[] = [];
  let isConnected = false;
  let isFinding = false;
  let isWaiting = false;
  let revision = 0;

  const isDue = ({ id }: ContainerSummary) => {
    const { isDoubtful, askedAtMs } = known.get(id) ?? neverInspected;
    return isDoubtful && clock.monotonicMs() - askedAtMs >= doubtLastsMs;
  };

  /** The shown time is doubtful and must be read again. */
  const isOutdated = ({ id }: ContainerSummary) => {
    const { isDoubtful, startedAtMs } = known.get(id) ?? neverInspected;
    return isDoubtful && startedAtMs !== undefined;
  };

  function forgetStopped(): void {
    const running = new Set(listed.filter(hasProcess).map(({ id }) => id));
    for (const id of known.keys()) if (!running.has(id)) known.delete(id);
    for (const id of heardAtMs.keys()) if (!running.has(id)) heardAtMs.delete(id);
  }

  async function inspect({ id }: ContainerSummary, signal: AbortSignal): Promise<void> {
    const inspected = { ...neverInspected, ...known.get(id), isDoubtful: false, askedAtMs: clock.monotonicMs() };
    known.set(id, inspected);
    // An update has inspected its new container after the start.
    const sinceMs = heardAtMs.get(id) ?? Infinity;
    heardAtMs.delete(id);
    try {
      const container = picture?.containerSince(id, sinceMs) ?? (await engine.inspectContainer(id, signal));
      const startedAtMs = Date.parse(container?.state.startedAt ?? '');
      // A start in the meantime has removed `inspected` from `known` and causes an inspection of its own.
      inspected.startedAtMs = Number.isNaN(startedAtMs) ? undefined : startedAtMs;
    } catch (error) {
      inspected.startedAtMs = undefined;
      inspected.isDoubtful = true;
      if (!signal.aborted) log.debug('A container cannot be inspected', { container: id, error: describeError(error) });
    }
    revision += 1;
  }

  async function find(containers: readonly ContainerSummary[], signal: AbortSignal): Promise<void> {
    listed = containers;
    forgetStopped();
    if (isFinding || !isConnected) return;
    isFinding = true;
    for (;;) {
      const due = signal.aborted ? [] : listed.filter((container) => hasProcess(container) && isDue(container));
      if (due.length === 0) break;
      await mapConcurrently(due, maxInspections, (container) => inspect(container, signal));
    }
    isFinding = false;
    if (listed.some(isOutdated)) void findLater(signal);
  }

  /** The next reading of the list may be a minute away. */
  async function findLater(signal: AbortSignal): Promise<void> {
    if (isWaiting || signal.aborted) return;
    isWaiting = true;
    await clock.sleep(doubtLastsMs, signal).catch(() => undefined);
    isWaiting = false;
    if (!signal.aborted) await find(listed, signal);
  }

  return {
    onEvent(event) {
      if (event.kind === 'connected') {
        isConnected = true;
        for (const inspected of known.values()) inspected.isDoubtful = true;
      } else if (event.kind === 'container' && isStart.test(event.action)) {
        if (known.delete(event.id)) revision += 1;
        heardAtMs.set(event.id, clock.monotonicMs());
      }
    },
    find,
    of: (container) => (hasProcess(container) ? known.get(container.id)?.startedAtMs : undefined),
    revision: () => revision,
  };
}

/** Used if start times are not shown. */
export const noStartTimes: StartTimes = {
  onEvent: () => {},
  find: () => Promise.resolve(),
  of: () => undefined,
  revision: () => 0,
};

type Inspected = {
  startedAtMs: number | undefined;
  /** By the monotonic clock. */
  readonly askedAtMs: number;
  /** A start may have been missed, or the inspection failed. */
  isDoubtful: boolean;
};

const neverInspected: Inspected = { startedAtMs: undefined, askedAtMs: -Infinity, isDoubtful: true };

/** Few, because nobody waits for these times. */
const maxInspections = 4;

/** The shortest time between two inspections of a container without a start, even if the events break off often. */
const doubtLastsMs = 10_000;

const isStart = /^(?:re)?start$/;

function hasProcess({ status }: Pick<ContainerSummary, 'status'>): boolean {
  return status === 'running' || status === 'paused';
}

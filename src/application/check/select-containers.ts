import { isImageId, readContainerReference, type ContainerReference } from '../../domain/check/container-reference.ts';
import {
  createImageRule,
  effectiveScope,
  selectContainers,
  selectByImage,
  applyFilters,
  type Selection,
  type UnwatchedContainer,
  type WatchedContainer,
  type UnmatchedFilter,
} from '../../domain/check/selection.ts';
import { imageLabelsIn, noImageLabels, type ImageLabelsOf, type ImageIndex } from '../../domain/container/lookup.ts';
import type { ReadOnlyOutside, Clock, Log } from '../../domain/outside/outside.ts';
import { entryKeyOf, type Request } from '../../domain/run/session.ts';
import { unfinishedUpdates, type UnfinishedUpdate } from '../../domain/recovery/leftovers.ts';
import type { ImageReference } from '../../domain/image/image-reference.ts';
import { transactionMarksOf } from '../../domain/transaction/transaction-names.ts';
import type { ServiceSettings } from '../../domain/settings/effective-settings.ts';
import type { SwarmService } from '../../domain/container/swarm-service.ts';
import { listAll, type Listing } from '../engine/listing.ts';
import { ServiceError } from '../../domain/text/errors.ts';
import type { ContainerSummary } from '../../domain/container/container.ts';
import { inspectionsAtOnce, mapConcurrently, createFirstTimes } from '../async/concurrency.ts';
import { otherUpdaters } from '../../domain/check/other-managers.ts';
import { quoted } from '../../domain/text/printable.ts';
import { summaryOfService, labelsWithoutEffect } from '../../domain/swarm/service-verdict.ts';

/** The containers of one request, from one listing. */
export type SelectedContainers = {
  /** A newer one than the given one, if a container was removed after that. */
  readonly listing: Listing;
  /** References of the watched containers of the listing, by container id. */
  readonly references: ReadonlyMap<string, ReadReference>;
  /** Watched containers of the request, in listing order. */
  readonly watched: readonly WatchedContainer[];
  /** Filters of the request that match no container. */
  readonly unmatched: readonly UnmatchedFilter[];
  /** Containers that are not watched. The reason follows the name: `is stopped`. */
  readonly unwatched: readonly { readonly name: string; readonly reason: string }[];
  /** Unfinished updates of the request's containers. */
  readonly unfinished: readonly UnfinishedUpdate[];
};

/** Selects the containers of a request and announces them. Only containers whose tag has moved are inspected. */
export function createSelectContainers(
  outside: ReadOnlyOutside,
  settings: ServiceSettings,
  warnAboutUpdaters: ReturnType<typeof createUpdaterWarnings>,
): (
  listing: Listing,
  order: Omit<Request, 'engines'> & { readonly runId: string },
  signal?: AbortSignal,
) => Promise<SelectedContainers> {
  const { clock, instance, publish } = outside;
  const readReferences = createReferenceReader(outside);
  const warnAboutLabels = createLabelWarnings(outside.log);
  const noteManagers = createManagerNotes(outside.log);
  const warnAboutServices = createServiceWarnings(outside.log);
  const imageRule = createImageRule(settings);

  /** The watched containers of a listing, and of its interrupted updates. */
  async function watchedIn(listing: Listing, signal: AbortSignal | undefined) {
    const { images } = listing;
    const services = listing.services?.services ?? [];
    const containers = [...listing.containers, ...services.map(summaryOfService)];
    const imageLabelsOf = withoutImages(services, imageLabelsIn(images));
    warnAboutUpdaters(containers, imageLabelsOf);
    const scope = effectiveScope({ ...settings, containers, imageLabelsOf, ownId: instance.containerId });
    const { watched, unwatched } = selectContainers(containers, { ...settings, scope }, imageLabelsOf);
    const updates = unfinishedUpdates(containers, instance, transactionMarksOf(listing.listedImages));
    const held = selectContainers(
      updates.map(({ container }) => container),
      { ...settings, scope },
      imageLabelsOf,
    );
    const read = await readReferences([...watched, ...held.watched], images, signal);
    return { listing, services, watched, unwatched, updates, held, ...read };
  }

  return async (listed, { runId, ...filters }, signal) => {
    const first = await watchedIn(listed, signal);
    const newest = first.isOutdated ? await watchedIn(await listAll(outside, signal), signal) : first;
    const { listing, services, watched, unwatched, updates, held, references } = newest;
    const choose = (from: Selection) => selectByImage(from, imageRule, (id) => readableReference(references, id));
    const selection = choose({ watched, unwatched });
    noteManagers(selection);
    warnAboutServices(services, selection.watched);
    const onMatch = stopMatchingInTime(clock);
    const serviceIds = new Set(services.map(({ id }) => id));
    const isOfKind = ({ container: { id } }: WatchedContainer | UnwatchedContainer) =>
      filters.kind === undefined || (filters.kind === 'service') === serviceIds.has(id);
    const ofRequest = (from: Selection) => {
      const ofKind = { watched: from.watched.filter(isOfKind), unwatched: from.unwatched.filter(isOfKind) };
      return applyFilters(ofKind, filters, ({ id }) => referenceIn(references, id), onMatch);
    };
    const { named, unmatched } = ofRequest(selection);
    // A request for some containers is about the labels of these.
    const isForAll = filters.containers.length + filters.images.length === 0;
    const asked = unwatched.filter(({ container }) => filters.containers.includes(container.name));
    warnAboutLabels(isForAll ? selection : { watched: named, unwatched: asked });
    const parked = ofRequest(choose({ ...held, unwatched: [] }));
    const isUnknownToBoth = ({ filter }: UnmatchedFilter) => parked.unmatched.some((one) => one.filter === filter);
    publish({ kind: 'containers_selected', runId, ...announced(named, serviceIds) });
    return {
      listing,
      references,
      watched: named,
      unmatched: unmatched.filter(isUnknownToBoth),
      unwatched: selection.unwatched.map(({ container, reason }) => ({ name: container.name, reason })),
      unfinished: parked.named.flatMap(({ container }) => updates.find((one) => one.container === container) ?? []),
    };
  };
}

/** All labels of a service count as its own: this engine may not have its image. */
function withoutImages(services: readonly SwarmService[], imageLabelsOf: ImageLabelsOf): ImageLabelsOf {
  if (services.length === 0) return imageLabelsOf;
  return (container) => (container.imageId === '' ? noImageLabels : imageLabelsOf(container));
}

function announced(named: readonly WatchedContainer[], services: ReadonlySet<string>) {
  const keyOf = ({ container: { id, name } }: WatchedContainer) =>
    entryKeyOf({ name, kind: services.has(id) ? 'service' : undefined });
  const names = named.map(keyOf);
  const labelled = named.flatMap((one) => {
    const { notify } = one.labelSettings;
    return notify === undefined ? [] : [[keyOf(one), notify] as const];
  });
  return { names, ...(labelled.length > 0 && { recipients: Object.fromEntries(labelled) }) };
}

function referenceIn(references: SelectedContainers['references'], id: string): ImageReference | undefined {
  const read = references.get(id);
  return read?.kind === 'known' ? read.reference : undefined;
}

function readableReference(references: SelectedContainers['references'], id: string): ContainerReference | undefined {
  const read = references.get(id);
  return read?.kind === 'failed' ? undefined : read;
}

/**
 * Returns a function to call before each comparison of a filter with a container, because comparisons block the event
 * loop. It throws once they have taken too long.
 */
export function stopMatchingInTime({ monotonicMs }: Pick<Clock, 'monotonicMs'>): () => void {
  const endMs = monotonicMs() + maxMatchingMs;
  return () => {
    if (monotonicMs() > endMs)
      throw new ServiceError('invalid-input', 'Cannot match the containers: the names and patterns take too long', {
        remedy: 'Use fewer or simpler patterns',
      });
  };
}

/** A hundred patterns and a thousand containers take 30 ms. */
const maxMatchingMs = 250;

/** Reference that a container was created from, or the engine's error. */
export type ReadReference =
  | ContainerReference
  | { readonly kind: 'failed'; readonly text: string; readonly error: unknown };

type ReferenceReader = (
  watched: readonly WatchedContainer[],
  images: ImageIndex,
  signal?: AbortSignal,
) => Promise<{
  readonly references: SelectedContainers['references'];
  /** Whether a container was removed after the engine listed it. Another updater may have replaced it. */
  readonly isOutdated: boolean;
}>;

/**
 * Reads the references that containers were created from. The engine's list shows them unless the tag has moved. In
 * that case the container is inspected once, because its reference cannot change.
 */
function createReferenceReader({ engine }: Pick<ReadOnlyOutside, 'engine'>): ReferenceReader {
  const inspected = new Map<string, string>();

  async function textOf({ id, image, imageId }: ContainerSummary, signal?: AbortSignal): Promise<string | undefined> {
    if (!isImageId(image, imageId)) return image;
    const text = inspected.get(id) ?? (await engine.inspectContainer(id, signal))?.settings.Config.Image;
    if (text !== undefined) inspected.set(id, text);
    return text;
  }

  return async (watched, images, signal) => {
    const present = new Set(watched.map(({ container }) => container.id));
    for (const id of inspected.keys()) if (!present.has(id)) inspected.delete(id);
    const references = new Map<string, ReadReference>();
    let isOutdated = false;
    await mapConcurrently(watched, inspectionsAtOnce, async ({ container, labelSettings }) => {
      const { id, image: listed, imageId } = container;
      try {
        const text = await textOf(container, signal);
        if (text === undefined) {
          isOutdated = true;
          references.set(id, { kind: 'unknown', text: listed, reason: 'Removed during the check' });
          return;
        }
        const source = { text, originalImage: labelSettings.originalImage, imageId, image: images.byId(imageId) };
        references.set(id, readContainerReference(source));
      } catch (error) {
        references.set(id, { kind: 'failed', text: listed, error });
      }
    });
    return { references, isOutdated };
  };
}

/**
 * Logs other updaters on the same engine, each container once per process. Before the images are listed, all labels
 * count as the containers' own.
 */
export function createUpdaterWarnings(
  { log, instance }: Pick<ReadOnlyOutside, 'log' | 'instance'>,
  settings: Pick<ServiceSettings, 'scope'>,
): (containers: readonly ContainerSummary[], imageLabelsOf?: ImageLabelsOf) => void {
  const isFirst = createFirstTimes(1000);
  const ownId = instance.containerId;
  return (containers, imageLabelsOf = () => ({})) => {
    const scope = effectiveScope({ scope: settings.scope, containers, imageLabelsOf, ownId });
    for (const { container, warning } of otherUpdaters({ containers, imageLabelsOf, ownId, scope }))
      if (isFirst(container.id)) log.warn(warning, { container: container.name });
  };
}

/** Logs errors in containers' labels, each once per process. */
function createLabelWarnings(log: Log): (selection: Selection) => void {
  const isFirst = createFirstTimes(5000);
  return ({ watched, unwatched }) => {
    for (const { container, warnings } of [...watched, ...unwatched])
      for (const warning of warnings)
        if (isFirst(`${container.name} ${warning}`)) log.warn(warning, { container: container.name });
  };
}

/**
 * Logs the containers that belong to another program, each reason once per process: a CI runner may create a hundred of
 * them in an hour.
 */
function createManagerNotes(log: Log): (selection: Pick<Selection, 'unwatched'>) => void {
  const isFirst = createFirstTimes(100);
  return ({ unwatched }) => {
    const others = unwatched.filter(({ kind }) => kind === 'other manager');
    for (const { container, reason } of others) {
      if (!isFirst(reason)) continue;
      const alike = others.filter((other) => other.reason === reason).length - 1;
      const more = alike === 0 ? '' : `, and ${alike} more like it`;
      log.info(
        `Container ${quoted(container.name)} is not watched${more}: it ${reason}. Set the label upkeep.enable=true on it to watch it`,
        { container: container.name },
      );
    }
  };
}

/** Logs the labels of watched services that have no effect, each once per process. */
function createServiceWarnings(
  log: Log,
): (services: readonly SwarmService[], watched: readonly WatchedContainer[]) => void {
  const isFirst = createFirstTimes(5000);
  return (services, watched) => {
    const ids = new Set(watched.map(({ container }) => container.id));
    for (const service of services.filter(({ id }) => ids.has(id)))
      for (const warning of labelsWithoutEffect(service))
        if (isFirst(`${service.name} ${warning}`)) log.warn(warning, { service: service.name });
  };
}

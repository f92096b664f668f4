import type { ContainerReference } from '../../../domain/check/container-reference.ts';
import { createImageRule, scopeInForce } from '../../../domain/check/watch-rules.ts';
import {
  selectContainers,
  selectByImage,
  applyFilters,
  type Selection,
  type WatchedContainer,
  type ContainerFilters,
  type UnmatchedFilter,
} from '../../../domain/check/selection.ts';
import { imageLabelsIn, noImageLabels, type ImageLabelsOf } from '../../../domain/container/lookup.ts';
import type { ReadOnlyOutside, Clock } from '../../../domain/outside/outside.ts';
import { entryKeyOf } from '../../../domain/run/session.ts';
import { unfinishedUpdates, type UnfinishedUpdate } from '../../../domain/recovery/unfinished-update.ts';
import type { ImageReference } from '../../../domain/image/image-reference.ts';
import { transactionMarksOf } from '../../../domain/transaction/transaction-mark.ts';
import type { ServiceSettings } from '../../../domain/settings/effective-settings.ts';
import { summaryOfService, type SwarmService } from '../../../domain/container/swarm-service.ts';
import { listAll, type Listing } from '../../engine/list-all.ts';
import { createReferenceReader, type ContainerReferences } from './container-references.ts';
import { createLabelWarnings, createManagerNotes, createServiceWarnings, type UpdaterWarnings } from './warnings.ts';
import { ServiceError } from '../../../domain/text/errors.ts';

/** The containers of one request, from one listing. */
export type SelectedContainers = {
  /** A newer one than the given one, if a container was removed after that. */
  readonly listing: Listing;
  /** References of the watched containers of the listing. */
  readonly references: ContainerReferences;
  /** Watched containers of the request, in listing order. */
  readonly watched: readonly WatchedContainer[];
  /** Filters of the request that match no container. */
  readonly unmatched: readonly UnmatchedFilter[];
  /** Containers that are not watched. The reason follows the name: `is stopped`. */
  readonly unwatched: readonly { readonly name: string; readonly reason: string }[];
  /** Unfinished updates of the request's containers. */
  readonly unfinished: readonly UnfinishedUpdate[];
};

export type SelectOrder = ContainerFilters & { readonly runId: string };

export type SelectContainers = (
  listing: Listing,
  order: SelectOrder,
  signal?: AbortSignal,
) => Promise<SelectedContainers>;

/** Selects the containers of a request and announces them. Only containers whose tag has moved are inspected. */
export function createSelectContainers(
  outside: ReadOnlyOutside,
  settings: ServiceSettings,
  warnAboutUpdaters: UpdaterWarnings,
): SelectContainers {
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
    const scope = scopeInForce({ ...settings, containers, imageLabelsOf, ownId: instance.containerId });
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
    warnAboutLabels(selection);
    noteManagers(selection);
    warnAboutServices(services, selection.watched);
    const onMatch = stopMatchingInTime(clock);
    const ofRequest = (from: Selection) =>
      applyFilters(from, filters, ({ id }) => referenceIn(references, id), onMatch);
    const { named, unmatched } = ofRequest(selection);
    const parked = ofRequest(choose({ ...held, unwatched: [] }));
    const isUnknownToBoth = ({ filter }: UnmatchedFilter) => parked.unmatched.some((one) => one.filter === filter);
    publish({ kind: 'containers_selected', runId, ...announced(named, new Set(services.map(({ id }) => id))) });
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
    const { notify } = one.wishes;
    return notify === undefined ? [] : [[keyOf(one), notify] as const];
  });
  return { names, ...(labelled.length > 0 && { recipients: Object.fromEntries(labelled) }) };
}

function referenceIn(references: ContainerReferences, id: string): ImageReference | undefined {
  const read = references.get(id);
  return read?.kind === 'known' ? read.reference : undefined;
}

function readableReference(references: ContainerReferences, id: string): ContainerReference | undefined {
  const read = references.get(id);
  return read?.kind === 'failed' ? undefined : read;
}

/** Limits the comparisons of filters with containers. */
export function stopMatchingInTime(clock: Pick<Clock, 'monotonicMs'>): () => void {
  return limitMatching(
    clock,
    longestMatchingMs,
    () =>
      new ServiceError('invalid-input', 'Cannot match the containers: the names and patterns take too long', {
        remedy: 'Use fewer or simpler patterns',
      }),
  );
}

/** A hundred patterns and a thousand containers take 30 ms. */
const longestMatchingMs = 250;

/**
 * Returns a function to call before each comparison with a pattern, because comparisons block the event loop. It throws
 * once they have taken longer than `longestMs`.
 */
function limitMatching(
  { monotonicMs }: Pick<Clock, 'monotonicMs'>,
  longestMs: number,
  tooLong: () => ServiceError,
): () => void {
  const endMs = monotonicMs() + longestMs;
  return () => {
    if (monotonicMs() > endMs) throw tooLong();
  };
}

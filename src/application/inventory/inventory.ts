import { readContainerReference, type ContainerReference } from '../../domain/check/container-reference.ts';
import type { ContainerSummary, ImageSummary } from '../../domain/container/container.ts';
import {
  emptyListing,
  everyEntry,
  countUpdates,
  haveSameLinks,
  readListedDependencies,
  trackContainer,
  trackImages,
  type EngineListing,
  type Inventory,
  type LastCheck,
  type TrackedContainer,
  type UnfinishedTracked,
  type ListedDependencies,
  type UnwatchedTracked,
} from '../../domain/inventory.ts';
import { labelsOfImage, noImageLabels, type ImageLabelsOf } from '../../domain/container/lookup.ts';
import {
  createImageRule,
  effectiveScope,
  createSelector,
  selectContainers,
  selectByImage,
  type UnwatchedContainer,
  type WatchedContainer,
} from '../../domain/check/selection.ts';
import type { Instance, Seal } from '../../domain/outside/outside.ts';
import type { ServiceSettings, LabelledSetting } from '../../domain/settings/effective-settings.ts';
import { transactionMarksOf } from '../../domain/transaction/transaction-names.ts';
import { unfinishedUpdates } from '../../domain/recovery/leftovers.ts';
import { entryKeyOf, type PastOutcome, type ContainerOutcome } from '../../domain/run/session.ts';
import { ownServiceId, type SwarmService } from '../../domain/container/swarm-service.ts';
import type { LastChecks } from './last-checks.ts';
import type { createEngineCache } from './engine-cache.ts';
import { noStartTimes, type StartTimes } from './listing-reader.ts';
import { isSameList, isSameRecord, putNewest } from '../../domain/text/plain-data.ts';
import type { ServiceEvent } from '../../domain/run/event.ts';

type InventoryParts = {
  readonly settings: ServiceSettings;
  readonly instance: Pick<Instance, 'containerId' | 'ownerState' | 'transactions'>;
  /** The seal of our key: a rollback believes no other journal. */
  readonly seal?: Pick<Seal, 'verify'> | undefined;
  /** Undefined before the first listing. The same object is returned while nothing has changed. */
  readonly listing: () => EngineListing | undefined;
  /** Absent: the listing is never older than the question. */
  readonly readings?: ReturnType<typeof createEngineCache>['readings'];
  readonly checks: Pick<LastChecks, 'of' | 'revision'>;
  readonly outcomes: Pick<LastOutcomes, 'of' | 'revision'>;
  /** Absent: start times are not shown. */
  readonly startTimes?: Pick<StartTimes, 'of' | 'revision'>;
};

/** The engine's lists joined with the last checks. It is built on request, and only changed parts are built anew. */
export function createInventory(parts: InventoryParts): () => Inventory {
  const { settings, instance, seal, listing, readings, checks, outcomes, startTimes = noStartTimes } = parts;
  const imageRule = createImageRule(settings);
  const ownId = instance.containerId;
  /** The updates that look interrupted, with the number of readings that had begun when they first did. */
  let interrupted: ReadonlyMap<string, number> = new Map();
  let scope = '';
  let ownService: string | undefined;
  let select = createSelector({ ...settings, scope });
  let entries: ReadonlyMap<string, Entry> = new Map();
  let links: ListedDependencies = () => [];
  let shown: EngineListing = emptyListing;
  let shownRevisions = -1;
  let imageOf: (id: string) => ImageSummary | undefined = () => undefined;
  let services: ReadonlyMap<string, SwarmService> = new Map();
  const isService = ({ id }: ContainerSummary) => services.has(id);
  const revisions = () => checks.revision() + outcomes.revision() + startTimes.revision();
  let inventory = unknownInventory;

  /** Our own service, and without an option the scope, come from our own container, known after the first listing. */
  function followOwnContainer(containers: readonly ContainerSummary[], imageLabelsOf: ImageLabelsOf): void {
    const effective = effectiveScope({ ...settings, containers, imageLabelsOf, ownId });
    const service = ownServiceId(containers, ownId);
    if (effective === scope && service === ownService) return;
    [scope, ownService] = [effective, service];
    select = createSelector({ ...settings, scope });
    entries = new Map();
  }

  function entryOf(container: ContainerSummary, image: ImageSummary | undefined): Entry {
    const known = entries.get(container.id);
    const same = known?.container === container && known.image === image ? known : undefined;
    const selected = same?.selected ?? selectAlsoByImage(container, image);
    if ('reason' in selected) return same ?? { container, image, selected, watched: undefined };
    const watched = describe(selected, image, known?.watched, same !== undefined);
    return same?.watched === watched ? same : { container, image, selected, watched };
  }

  function selectAlsoByImage(
    container: ContainerSummary,
    image: ImageSummary | undefined,
  ): WatchedContainer | UnwatchedContainer {
    const selected = select(
      container,
      image === undefined && isService(container) ? noImageLabels : labelsOfImage(image),
    );
    const reason = 'reason' in selected ? undefined : imageRule?.(referenceOf(selected, image));
    return reason === undefined ? selected : { container, kind: 'excluded', reason, warnings: selected.warnings };
  }

  function describe(
    watched: WatchedContainer,
    image: ImageSummary | undefined,
    known: Description | undefined,
    isSame: boolean,
  ): Description {
    const dependsOn = isSame && known?.links === links ? known.dependsOn : keep(known?.dependsOn, links(watched));
    const { images } = shown;
    const isUntouched = isSame && known !== undefined && known.images === images && known.dependsOn === dependsOn;
    const service = services.get(watched.container.id);
    const tracking = {
      watched,
      image,
      dependsOn,
      ownId,
      ownServiceId: ownService,
      imageOf,
      seal,
      ...(service && { service }),
    };
    const facts = isUntouched ? known.facts : trackContainer(tracking, settings);
    const last = outcomes.of(facts);
    const check = checks.of(facts);
    const startedAtMs = startTimes.of(watched.container);
    if (isUntouched && known.check === check && known.last === last && known.tracked.startedAtMs === startedAtMs)
      return known.links === links ? known : { ...known, links };
    const since = startedAtMs === undefined ? undefined : { startedAtMs };
    const tracked = { ...facts, ...since, ...check, ...(last && { last }) };
    const isShown = known !== undefined && isSameContainer(known.tracked, tracked);
    return { links, images, dependsOn, facts, check, last, tracked: isShown ? known.tracked : tracked };
  }

  function unfinishedIn(
    containers: readonly ContainerSummary[],
    images: ReadonlyMap<string, ImageSummary>,
  ): readonly UnfinishedTracked[] {
    const found = unfinishedUpdates(containers, instance, transactionMarksOf([...images.values()])).flatMap(
      ({ name, state, reason, container, isDown, isAbandoned }): UnfinishedTracked[] =>
        'reason' in select(container, labelsOfImage(images.get(container.imageId)))
          ? []
          : [
              {
                ...{ name, state, reason, image: container.image },
                ...(isDown && { isDown }),
                ...(isAbandoned && { isAbandoned }),
              },
            ],
    );
    return readings === undefined ? found : withoutEnded(found, readings);
  }

  /** A process that ends an update leaves the listing behind: what it shows counts once it was read after that. */
  function withoutEnded(
    found: readonly UnfinishedTracked[],
    { begun, shown: read, readAgain }: NonNullable<typeof readings>,
  ): readonly UnfinishedTracked[] {
    const before = interrupted;
    const isFirst = !inventory.known;
    const pending = found.filter(({ state }) => state === 'repair pending');
    interrupted = new Map(pending.map(({ name }) => [name, isFirst ? -1 : (before.get(name) ?? begun())]));
    if (pending.some(({ name }) => !before.has(name) && !isFirst)) readAgain();
    return found.map((one) =>
      read() > (interrupted.get(one.name) ?? -1)
        ? one
        : {
            name: one.name,
            image: one.image,
            state: 'in progress',
            reason: `an update of "${one.name}" is in progress`,
          },
    );
  }

  return () => {
    const now = listing();
    if (now === undefined) return inventory;
    // The list does not show whether the owner of an unfinished update is alive.
    const isSettled = inventory.unfinished.length === 0;
    if (isSettled && now === shown && revisions() === shownRevisions) return inventory;
    const images = new Map(now.images.map((image) => [image.id, image]));
    followOwnContainer(now.containers, ({ imageId }) => labelsOfImage(images.get(imageId)));
    if (!haveSameLinks(shown.containers, now.containers)) links = readListedDependencies(now.containers, settings);
    [shown, shownRevisions] = [now, revisions()];
    imageOf = (id) => images.get(id);
    services = new Map(now.services?.map(({ service }) => [service.id, service]));
    const made = everyEntry(now).map((container) => entryOf(container, images.get(container.imageId)));
    entries = new Map(made.map((entry) => [entry.container.id, entry]));
    inventory = inventoryOf(
      made.flatMap(({ watched }) => watched?.tracked ?? []),
      unfinishedIn(now.containers, images),
      scope,
      inventory,
    );
    return inventory;
  };
}

function referenceOf(
  { container, labelSettings }: WatchedContainer,
  image: ImageSummary | undefined,
): ContainerReference {
  const { image: text, imageId } = container;
  return readContainerReference({ text, originalImage: labelSettings.originalImage, imageId, image });
}

/** A container with its entry, reused while container and image are the same objects. */
type Entry = {
  readonly container: ContainerSummary;
  readonly image: ImageSummary | undefined;
  readonly selected: WatchedContainer | UnwatchedContainer;
  readonly watched: Description | undefined;
};

type Description = {
  readonly links: ListedDependencies;
  /** All images of the listing: a rollback may need another one than the container's. */
  readonly images: readonly ImageSummary[];
  readonly dependsOn: readonly string[];
  readonly facts: ReturnType<typeof trackContainer>;
  readonly check: LastCheck;
  readonly last: PastOutcome | undefined;
  readonly tracked: TrackedContainer;
};

/** The inventory before the first listing. */
const unknownInventory: Inventory = {
  revision: 0,
  known: false,
  scope: '',
  containers: [],
  unfinished: [],
  images: [],
  updatesAvailable: undefined,
};

/** The earlier list if it is equal, so that the same content stays the same object. */
function keep(before: readonly string[] | undefined, now: readonly string[]): readonly string[] {
  return before !== undefined && isSameList(before, now) ? before : now;
}

function isSameContainer(one: TrackedContainer, other: TrackedContainer): boolean {
  const { labelsInEffect, settings } = one;
  const isSameSetting = (setting: LabelledSetting, index: number) => isSameRecord(setting, other.settings[index] ?? {});
  const isSame = settings.length === other.settings.length && settings.every(isSameSetting);
  return (
    isSame &&
    isSameRecord(labelsInEffect, other.labelsInEffect) &&
    isSameRecord(one, { ...other, labelsInEffect, settings })
  );
}

/** The revision changes only with the content. Containers that are not watched do not count. */
function inventoryOf(
  containers: readonly TrackedContainer[],
  unfinished: readonly UnfinishedTracked[],
  scope: string,
  before: Inventory,
): Inventory {
  const isSameUnfinished =
    before.unfinished.length === unfinished.length &&
    before.unfinished.every((one, index) => isSameRecord(one, unfinished[index] ?? one));
  const isSame = before.scope === scope && isSameUnfinished && isSameList(before.containers, containers);
  if (before.known && isSame) return before;
  return {
    revision: before.revision + 1,
    known: true,
    scope,
    containers,
    unfinished,
    images: trackImages(containers),
    updatesAvailable: countUpdates(containers),
  };
}

/** The containers that are not watched, with the reasons. It is built on request, once per listing. */
export function createUnwatched({
  settings,
  instance: { containerId: ownId },
  listing,
}: Pick<InventoryParts, 'settings' | 'instance' | 'listing'>): () => readonly UnwatchedTracked[] {
  const imageRule = createImageRule(settings);
  let shown: EngineListing | undefined;
  let unwatched: readonly UnwatchedTracked[] = [];

  function listUnwatched(now: EngineListing): readonly UnwatchedTracked[] {
    const { images } = now;
    const containers = everyEntry(now);
    const byId = new Map(images.map((image) => [image.id, image]));
    const imageLabelsOf = ({ imageId }: { readonly imageId: string }) =>
      imageId === '' ? noImageLabels : labelsOfImage(byId.get(imageId));
    const scope = effectiveScope({ ...settings, containers, imageLabelsOf, ownId });
    const selection = selectContainers(containers, { ...settings, scope }, imageLabelsOf);
    const watched = new Map(selection.watched.map((each) => [each.container.id, each]));
    const referenceOf = ({ container: { image: text, imageId }, labelSettings }: WatchedContainer) =>
      readContainerReference({ text, originalImage: labelSettings.originalImage, imageId, image: byId.get(imageId) });
    const chosen = selectByImage(selection, imageRule, (id) => {
      const each = watched.get(id);
      return each && referenceOf(each);
    });
    return chosen.unwatched.map(({ container: { name, image }, reason, kind }) => ({
      name,
      image,
      reason,
      ...(kind !== undefined && { kind }),
    }));
  }

  return () => {
    const now = listing();
    if (now !== undefined && now !== shown) [shown, unwatched] = [now, listUnwatched(now)];
    return unwatched;
  };
}

/** The newest outcome of each container with an effect, from the runs of all processes that share the history. */
type LastOutcomes = {
  readonly onEvent: (event: ServiceEvent) => void;
  readonly of: (entry: Pick<ContainerOutcome, 'name' | 'kind'>) => PastOutcome | undefined;
  /** Changes with every change of the outcomes. */
  readonly revision: () => number;
};

/** Keeps at most 10,000 outcomes, which is more than an engine has containers. Beyond it, the oldest is dropped. */
export function createLastOutcomes(): LastOutcomes {
  const byKey = new Map<string, PastOutcome>();
  let revision = 0;

  function note(outcome: ContainerOutcome, atMs: number, runId: string): void {
    if (outcome.outcome === 'fresh') return;
    // The reason and log of a failure stay known while later runs only find the container held back.
    if (outcome.verdict !== undefined && byKey.has(entryKeyOf(outcome))) return;
    revision += 1;
    putNewest(byKey, entryKeyOf(outcome), { outcome, atMs, runId }, maxRemembered);
  }

  return {
    onEvent(event) {
      switch (event.kind) {
        case 'update_completed':
        case 'update_failed':
        case 'update_deferred':
          return note(event.outcome, event.atMs, event.runId);
        case 'scan_completed':
          // The session has the version names, and the outcomes without an event of their own.
          for (const outcome of event.session?.containers ?? []) {
            const known = byKey.get(entryKeyOf(outcome));
            note(outcome, known?.runId === event.runId ? known.atMs : event.atMs, event.runId);
          }
          return;
        default:
          return;
      }
    },
    of: (entry) => byKey.get(entryKeyOf(entry)),
    revision: () => revision,
  };
}

const maxRemembered = 10_000;

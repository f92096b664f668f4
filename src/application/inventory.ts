import type { ContainerSummary, ImageSummary } from '../domain/container.ts';
import type { EngineListing } from '../domain/engine-listing.ts';
import type { Inventory, LastCheck, TrackedContainer } from '../domain/inventory.ts';
import { haveSameLinks, listedDependencies } from '../domain/listed-dependencies.ts';
import type { Instance } from '../domain/outside.ts';
import { isSameList, isSameRecord } from '../domain/shallow.ts';
import { createSelector } from '../domain/selection.ts';
import type { ServiceSettings } from '../domain/settings.ts';
import { trackContainer, trackImages, type UncheckedContainer } from '../domain/tracked-container.ts';
import type { LastChecks } from './last-checks.ts';

export type InventoryParts = {
  readonly settings: ServiceSettings;
  readonly instance: Pick<Instance, 'containerId'>;
  /** Undefined until the engine has been listed; the same object as long as nothing has changed. */
  readonly listing: () => EngineListing | undefined;
  readonly checks: Pick<LastChecks, 'of' | 'revision'>;
};

/**
 * What the engine lists and what the last checks found, as one. It is put together when somebody
 * looks, if anything has changed since, and then anew only where it has.
 */
export function createInventory({ settings, instance, listing, checks }: InventoryParts): () => Inventory {
  const select = createSelector(settings);
  const readDependencies = createDependencyReader(settings);
  let entries: ReadonlyMap<string, Entry> = new Map();
  let shown: EngineListing | undefined;
  let shownChecks = -1;
  let inventory = unknownInventory;

  /** Undefined for what is not watched. */
  function unchecked(sources: Sources, old: UncheckedContainer | undefined): UncheckedContainer | undefined {
    const selected = select(sources.container);
    if ('reason' in selected) return undefined;
    const facts = trackContainer({ ...sources, watched: selected, ownId: instance.containerId }, settings);
    return old !== undefined && isSameFacts(old, facts) ? old : facts;
  }

  function entryOf(sources: Sources): Entry {
    const old = entries.get(sources.container.id);
    const facts = old !== undefined && isSameRecord(old.sources, sources) ? old.facts : unchecked(sources, old?.facts);
    if (facts === undefined) return { sources, facts };
    const check = checks.of(facts);
    const isUnchanged = old?.facts === facts && old.check === check;
    return { sources, facts, check, tracked: isUnchanged ? old.tracked : { ...facts, ...check } };
  }

  return () => {
    const now = listing();
    if (now === undefined || (now === shown && checks.revision() === shownChecks)) return inventory;
    [shown, shownChecks] = [now, checks.revision()];
    const dependencies = readDependencies(now.containers);
    const images = new Map(now.images.map((image) => [image.id, image]));
    const made = now.containers.map((container) =>
      entryOf({
        container,
        image: images.get(container.imageId),
        dependsOn: dependencies.get(container.id) ?? noNames,
      }),
    );
    entries = new Map(made.map((entry) => [entry.sources.container.id, entry]));
    inventory = follow(
      inventory,
      made.flatMap(({ tracked }) => tracked ?? []),
    );
    return inventory;
  };
}

/** Compared by identity: what has not changed is the same object. */
type Sources = {
  readonly container: ContainerSummary;
  readonly image: ImageSummary | undefined;
  readonly dependsOn: readonly string[];
};

type Entry = {
  readonly sources: Sources;
  readonly facts: UncheckedContainer | undefined;
  readonly check?: LastCheck;
  readonly tracked?: TrackedContainer | undefined;
};

const noNames: readonly string[] = [];

const unknownInventory: Inventory = { revision: 0, known: false, containers: [], images: [], updatesAvailable: 0 };

function isSameFacts(one: UncheckedContainer, other: UncheckedContainer): boolean {
  const sameLabels = isSameRecord(one.labelsInEffect, other.labelsInEffect);
  return sameLabels && isSameRecord(one, { ...other, labelsInEffect: one.labelsInEffect });
}

/** The revision changes with the content only: what nobody watches may come and go. */
function follow(before: Inventory, containers: readonly TrackedContainer[]): Inventory {
  if (before.known && isSameList(before.containers, containers)) return before;
  return {
    revision: before.revision + 1,
    known: true,
    containers,
    images: trackImages(containers),
    updatesAvailable: containers.filter(({ updateAvailable }) => updateAvailable).length,
  };
}

type Dependencies = ReadonlyMap<string, readonly string[]>;

/** Reads them anew only when a container has come, gone or been renamed. */
function createDependencyReader(settings: ServiceSettings): (containers: readonly ContainerSummary[]) => Dependencies {
  let last: readonly ContainerSummary[] = [];
  let dependencies: Dependencies = new Map();
  return (containers) => {
    if (!haveSameLinks(last, containers)) {
      const before = dependencies;
      dependencies = new Map(
        [...listedDependencies(containers, settings)].map(([id, names]) => {
          const old = before.get(id);
          return [id, old !== undefined && isSameList(old, names) ? old : names];
        }),
      );
    }
    last = containers;
    return dependencies;
  };
}

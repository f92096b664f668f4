import type { Inventory, TrackedContainer, UnfinishedTracked } from '../../domain/inventory/inventory.ts';
import type { LabelledSetting } from '../../domain/settings/labelled-settings.ts';
import { isSameList, isSameRecord } from '../../domain/text/shallow-equality.ts';
import { trackImages } from '../../domain/inventory/tracked-container.ts';

/** The inventory before the first listing. */
export const unknownInventory: Inventory = {
  revision: 0,
  known: false,
  scope: '',
  containers: [],
  unfinished: [],
  images: [],
  updatesAvailable: undefined,
};

/** The earlier list if it is equal, so that the same content stays the same object. */
export function keep(before: readonly string[] | undefined, now: readonly string[]): readonly string[] {
  return before !== undefined && isSameList(before, now) ? before : now;
}

export function isSameContainer(one: TrackedContainer, other: TrackedContainer): boolean {
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
export function inventoryOf(
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

/** None of no containers is known without a check. */
function countUpdates(containers: readonly TrackedContainer[]): number | undefined {
  const isKnown = ({ staleness, updateAvailable }: TrackedContainer) =>
    updateAvailable || (staleness !== undefined && staleness !== 'unknown');
  if (containers.length > 0 && !containers.some(isKnown)) return undefined;
  return containers.filter(({ updateAvailable }) => updateAvailable).length;
}

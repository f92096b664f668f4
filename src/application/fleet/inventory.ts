import type { Inventory, UnwatchedTracked } from '../../domain/inventory.ts';
import type { ReachedMember } from './member/member.ts';

export type FleetInventory = {
  readonly inventory: () => Inventory;
  readonly unwatched: () => readonly UnwatchedTracked[];
};

/**
 * The inventories of all engines and swarms as one. An unreachable engine keeps its last inventory. `isReady`: every
 * engine has answered or failed once.
 */
export function createFleetInventory(
  membersNow: () => readonly ReachedMember[],
  isReady: () => boolean,
): FleetInventory {
  let parts: readonly Part[] = [];
  let joined: Inventory | undefined;
  const tagged = createTagger();

  return {
    inventory() {
      const members = membersNow().map(({ name, application }) => ({ name, inventory: application.inventory() }));
      const now = members.map(({ inventory }) => inventory);
      const isKnown = now.every(({ known }) => known) || (isReady() && now.some(({ known }) => known));
      const isSame = joined?.known === isKnown && isSameList(parts, members);
      if (joined !== undefined && isSame) return joined;
      parts = members;
      const all = <Item extends object>(list: (one: Inventory) => readonly Item[]) =>
        members.flatMap(({ name, inventory }) => list(inventory).map((item) => tagged(item, name)));
      joined = {
        revision: (joined?.revision ?? 0) + 1,
        known: isKnown,
        scope: now.find(({ scope }) => scope !== '')?.scope ?? '',
        containers: all(({ containers }) => containers),
        unfinished: all(({ unfinished }) => unfinished),
        images: all(({ images }) => images),
        updatesAvailable: sumOfKnown(now.map(({ updatesAvailable }) => updatesAvailable)),
      };
      return joined;
    },
    unwatched: () =>
      membersNow().flatMap(({ name, application }) => application.unwatched().map((one) => ({ ...one, engine: name }))),
  };
}

/** Undefined if none is known. */
export function sumOfKnown(counts: readonly (number | undefined)[]): number | undefined {
  const known = counts.filter((count) => count !== undefined);
  return known.length === 0 ? undefined : known.reduce((sum, count) => sum + count, 0);
}

/** Returns the same object for the same item and engine, so unchanged containers share their memory. */
function createTagger() {
  const known = new WeakMap<object, { readonly engine: string }>();
  return <Item extends object>(item: Item, engine: string): Item & { readonly engine: string } => {
    const before = known.get(item);
    const made = before?.engine === engine ? before : { ...item, engine };
    known.set(item, made);
    // A copy of this item.
    return made as Item & { readonly engine: string };
  };
}

type Part = { readonly name: string; readonly inventory: Inventory };

function isSameList(one: readonly Part[], other: readonly Part[]): boolean {
  return (
    one.length === other.length &&
    one.every(({ name, inventory }, index) => name === other[index]?.name && inventory === other[index]?.inventory)
  );
}

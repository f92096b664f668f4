import type { Inventory, UnwatchedTracked } from '../../domain/inventory/inventory.ts';
import type { ReachedMember } from './member/member.ts';

export type FleetInventory = {
  readonly inventory: () => Inventory;
  readonly unwatched: () => readonly UnwatchedTracked[];
};

/** The inventories of all engines as one. An engine that is away keeps its last one; `isReady`: each has answered or failed once. */
export function createFleetInventory(members: readonly ReachedMember[], isReady: () => boolean): FleetInventory {
  let parts: readonly Inventory[] = [];
  let joined: Inventory | undefined;
  const tagged = createTagger();

  return {
    inventory() {
      const now = members.map(({ application }) => application.inventory());
      const isKnown = now.every(({ known }) => known) || (isReady() && now.some(({ known }) => known));
      const isSame = joined?.known === isKnown && now.every((each, index) => each === parts[index]);
      if (joined !== undefined && isSame) return joined;
      parts = now;
      const all = <Item extends object>(list: (one: Inventory) => readonly Item[]) =>
        now.flatMap((one, index) => list(one).map((item) => tagged(item, members[index]?.name ?? '')));
      joined = {
        revision: (joined?.revision ?? 0) + 1,
        known: isKnown,
        scope: now.find(({ scope }) => scope !== '')?.scope ?? '',
        containers: all(({ containers }) => containers),
        unfinished: all(({ unfinished }) => unfinished),
        images: all(({ images }) => images),
        updatesAvailable: now.reduce((sum, { updatesAvailable }) => sum + updatesAvailable, 0),
      };
      return joined;
    },
    unwatched: () =>
      members.flatMap(({ name, application }) => application.unwatched().map((one) => ({ ...one, engine: name }))),
  };
}

/** The same object as long as the item is the same, so that the memory of unchanged containers is shared. */
function createTagger() {
  const known = new WeakMap<object, object>();
  return <Item extends object>(item: Item, engine: string): Item & { readonly engine: string } => {
    const made = known.get(item) ?? { ...item, engine };
    known.set(item, made);
    // Made from this very item, whose engine never changes.
    return made as Item & { readonly engine: string };
  };
}

import type { Inventory } from '../../domain/inventory.ts';
import type { Clock } from '../../domain/outside.ts';
import { HttpError } from './errors.ts';
import { stamp } from './stamp.ts';

export type ListOf<Item> = {
  /** What the list is called in the reply. */
  readonly name: string;
  readonly items: (view: Inventory) => readonly Item[];
  readonly entry: (item: Item) => object;
};

/** The replies of a list, as JSON texts. */
export type CachedList<Item> = {
  /** Of all items: written once for each change of the inventory and each second. */
  readonly all: () => Buffer;
  readonly only: (keep: (item: Item) => boolean) => string;
};

/** Serves large lists from text that is made once: a reader costs no more than copying it. Before there is one, 503. */
export function createCachedList<Item>(
  { name, items, entry }: ListOf<Item>,
  inventory: () => Inventory,
  clock: Clock,
): CachedList<Item> {
  let revision = -1;
  let entries = '';
  let madeInSecond = -1;
  let reply = Buffer.alloc(0);

  const known = (): Inventory => {
    const view = inventory();
    if (view.known) return view;
    throw new HttpError(503, 'the container engine has not been listed yet', { 'Retry-After': '5' });
  };
  const write = (chosen: readonly Item[]): string =>
    `{"${name}":${JSON.stringify(chosen.map(entry))},"count":${chosen.length}`;
  const finish = (text: string): string => `${text},${JSON.stringify(stamp(clock)).slice(1)}`;

  return {
    all() {
      const view = known();
      const second = Math.floor(clock.nowMs() / 1000);
      if (view.revision === revision && second === madeInSecond) return reply;
      if (view.revision !== revision) entries = write(items(view));
      revision = view.revision;
      madeInSecond = second;
      reply = Buffer.from(finish(entries));
      return reply;
    },
    only: (keep) => finish(write(items(known()).filter(keep))),
  };
}

import type { Inventory } from '../../../domain/inventory.ts';
import type { Clock } from '../../../domain/outside/outside.ts';
import { HttpError, jsonType } from '../replies/errors.ts';
import type { RouteReply } from '../replies/route-reply.ts';
import type { Service } from './parts.ts';
import { replyFields } from '../../json/timestamps.ts';

export type ListOf<Item> = {
  /** Field name of the list in the reply. */
  readonly name: string;
  readonly items: (view: Inventory) => readonly Item[];
  readonly entry: (item: Item) => object;
  /** Further fields, if there are any. */
  readonly extraFields?: (view: Inventory) => object;
};

/**
 * Replies with the entries that pass the filter, without a filter with all. Throws 503 before the first listing, and
 * 500 while the inventory may be outdated.
 */
export type CachedList<Item> = (reply: RouteReply, keep?: (item: Item) => boolean) => RouteReply;

/**
 * The whole list is serialised once for each change of the inventory, and the reply made once a second. Any other
 * request without a filter only costs a copy.
 */
export function createCachedList<Item>(
  { name, items, entry, extraFields = () => ({}) }: ListOf<Item>,
  { inventory, inventoryFailure }: Pick<Service, 'inventory' | 'inventoryFailure'>,
  clock: Clock,
): CachedList<Item> {
  let revision = -1;
  let entries = '';
  let madeInSecond = -1;
  let body = Buffer.alloc(0);

  const known = (): Inventory => knownInventory({ inventory, inventoryFailure });
  const write = (view: Inventory, chosen: readonly Item[]): string => {
    const fields = JSON.stringify(extraFields(view)).slice(1, -1);
    const more = fields === '' ? '' : `,${fields}`;
    return `{"${name}":${JSON.stringify(chosen.map(entry))},"count":${chosen.length}${more}`;
  };
  const finish = (text: string): string => `${text},${JSON.stringify(replyFields(clock.nowMs())).slice(1)}`;

  const all = (): Buffer => {
    const view = known();
    const second = Math.floor(clock.nowMs() / 1000);
    if (view.revision === revision && second === madeInSecond) return body;
    if (view.revision !== revision) entries = write(view, items(view));
    revision = view.revision;
    madeInSecond = second;
    body = Buffer.from(finish(entries));
    return body;
  };
  return (reply, keep) =>
    reply
      .header('Content-Type', jsonType)
      .send(keep === undefined ? all() : finish(write(known(), items(known()).filter(keep))));
}

/** Throws 503 before the first listing, and 500 while the inventory may be outdated. */
export function knownInventory({
  inventory,
  inventoryFailure,
}: Pick<Service, 'inventory' | 'inventoryFailure'>): Inventory {
  const view = inventory();
  if (!view.known) throw new HttpError(503, 'the container engine has not been listed yet', { 'Retry-After': '5' });
  const failure = inventoryFailure();
  if (failure !== undefined) throw failure;
  return view;
}

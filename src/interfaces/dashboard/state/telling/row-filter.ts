import type { Address } from '../address.ts';
import type { WatchedContainer } from '../documents/container.ts';
import type { Group } from './describe-state.ts';

/** The facts of a row that filters use, stored when the row is painted. */
export type RowFacts = { readonly group: Group; readonly text: string; readonly engine: string };

export function factsOf({ name, image, project, engine }: WatchedContainer, group: Group): RowFacts {
  return { group, text: `${name} ${image} ${project} ${engine}`.toLowerCase(), engine };
}

/** A test of rows for an address: by state, engine, and every word of the search. */
export function filterFor({ show, q, engine }: Address): {
  readonly isOn: boolean;
  readonly fits: (row: RowFacts) => boolean;
} {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  return {
    isOn: words.length > 0 || show !== 'all' || engine !== '',
    fits: (row) =>
      (show === 'all' || row.group === show) &&
      (engine === '' || row.engine === engine) &&
      words.every((word) => row.text.includes(word)),
  };
}

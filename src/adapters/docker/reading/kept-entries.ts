import type { ListEntry } from './list-entries.ts';
import { fields, type Fields } from '../transport/wire.ts';

export type KeptEntries = {
  readonly add: (entry: ListEntry) => void;
  readonly read: () => {
    readonly entries: readonly unknown[];
    /** The beginnings of the entries that were left out. */
    readonly leftOut: readonly Fields[];
  };
};

/** The kept entries of a list. If they are larger than `limitBytes` together, the largest are dropped first. */
export function createKeptEntries(limitBytes: number): KeptEntries {
  let entries: Extract<ListEntry, { kind: 'whole' }>[] = [];
  const leftOut: Fields[] = [];
  let bytes = 0;

  function leaveOutLargest(): void {
    const bySize = entries.toSorted((one, other) => other.bytes - one.bytes);
    const out = new Set<ListEntry>();
    for (const entry of bySize) {
      if (bytes <= limitBytes * 0.75) break;
      out.add(entry);
      bytes -= entry.bytes + entryOverheadBytes;
      leftOut.push(beginningOf(entry.value));
    }
    entries = entries.filter((entry) => !out.has(entry));
  }

  return {
    add(entry: ListEntry): void {
      if (entry.kind === 'large') leftOut.push(entry.beginning);
      else {
        entries.push(entry);
        bytes += entry.bytes + entryOverheadBytes;
        if (bytes > limitBytes) leaveOutLargest();
      }
    },
    read: () => ({ entries: entries.map(({ value }) => value), leftOut }),
  };
}

/** Memory of an entry besides its text. */
export const entryOverheadBytes = 256;

/** The entry's id and names only. */
function beginningOf(value: unknown): Fields {
  const { Id, Names, Name, RepoTags } = fields(value);
  return { Id, Names, Name, RepoTags };
}

/** An entry of a list in the order of last use; `before` was used earlier. */
export type Used = { before: Used | undefined; after: Used | undefined };

/**
 * Every operation takes constant time. A `Map` with deletions at its front does not: test/bench/clients.bench.ts has
 * the difference.
 */
export type RecencyList<Entry extends Used> = {
  /** Adds the entry, or moves it, to the end. */
  readonly moveToEnd: (entry: Entry) => void;
  readonly remove: (entry: Entry) => void;
  readonly oldest: () => Entry | undefined;
};

export function createRecencyList<Entry extends Used>(): RecencyList<Entry> {
  const ends: Used = { before: undefined, after: undefined };
  ends.before = ends;
  ends.after = ends;

  function unlink(entry: Used): void {
    if (entry.before !== undefined) entry.before.after = entry.after;
    if (entry.after !== undefined) entry.after.before = entry.before;
    entry.before = undefined;
    entry.after = undefined;
  }

  return {
    moveToEnd(entry) {
      unlink(entry);
      entry.before = ends.before;
      entry.after = ends;
      if (ends.before !== undefined) ends.before.after = entry;
      ends.before = entry;
    },
    remove: unlink,
    // Only entries and the ends themselves are linked.
    oldest: () => (ends.after === ends ? undefined : (ends.after as Entry)),
  };
}

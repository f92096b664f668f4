/** Calls back in the next turn of the event loop. */
export type TickBatches = (go: () => void) => void;

/**
 * Starts at most `places` functions per tick of the event loop. All at once would delay the first one; one per tick
 * would wake the network each time. Without batches, checks take a quarter more CPU time (test/bench/check.bench.ts).
 */
export function createTickBatches(places: number): TickBatches {
  let due: (() => void)[] = [];
  return (go) => {
    if (due.length === 0 || due.length === places) {
      const turn: (() => void)[] = [];
      due = turn;
      setImmediate(() => {
        if (due === turn) due = [];
        for (const next of turn) next();
      });
    }
    due.push(go);
  };
}

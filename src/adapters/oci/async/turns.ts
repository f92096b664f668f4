/** Calls back in the next turn of the event loop. */
export type Turns = (go: () => void) => void;

/** Starts at most `places` functions per tick of the event loop: all at once delays the first. */
export function createTurns(places: number): Turns {
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

/** Calls back in the next turn of the event loop. */
export type Turns = (go: () => void) => void;

/**
 * Those who come in the same turn go on together, at most `places` of them before the others follow: what
 * goes in lockstep finds the code of each step where the processor has it at hand.
 */
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

/** Repeats readings some time after the first one. */
export type SecondLooks = { readonly add: (look: () => void) => void };

/**
 * A repeat follows one to two pauses after `add`: one timer serves all of them. `pause` resolves early at the end of
 * the process, and `isOver` is true then.
 */
export function createSecondLooks(pause: () => Promise<void>, isOver: () => boolean): SecondLooks {
  let ripe: (() => void)[] = [];
  let fresh: (() => void)[] = [];
  let isWaiting = false;

  async function serve(): Promise<void> {
    isWaiting = true;
    while (ripe.length + fresh.length > 0 && !isOver()) {
      await pause();
      for (const look of ripe) look();
      [ripe, fresh] = [fresh, []];
    }
    isWaiting = false;
  }

  return {
    add(look) {
      fresh.push(look);
      if (!isWaiting) void serve();
    },
  };
}

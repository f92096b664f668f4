/** Has things looked at a second time, a while after the first. */
export type SecondLooks = { readonly add: (look: () => void) => void };

/**
 * Each look happens between one and two pauses after it was asked for, together with others: one
 * timer serves them all. `pause` resolves early when all is to end, and `isOver` says so then.
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

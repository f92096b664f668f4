/** Joins the image events of an update into few readings: an engine with many images takes long to list them. */
export type ImageLooks = { readonly noteEvent: () => void };

/** The first event leads to a `look` at once. Events during the `pause` after it lead to one look at its end. */
export function createImageLooks(pause: () => Promise<unknown>, look: () => void): ImageLooks {
  let isPausing = false;
  let isWanted = false;

  async function lookAndPause(): Promise<void> {
    isPausing = true;
    do {
      isWanted = false;
      look();
      await pause();
    } while (isWanted);
    isPausing = false;
  }

  return {
    noteEvent() {
      isWanted = true;
      if (!isPausing) void lookAndPause();
    },
  };
}

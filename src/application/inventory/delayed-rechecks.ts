import type { EngineListing, ListedService } from '../../domain/inventory/engine-listing.ts';

/**
 * Repeats readings some time after the first one. One timer serves all calls, so a `read` follows one to two pauses
 * after its call. At the end of the process `pause` resolves early, and `isOver` is true.
 */
export function createDelayedRechecks(pause: () => Promise<void>, isOver: () => boolean): (read: () => void) => void {
  let ripe: (() => void)[] = [];
  let fresh: (() => void)[] = [];
  let isWaiting = false;

  async function serve(): Promise<void> {
    isWaiting = true;
    while (ripe.length + fresh.length > 0 && !isOver()) {
      await pause();
      for (const read of ripe) read();
      [ripe, fresh] = [fresh, []];
    }
    isWaiting = false;
  }

  return (read) => {
    fresh.push(read);
    if (!isWaiting) void serve();
  };
}

/**
 * Joins the image events of an update into few readings: an engine with many images takes long to list them. The
 * returned function is called for each event. The first event leads to a `read` at once. Events during the `pause`
 * after it lead to one reading at its end.
 */
export function createImageThrottle(pause: () => Promise<void>, read: () => void): () => void {
  let isPausing = false;
  let isWanted = false;

  async function readAndPause(): Promise<void> {
    isPausing = true;
    do {
      isWanted = false;
      read();
      await pause();
    } while (isWanted);
    isPausing = false;
  }

  return () => {
    isWanted = true;
    if (!isPausing) void readAndPause();
  };
}

/** Reads services again while they have too few tasks: a swarm announces its services but not their tasks. */
export type TaskRechecks = {
  /** Called for each event of a service. */
  readonly noteEvent: () => void;
  readonly noteRead: (listing: EngineListing) => void;
};

/** `read` follows `pause`, a bounded number of times after each event. */
export function createTaskRechecks(pause: () => Promise<void>, read: () => void): TaskRechecks {
  let remaining = 0;
  let isWaiting = false;
  return {
    noteEvent: () => void (remaining = mostReads),
    noteRead({ services = [] }) {
      if (isWaiting || remaining === 0 || !services.some(isShort)) return;
      remaining -= 1;
      isWaiting = true;
      void pause().then(() => {
        isWaiting = false;
        read();
      });
    },
  };
}

/** After this many, a service with too few tasks is only read with the full listing. */
const mostReads = 15;

function isShort({ service: { count } }: ListedService): boolean {
  return count !== undefined && count.running < count.wanted;
}

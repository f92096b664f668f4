import type { EngineListing, ListedService } from '../../domain/inventory/engine-listing.ts';

/** Reads services again while they have too few tasks: a swarm announces its services but not their tasks. */
export type TaskLooks = {
  /** Called for each event of a service. */
  readonly noteEvent: () => void;
  readonly noteRead: (listing: EngineListing) => void;
};

/** `look` follows `pause`, a bounded number of times after each event. */
export function createTaskLooks(pause: () => Promise<unknown>, look: () => void): TaskLooks {
  let left = 0;
  let isWaiting = false;
  return {
    noteEvent: () => void (left = mostLooks),
    noteRead({ services = [] }) {
      if (isWaiting || left === 0 || !services.some(isShort)) return;
      left -= 1;
      isWaiting = true;
      void pause().then(() => {
        isWaiting = false;
        look();
      });
    },
  };
}

/** After that, a service with too few tasks is only read with everything else. */
const mostLooks = 15;

function isShort({ service: { count } }: ListedService): boolean {
  return count !== undefined && count.running < count.wanted;
}

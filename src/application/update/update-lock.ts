import { ServiceError } from '../../domain/text/errors.ts';
import { stoppedError } from '../async/concurrency.ts';

/** Allows one update at a time. The holder must call the returned function once. */
export type UpdateLock = {
  /** Throws `busy` when another update runs or waits. Waits for the end of a repair. */
  readonly enterAlone: (signal?: AbortSignal) => Promise<Leave>;
  /** Like `enterInTurn`, for the repair of an interrupted update. */
  readonly enterForRepair: (signal?: AbortSignal) => Promise<Leave>;
  /** Waits for its turn, first come first served; throws `cancelled` or `timeout` when the signal aborts first. */
  readonly enterInTurn: (signal?: AbortSignal) => Promise<Leave>;
};

type Leave = () => void;

export function createUpdateLock(): UpdateLock {
  const queue: (() => void)[] = [];
  let heldFor: 'an update' | 'a repair' | undefined;

  function take(purpose: typeof heldFor): Leave {
    heldFor = purpose;
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      heldFor = undefined;
      queue.shift()?.();
    };
  }

  function enter(purpose: typeof heldFor, signal: AbortSignal | undefined): Promise<Leave> {
    if (signal?.aborted) return Promise.reject(stoppedError(signal, 'update'));
    if (heldFor === undefined) return Promise.resolve(take(purpose));
    if (queue.length >= longestQueue) {
      return Promise.reject(new ServiceError('busy', `Cannot update: ${longestQueue} updates are waiting already`));
    }
    return new Promise((resolve, reject) => {
      const begin = () => {
        signal?.removeEventListener('abort', giveUp);
        resolve(take(purpose));
      };
      const giveUp = () => {
        queue.splice(queue.indexOf(begin), 1);
        if (signal !== undefined) reject(stoppedError(signal, 'update'));
      };
      signal?.addEventListener('abort', giveUp, { once: true });
      queue.push(begin);
    });
  }

  return {
    enterAlone(signal) {
      const isNext = heldFor === undefined || (heldFor === 'a repair' && queue.length === 0);
      if (isNext) return enter('an update', signal);
      return Promise.reject(new ServiceError('busy', 'Cannot update: another update is already running'));
    },
    enterForRepair: (signal) => enter('a repair', signal),
    enterInTurn: (signal) => enter('an update', signal),
  };
}

/** More callers than a client with 60 requests a minute can have waiting in ten minutes. */
const longestQueue = 1000;

import { ServiceError } from '../domain/errors.ts';
import { stoppedError } from './stopped.ts';

/** One update at a time. Who enters must call what it gets, once, to let the next one in. */
export type UpdateLock = {
  /** Throws `busy` when another update runs or waits. */
  readonly enterNow: () => Leave;
  /** Waits for its turn, first come first served; throws `cancelled` or `timeout` when the signal aborts first. */
  readonly enterInTurn: (signal?: AbortSignal) => Promise<Leave>;
};

type Leave = () => void;

export function createUpdateLock(): UpdateLock {
  const queue: (() => void)[] = [];
  let taken = false;

  function take(): Leave {
    taken = true;
    let left = false;
    return () => {
      if (left) return;
      left = true;
      taken = false;
      queue.shift()?.();
    };
  }

  return {
    enterNow() {
      if (taken) throw new ServiceError('busy', 'Cannot update: another update is already running');
      return take();
    },
    enterInTurn(signal) {
      if (signal?.aborted) return Promise.reject(stoppedError(signal, 'update'));
      if (!taken) return Promise.resolve(take());
      if (queue.length >= longestQueue) {
        return Promise.reject(new ServiceError('busy', `Cannot update: ${longestQueue} updates are waiting already`));
      }
      return new Promise((resolve, reject) => {
        const enter = () => {
          signal?.removeEventListener('abort', giveUp);
          resolve(take());
        };
        const giveUp = () => {
          queue.splice(queue.indexOf(enter), 1);
          if (signal !== undefined) reject(stoppedError(signal, 'update'));
        };
        signal?.addEventListener('abort', giveUp, { once: true });
        queue.push(enter);
      });
    },
  };
}

/** More than a client limited to 60 requests a minute can have waiting for ten minutes. */
const longestQueue = 1000;

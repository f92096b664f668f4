import { ServiceError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/outside/outside.ts';

/** Whether the listing in memory may be shown. It is only as current as the event stream that it follows. */
export type ListingStaleness = {
  readonly noteConnected: () => void;
  readonly noteBreak: () => void;
  readonly noteRead: () => void;
  readonly noteFailure: (error: unknown) => void;
  /** Undefined while the listing may be shown. */
  readonly failure: () => ServiceError | undefined;
};

/** A broken stream is harmless while the engine can be listed. `readAll` is called to find out. */
export function createListingStaleness(
  { monotonicMs }: Pick<Clock, 'monotonicMs'>,
  readAll: () => void,
): ListingStaleness {
  let isConnected = false;
  /** The stream has broken since the last reading, so that events may have been lost. */
  let isBehind = false;
  let failed: ServiceError | undefined;
  let inDoubtSinceMs: number | undefined;

  return {
    noteConnected() {
      isConnected = true;
    },
    noteBreak() {
      isConnected = false;
      isBehind = true;
      inDoubtSinceMs ??= monotonicMs();
      readAll();
    },
    noteRead() {
      isBehind = false;
      failed = undefined;
      inDoubtSinceMs = undefined;
    },
    noteFailure(error) {
      failed = error instanceof ServiceError ? error : unreachable(error);
    },
    failure() {
      // Events of objects that may not be listed show nothing.
      if (isConnected && !isBehind && failed?.code !== 'engine-denied') return undefined;
      const isLate = inDoubtSinceMs !== undefined && monotonicMs() - inDoubtSinceMs > longestDoubtMs;
      return failed ?? (isLate ? silent() : undefined);
    },
  };
}

/** A listing takes less than a second. A stream that is reopened within this time causes no failure. */
const longestDoubtMs = 2000;

function unreachable(cause: unknown): ServiceError {
  return new ServiceError('engine-unreachable', 'Cannot list containers: the engine cannot be reached', { cause });
}

function silent(): ServiceError {
  return new ServiceError('timeout', 'Cannot list containers: the engine does not answer');
}

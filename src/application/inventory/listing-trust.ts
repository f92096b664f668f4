import { ServiceError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/outside/outside.ts';

/** Whether a list from memory may be shown: it is as true as the stream of events that it follows. */
export type Trust = {
  readonly noteConnected: () => void;
  readonly noteBreak: () => void;
  readonly noteRead: () => void;
  readonly noteFailure: (error: unknown) => void;
  /** Undefined as long as it may be. */
  readonly failure: () => ServiceError | undefined;
};

/** A stream that breaks while the engine can be listed does no harm: `readAll` is called to find that out. */
export function createTrust({ monotonicMs }: Pick<Clock, 'monotonicMs'>, readAll: () => void): Trust {
  let isConnected = false;
  let failed: ServiceError | undefined;
  let inDoubtSinceMs: number | undefined;

  return {
    noteConnected() {
      isConnected = true;
      inDoubtSinceMs = undefined;
    },
    noteBreak() {
      isConnected = false;
      inDoubtSinceMs ??= monotonicMs();
      readAll();
    },
    noteRead() {
      failed = undefined;
      inDoubtSinceMs = undefined;
    },
    noteFailure(error) {
      failed = error instanceof ServiceError ? error : unreachable(error);
    },
    failure() {
      if (isConnected) return undefined;
      const isLate = inDoubtSinceMs !== undefined && monotonicMs() - inDoubtSinceMs > longestDoubtMs;
      return failed ?? (isLate ? silent() : undefined);
    },
  };
}

/** A list takes less than a second, and a stream that only had to be opened again does not show. */
const longestDoubtMs = 2000;

function unreachable(cause: unknown): ServiceError {
  return new ServiceError('engine-unreachable', 'Cannot list containers: the engine cannot be reached', { cause });
}

function silent(): ServiceError {
  return new ServiceError('timeout', 'Cannot list containers: the engine does not answer');
}

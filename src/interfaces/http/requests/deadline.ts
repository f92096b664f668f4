import { setMaxListeners } from 'node:events';
import type { Clock } from '../../../domain/outside/outside.ts';
import { ServiceError } from '../../../domain/text/errors.ts';

/** A signal that aborts after a time, or when it is cancelled. */
export type Deadline = {
  readonly signal: AbortSignal;
  readonly hasPassed: () => boolean;
  /** Aborts the signal with the reason, unless it is already aborted. */
  readonly abort: (reason: ServiceError) => void;
  /** Rejects when the time has passed; never settles otherwise. */
  readonly passed: Promise<never>;
  /** Stops the clock when the work has ended. */
  readonly clear: () => void;
};

/** `action` completes the message "Cannot …": `update`. */
export function startDeadline(clock: Clock, ms: number, action: string): Deadline {
  const controller = new AbortController();
  // Every engine of a run listens.
  setMaxListeners(0, controller.signal);
  const timer = new AbortController();
  let isPassed = false;
  const passed = new Promise<never>((_, reject) => {
    clock.sleep(ms, timer.signal).then(
      () => {
        isPassed = true;
        const error = new ServiceError('timeout', `Cannot ${action}: it did not end in time`);
        controller.abort(error);
        reject(error);
      },
      () => undefined,
    );
  });
  // Without a race against it, the rejection would count as unhandled.
  passed.catch(() => undefined);
  return {
    signal: controller.signal,
    hasPassed: () => isPassed,
    abort: (reason) => controller.abort(reason),
    passed,
    clear: () => timer.abort(new ServiceError('cancelled', 'Cannot wait: the work has ended')),
  };
}

import type { Outside } from '../../domain/outside/outside.ts';
import { type ContainerWatch, watchContainer } from './container-watch.ts';

export type PauseOrder = {
  /** Time until the end of the window; negative after it. */
  readonly leftOfWindowMs: number;
  /** Time until the deadline, which has not passed. */
  readonly leftMs: number;
  /** A probe has just failed and is to be repeated. */
  readonly isProbing: boolean;
  /** Inspections are due at the polling interval, with or without events. */
  readonly isPolled: boolean;
};

export type GatePauses = {
  /** Pauses until the next inspection is due. Ends early, and does not throw, when the signal aborts. */
  readonly next: (order: PauseOrder) => Promise<void>;
  readonly close: () => void;
};

/**
 * The pauses between the inspections of a successor. While the engine's event stream is open, an inspection follows
 * each event, and one more at the end of the window finds an exit that no event announced. While the stream is down, a
 * successor is inspected every 250 ms.
 */
export function createGatePauses(
  outside: Pick<Outside, 'engine' | 'clock'>,
  id: string,
  signal?: AbortSignal,
): GatePauses {
  const { clock } = outside;
  let watch: ContainerWatch | undefined;
  let settledAtMs = -Infinity;

  return {
    async next(order) {
      watch ??= watchContainer(outside, id, signal);
      if (clock.monotonicMs() < settledAtMs) {
        await clock.sleep(Math.min(pollMs, order.leftMs), signal).catch(() => undefined);
      } else if ((await watch.wait(lengthOf(order, watch.isListening()))) === 'happened') {
        settledAtMs = clock.monotonicMs() + settlingMs;
      }
    },
    close: () => watch?.close(),
  };
}

function lengthOf({ leftOfWindowMs, leftMs, isProbing, isPolled }: PauseOrder, isListening: boolean): number {
  if (isProbing) return probePollMs;
  const longestMs = isPolled || !isListening ? pollMs : leftOfWindowMs > 0 ? leftOfWindowMs : quietPollMs;
  return Math.min(longestMs, leftOfWindowMs > 0 ? leftOfWindowMs : leftMs);
}

/** Short against the start of a container (about 200 ms), long against an inspect call (1 ms). */
const pollMs = 250;

/** Time between the answer to a probe and the next request. */
const probePollMs = 1000;

/** Docker 20.10 announces an exit before an inspection shows it. The container is polled in between. */
const settlingMs = 1000;

/** A lost event must not delay the verdict of a HEALTHCHECK by more than this. */
const quietPollMs = 2000;

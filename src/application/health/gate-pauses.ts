import type { Outside } from '../../domain/outside/outside.ts';
import { type ContainerWatch, watchContainer } from './container-watch.ts';

export type PauseOrder = {
  /** Until the end of the window; negative after it. */
  readonly leftOfWindowMs: number;
  /** Until the deadline, which has not passed. */
  readonly leftMs: number;
  /** A probe has just failed, and is asked again. */
  readonly isProbing: boolean;
  /** The inspections must not wait for news. */
  readonly isPolled: boolean;
};

export type GatePauses = {
  /** Pauses until the next inspection is due. Ends early, and does not throw, when the signal aborts. */
  readonly next: (order: PauseOrder) => Promise<void>;
  readonly close: () => void;
};

/**
 * The pauses between the inspections of a successor. While the engine's event stream stands, an inspection follows each
 * change that it tells, and one comes at the end of the window: it sees an end that no event told of. While the stream
 * is away, the inspections come every 250 ms.
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
  const longestMs = isPolled || !isListening ? pollMs : leftOfWindowMs > 0 ? leftOfWindowMs : lookAgainMs;
  return Math.min(longestMs, leftOfWindowMs > 0 ? leftOfWindowMs : leftMs);
}

/** Short against the start of a container (about 200 ms), long against an inspect call (1 ms). */
const pollMs = 250;

/** From one answer of a probe to the next question. */
const probePollMs = 1000;

/** Docker 20.10 announces the end of a process before an inspection shows it; meanwhile it is polled. */
const settlingMs = 1000;

/** A HEALTHCHECK that has come to its verdict must not wait for a lost event. */
const lookAgainMs = 2000;

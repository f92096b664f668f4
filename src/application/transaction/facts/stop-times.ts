import { describeError } from '../../../domain/errors.ts';
import type { Outside } from '../../../domain/outside/outside.ts';

/** When containers were told to end, by the engine's clock. */
export type StopTimes = {
  /** Called just before the first stop of a container is sent; never throws. */
  readonly note: (outside: Pick<Outside, 'engine' | 'clock' | 'log'>, id: string) => Promise<void>;
  /** Milliseconds since the epoch; undefined where it was not stopped, or the engine did not tell its time. */
  readonly sentAtMs: (id: string) => number | undefined;
};

/** The engine's clock is read once, before anything has been stopped, and told by our monotonic one from then on. */
export function createStopTimes(): StopTimes {
  const sentAtMs = new Map<string, number>();
  let reading: Promise<number | undefined> | undefined;
  return {
    async note(outside, id) {
      reading ??= readOffset(outside);
      const offsetMs = await reading;
      if (offsetMs !== undefined && !sentAtMs.has(id)) sentAtMs.set(id, outside.clock.monotonicMs() + offsetMs);
    },
    sentAtMs: (id) => sentAtMs.get(id),
  };
}

/** Offset of the engine's clock, measured from the request: a stop has the same latency. */
async function readOffset({
  engine,
  clock,
  log,
}: Pick<Outside, 'engine' | 'clock' | 'log'>): Promise<number | undefined> {
  const askedAtMs = clock.monotonicMs();
  try {
    return (await engine.info()).nowMs - askedAtMs;
  } catch (error) {
    log.debug("cannot read the engine's time", { error: describeError(error) });
    return undefined;
  }
}

import { describeError } from '../../../domain/text/errors.ts';
import type { Outside } from '../../../domain/outside/outside.ts';

/** The times at which stops of containers were sent, by the engine's clock. */
export type StopTimes = {
  /** Called just before the first stop of a container is sent. Never throws. */
  readonly note: (outside: Pick<Outside, 'engine' | 'clock' | 'log'>, id: string) => Promise<void>;
  /** Milliseconds since the epoch. Undefined if the container was not stopped, or the engine reported no time. */
  readonly sentAtMs: (id: string) => number | undefined;
};

/** The engine's clock is read once, before the first stop, and advanced by our monotonic clock after that. */
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

/** The offset of the engine's clock, from the time of the request: a stop has the same latency. */
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

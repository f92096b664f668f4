import type { EngineInfo, EngineReader } from '../../domain/outside/engine-reader.ts';
import type { Clock } from '../../domain/outside/outside.ts';
import { waitAtMost } from '../async/stopped.ts';

export type AskedEngine = {
  readonly engine: Pick<EngineReader, 'info'>;
  /** Known to be away: it is not asked. */
  readonly isAway: () => boolean;
};

/** Joins what all engines say. It throws nothing but the signal's reason. */
export type EngineAnswers = (
  read: (info: EngineInfo) => readonly string[],
  signal?: AbortSignal,
) => Promise<readonly string[]>;

/**
 * An engine that does not answer must not keep the registries from the others: what it said last counts, and it is asked
 * again meanwhile. One that has never said anything is waited for, 5 s at most.
 */
export function createEngineAnswers(engines: readonly AskedEngine[], clock: Pick<Clock, 'sleep'>): EngineAnswers {
  const said = new Map<AskedEngine, EngineInfo>();
  const underWay = new Map<AskedEngine, Promise<void>>();

  async function ask(one: AskedEngine): Promise<void> {
    try {
      said.set(one, await one.engine.info());
    } catch {
      // Its own run tells why.
    } finally {
      underWay.delete(one);
    }
  }

  function asking(one: AskedEngine): Promise<void> {
    const known = underWay.get(one);
    if (known !== undefined) return known;
    const asked = ask(one);
    underWay.set(one, asked);
    return asked;
  }

  return async (read, signal) => {
    const asked = engines.filter(({ isAway }) => !isAway());
    const awaited = asked.flatMap((one) => {
      const answer = asking(one);
      return said.has(one) ? [] : [answer];
    });
    await waitAtMost(answerTimeoutMs, Promise.all(awaited), clock, signal);
    signal?.throwIfAborted();
    return [...new Set([...said.values()].flatMap(read))];
  };
}

const answerTimeoutMs = 5000;

import type { EngineInfo, EngineReader } from '../../domain/outside/engine.ts';
import type { Clock } from '../../domain/outside/outside.ts';
import { waitAtMost } from '../async/stopped.ts';

export type AskedEngine = {
  readonly engine: Pick<EngineReader, 'info'>;
  /** True for a known unreachable engine, which is not asked. */
  readonly isAway: () => boolean;
};

/** Joins a list of the info of all engines. Throws only the signal's reason. */
export type EngineAnswers = (
  read: (info: EngineInfo) => readonly string[],
  signal?: AbortSignal,
) => Promise<readonly string[]>;

/**
 * An engine that does not answer must not block the registries of the others: its last answer counts, and it is asked
 * again meanwhile. Only the first answer of an engine is awaited, for 5 s at most.
 */
export function createEngineAnswers(engines: readonly AskedEngine[], clock: Pick<Clock, 'sleep'>): EngineAnswers {
  const answers = new Map<AskedEngine, EngineInfo>();
  const underWay = new Map<AskedEngine, Promise<void>>();

  async function ask(one: AskedEngine): Promise<void> {
    try {
      answers.set(one, await one.engine.info());
    } catch {
      // The engine's own run reports the reason.
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
      return answers.has(one) ? [] : [answer];
    });
    await waitAtMost(answerTimeoutMs, Promise.all(awaited), clock, signal);
    signal?.throwIfAborted();
    return [...new Set([...answers.values()].flatMap(read))];
  };
}

const answerTimeoutMs = 5000;

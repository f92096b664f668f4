import { ServiceError } from '../../domain/errors.ts';
import type { ReadOnlyOutside } from '../../domain/outside/outside.ts';
import { orStopped } from '../async/stopped.ts';

/**
 * Pings the engine, with one request for all waiting callers, and throws the reason when it does not answer. A silent
 * engine may have been replaced, so it is pinged again every second on a new connection.
 */
export function createReadiness({
  engine,
  clock,
}: Pick<ReadOnlyOutside, 'engine' | 'clock'>): (signal?: AbortSignal) => Promise<void> {
  let asking: Promise<void> | undefined;

  async function ask(): Promise<void> {
    const answered = new AbortController();
    const late = new AbortController();
    const passed = (ms: number) => clock.sleep(ms, answered.signal).catch(() => undefined);
    const asked: Promise<void>[] = [];
    try {
      for (let waitedMs = 0; waitedMs < longestWaitMs; waitedMs += askAgainMs) {
        asked.push(engine.ping(late.signal));
        const isAnswered = await Promise.race([Promise.any(asked).then(() => true), passed(askAgainMs)]);
        if (isAnswered === true) return;
      }
      throw new ServiceError('timeout', 'Cannot reach the engine: it does not answer');
    } catch (error) {
      throw error instanceof AggregateError ? error.errors.at(-1) : error;
    } finally {
      answered.abort();
      late.abort();
      for (const each of asked) each.catch(() => undefined);
    }
  }

  return (signal) => {
    asking ??= ask().finally(() => (asking = undefined));
    return orStopped(asking, 'reach the engine', signal);
  };
}

/** Limit that `/readyz` documents: docs/http-api.md. */
const longestWaitMs = 5000;

const askAgainMs = 1000;

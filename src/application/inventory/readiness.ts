import { type ErrorCode, ServiceError } from '../../domain/text/errors.ts';
import type { ReadOnlyOutside } from '../../domain/outside/outside.ts';
import { orStopped } from '../async/concurrency.ts';

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

/**
 * Whether Upkeep can work with an engine that answers: a proxy before it may forbid the calls that everything needs.
 * The recovery of a start shows it. A process that has not recovered, such as a health check, asks.
 */
export type Usability = {
  /** Runs a recovery. Its success or failure counts from then on. */
  readonly noting: <Result>(recover: () => Promise<Result>) => Promise<Result>;
  /** Why the last recovery could not begin. Undefined after a success, and before the first. */
  readonly failure: () => ServiceError | undefined;
  /** Throws the reason why the engine cannot be used. */
  readonly prove: (signal?: AbortSignal) => Promise<void>;
};

export function createUsability({ engine }: Pick<ReadOnlyOutside, 'engine'>): Usability {
  let isKnown = false;
  let failed: ServiceError | undefined;

  return {
    async noting(recover) {
      try {
        const result = await recover();
        [isKnown, failed] = [true, undefined];
        return result;
      } catch (error) {
        if (error instanceof ServiceError && unusable.includes(error.code)) [isKnown, failed] = [true, error];
        throw error;
      }
    },
    failure: () => failed,
    async prove(signal) {
      if (failed !== undefined) throw failed;
      if (isKnown) return;
      await Promise.all([engine.info(signal), engine.listContainers({ ids: [noId] }, signal)]);
      await engine.inspectImage(noImage, signal);
    },
  };
}

const unusable: readonly ErrorCode[] = ['engine-denied', 'engine-refused'];

const noId = '0'.repeat(64);
const noImage = 'upkeep-absent:none';

/** Limit that `/readyz` documents: docs/http-api.md. */
const longestWaitMs = 5000;

const askAgainMs = 1000;

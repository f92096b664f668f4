import { ServiceError } from '../domain/errors.ts';
import type { Outside } from '../domain/outside.ts';
import { orStopped } from './stopped.ts';

/** Asks the engine for a sign of life, once for all who want to know at the same time; throws why there is none. */
export function createReadiness({
  engine,
  clock,
}: Pick<Outside, 'engine' | 'clock'>): (signal?: AbortSignal) => Promise<void> {
  let asking: Promise<void> | undefined;

  async function ask(): Promise<void> {
    const answered = new AbortController();
    const late = new AbortController();
    const passed = clock.sleep(longestWaitMs, answered.signal).then(
      () => late.abort(),
      () => undefined,
    );
    try {
      await Promise.race([engine.ping(late.signal), passed]);
      if (late.signal.aborted) throw new ServiceError('timeout', 'Cannot reach the engine: it does not answer');
    } finally {
      answered.abort();
    }
  }

  return (signal) => {
    asking ??= ask().finally(() => (asking = undefined));
    return orStopped(asking, 'reach the engine', signal);
  };
}

/** What `/readyz` promises: docs/http-api.md. */
const longestWaitMs = 5000;

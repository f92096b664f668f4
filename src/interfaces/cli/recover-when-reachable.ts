import { describeError, type ErrorCode, ServiceError } from '../../domain/errors.ts';
import type { CommandContext } from './context.ts';
import { recoverFirst } from './recover-first.ts';

/**
 * Recovers once the engine answers, and waits for that as long as it takes: whoever watches the
 * service asks `/readyz`, and learns more there than from one that ends and is started again.
 */
export async function recoverWhenReachable(context: CommandContext): Promise<void> {
  const { clock, log, signal } = context;
  for (let attempt = 0; !signal.aborted; attempt += 1) {
    try {
      return await recoverFirst(context);
    } catch (error) {
      if (signal.aborted) return;
      if (!isAway(error)) throw error;
      const words = 'Waiting for the container engine, which cannot be reached; the API is served meanwhile';
      if (attempt === 0) log.warn(words, { error: describeError(error) });
      await clock.sleep(retryMs, signal).catch(() => undefined);
    }
  }
}

const retryMs = 2000;

const away: readonly ErrorCode[] = ['engine-unreachable', 'timeout'];

function isAway(error: unknown): boolean {
  return error instanceof ServiceError && away.includes(error.code);
}

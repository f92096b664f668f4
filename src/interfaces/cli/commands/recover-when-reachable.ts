import { describeWithRemedy, type ErrorCode, ServiceError } from '../../../domain/errors.ts';
import type { CommandContext } from '../context/context.ts';
import type { FindingCode } from '../context/exit-code.ts';
import { recoverFirst } from './recover-first.ts';

/**
 * Recovers when the engine answers, and waits for that without a limit. Meanwhile `/readyz` shows the reason, which a
 * process in a restart loop could not do.
 */
export async function recoverWhenReachable(context: CommandContext): Promise<readonly FindingCode[]> {
  const { clock, log, signal } = context;
  let told = '';
  while (!signal.aborted) {
    try {
      return await recoverFirst(context);
    } catch (error) {
      if (signal.aborted) return [];
      if (!isAway(error)) throw error;
      const why = describeWithRemedy(error);
      if (why !== told) log.warn('Waiting for the container engine, which cannot be asked', { error: why });
      told = why;
      await clock.sleep(retryMs, signal).catch(() => undefined);
    }
  }
  return [];
}

const retryMs = 2000;

/** An engine that cannot list its containers counts too: another start would not help. */
const away: readonly ErrorCode[] = ['engine-unreachable', 'engine-denied', 'engine-refused', 'timeout'];

function isAway(error: unknown): boolean {
  return error instanceof ServiceError && away.includes(error.code);
}

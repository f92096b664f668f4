import type { RecoveredTransaction, RecoveryReport } from '../../domain/run/recovery-report.ts';
import { describeError } from '../../domain/errors.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import type { ServiceSettings } from '../../domain/settings/settings.ts';
import { recoverTransactions, type RecoveryOrder } from '../recovery/recover.ts';

/**
 * Recovers. While a helper replaces our own container it waits for the helper to end, because the helper may stop this
 * Upkeep at any moment. An abort ends the wait and returns the results so far.
 */
export async function recoverWithHelper(
  outside: Outside,
  settings: ServiceSettings,
  signal?: AbortSignal,
  hearing: Pick<RecoveryOrder, 'onListed' | 'onRepair'> = {},
): Promise<RecoveryReport> {
  const { clock, log } = outside;
  const begunMs = clock.monotonicMs();
  const ended: RecoveredTransaction[] = [];
  for (let isFirst = true; ; isFirst = false) {
    const waitedMs = clock.monotonicMs() - begunMs;
    const report = await recoverTransactions(outside, settings, signal, { ...hearing, waitedMs });
    if (report.awaitsHelper !== true) return { transactions: [...ended, ...report.transactions] };
    if (isFirst) log.info('A helper container is updating Upkeep itself: no other update begins before it has ended');
    ended.push(...report.transactions.filter(({ result }) => result !== 'left'));
    if (!(await pause(outside, signal))) return { ...report, transactions: ended };
  }
}

/**
 * The same for an Upkeep that has handed its own container over. It will be stopped, unless the helper gives up first.
 * Never throws; ends with the signal.
 */
export async function watchHelper(outside: Outside, settings: ServiceSettings, signal: AbortSignal): Promise<void> {
  const begunMs = outside.clock.monotonicMs();
  while (await pause(outside, signal)) {
    const waitedMs = outside.clock.monotonicMs() - begunMs;
    try {
      const { awaitsHelper } = await recoverTransactions(outside, settings, signal, { waitedMs });
      if (awaitsHelper !== true) return;
    } catch (error) {
      outside.log.debug('The helper cannot be looked at', { error: describeError(error) });
    }
  }
}

/** False when there is nothing left to wait for. */
async function pause({ clock }: Outside, signal: AbortSignal | undefined): Promise<boolean> {
  try {
    await clock.sleep(pollMs, signal);
    return true;
  } catch {
    return false;
  }
}

const pollMs = 1000;

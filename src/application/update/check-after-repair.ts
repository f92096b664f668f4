import type { RecoveredTransaction, RecoveryReport } from '../../domain/run/recovery-report.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import type { ServiceSettings } from '../../domain/settings/settings.ts';
import { isParkedName } from '../../domain/transaction/transaction-names.ts';
import { openMarksOf } from '../../domain/transaction/open-mark.ts';
import type { Check, CheckReport } from '../check/check.ts';
import { recoverTransactions, type RecoveryOrder } from '../recovery/recover.ts';

/**
 * A check that first finishes or undoes an interrupted update in the listing, and then lists again. A
 * process may run for months, so repair must not wait for its next start. The caller must hold the update
 * lock: a repair changes containers.
 */
export function checkAfterRepair(
  outside: Outside,
  settings: ServiceSettings,
  check: Check,
  { onRepair, leftAlone }: { readonly onRepair?: RecoveryOrder['onRepair']; readonly leftAlone: LeftAlone },
): Check {
  return async (order, signal) => {
    const report = await check(order, signal);
    if (!(await hasRemains(outside, report)) || signal?.aborted) return report;
    const { transactions } = await recoverTransactions(outside, settings, signal, { onRepair });
    const told = transactions.filter(leftAlone.isNews);
    for (const { containers, result, reason } of told) {
      const level = result === 'failed' ? 'error' : 'info';
      outside.log[level]('What an earlier update left was looked at', { containers, result, reason });
    }
    if (told.length > 0) outside.publish({ kind: 'earlier_updates_settled', transactions: told });
    const isChanged = transactions.some(({ result }) => result === 'finished' || result === 'undone');
    const { onSelected: _, ...again } = order;
    return isChanged ? check(again, signal) : report;
  };
}

async function hasRemains({ engine }: Outside, { unwatched }: CheckReport): Promise<boolean> {
  if (unwatched.some(({ name }) => isParkedName(name))) return true;
  return openMarksOf(await engine.listImages()).length > 0;
}

/** Containers that a repair leaves alone are told of once, not at every run. */
export type LeftAlone = {
  readonly note: (report: RecoveryReport) => void;
  /** True the first time for each transaction; notes it. */
  readonly isNews: (transaction: RecoveredTransaction) => boolean;
};

export function createLeftAlone(): LeftAlone {
  const told = new Set<string>();
  function isNews({ containers, result, isPending }: RecoveredTransaction): boolean {
    if (result !== 'left') return true;
    const key = JSON.stringify([containers, isPending]);
    if (told.has(key)) return false;
    if (told.size >= mostTold) told.clear();
    told.add(key);
    return true;
  }
  return {
    note: ({ transactions }) => {
      for (const transaction of transactions) isNews(transaction);
    },
    isNews,
  };
}

/** More than an engine has containers that are called so by chance. */
const mostTold = 1000;

import type { Outside } from '../domain/outside.ts';
import type { ServiceSettings } from '../domain/settings.ts';
import { isParkedName } from '../domain/transaction-names.ts';
import type { Check } from './check.ts';
import { recoverTransactions } from './recover.ts';

/**
 * A check that, where it lists the remains of an update, finishes or undoes that first and looks
 * again: a process that runs for months must not leave to its next start what it could not end. Only
 * for whoever holds the lock, because a repair changes containers.
 */
export function checkAfterRepair(outside: Outside, settings: ServiceSettings, check: Check): Check {
  return async (order, signal) => {
    const report = await check(order, signal);
    if (!report.unwatched.some(({ name }) => isParkedName(name)) || signal?.aborted) return report;
    const { transactions } = await recoverTransactions(outside, settings, signal);
    for (const { containers, result, reason } of transactions) {
      const level = result === 'failed' ? 'error' : 'info';
      outside.log[level]('What an earlier update left was looked at', { containers, result, reason });
    }
    const isChanged = transactions.some(({ result }) => result === 'finished' || result === 'undone');
    const { onSelected: _, ...again } = order;
    return isChanged ? check(again, signal) : report;
  };
}

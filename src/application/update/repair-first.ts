import { keysOfRepaired, type RecoveredTransaction } from '../../domain/run/recovery-report.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import type { ServiceSettings } from '../../domain/settings/service-settings.ts';
import { isParkedName } from '../../domain/transaction/transaction-names.ts';
import { transactionMarksOf } from '../../domain/transaction/transaction-mark.ts';
import { createFirstTimes } from '../async/remember.ts';
import { type Listing, listAll } from '../engine/list-all.ts';
import type { RecoverServices } from '../swarm/recover-services.ts';
import { recoverTransactions, type RecoveryOrder } from '../recovery/recover.ts';

/** Lists the engine for a run, after the repair of interrupted updates. Throws a `ServiceError`. */
export type ListRepaired = (signal?: AbortSignal) => Promise<Listing>;

export type RepairParts = {
  readonly outside: Outside;
  readonly settings: ServiceSettings;
  readonly onRepair?: RecoveryOrder['onRepair'];
  readonly background?: RecoveryOrder['background'];
  readonly isNews: IsNews;
  readonly recoverServices: RecoverServices;
};

/**
 * Finishes or undoes the interrupted updates in a listing, then lists again. A process may run for months, so repairs
 * must not wait for its next start. The caller must hold the update lock, because a repair changes containers.
 */
export function createListRepaired(parts: RepairParts): ListRepaired {
  const { outside, settings, onRepair, background, isNews, recoverServices } = parts;

  function report(transactions: readonly RecoveredTransaction[]): void {
    const reported = transactions.filter((one) => isNews(one) && one.isUnderWay !== true);
    for (const { containers, result, reason } of reported) {
      const level = result === 'failed' ? 'error' : 'info';
      outside.log[level]('The remains of an earlier update were checked', { containers, result, reason });
    }
    if (reported.length > 0) outside.publish({ kind: 'earlier_updates_settled', transactions: reported });
  }

  return async (signal) => {
    report(await recoverServices(signal));
    const listing = await listAll(outside, signal);
    if (!hasRemains(listing) || signal?.aborted) return listing;
    const { transactions } = await recoverTransactions(outside, settings, signal, { onRepair, background });
    report(transactions);
    const isChanged = transactions.some((one) => isSettled(one) || one.isUnderWay === true);
    return isChanged ? listAll(outside, signal) : listing;
  };
}

function hasRemains({ containers, listedImages }: Listing): boolean {
  return containers.some(({ name }) => isParkedName(name)) || transactionMarksOf(listedImages).length > 0;
}

/** Returns whether to report a transaction. A transaction that stays unrepaired is reported once, not in every run. */
export function createReportFilter(): IsNews {
  const isFirst = createFirstTimes(mostReported);
  return (transaction) =>
    isSettled(transaction) ||
    isFirst(JSON.stringify([keysOfRepaired(transaction), transaction.isPending, reasonOf(transaction)]));
}

function isSettled({ result }: RecoveredTransaction): boolean {
  return result === 'finished' || result === 'undone';
}

/** A repair that fails is tried every minute. Each different reason is reported once. */
function reasonOf({ result, reason }: RecoveredTransaction): string {
  return result === 'failed' ? reason : '';
}

type IsNews = (transaction: RecoveredTransaction) => boolean;

/** More than an engine has containers whose names match by chance. */
const mostReported = 1000;

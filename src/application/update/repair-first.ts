import type { RecoveredTransaction } from '../../domain/run/event.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import type { ServiceSettings } from '../../domain/settings/effective-settings.ts';
import { isParkedName, transactionMarksOf } from '../../domain/transaction/transaction-names.ts';
import { type Listing, listAll } from '../engine/listing.ts';
import type { RecoverServices } from '../swarm/recover-services.ts';
import { isSettled, type RepairNews } from '../recovery/repair-news.ts';
import { recoverTransactions, type RecoveryOrder } from '../recovery/recover.ts';

/** Lists the engine for a run, after the repair of interrupted updates. Throws a `ServiceError`. */
export type ListRepaired = (signal?: AbortSignal) => Promise<Listing>;

export type RepairParts = {
  readonly outside: Outside;
  readonly settings: ServiceSettings;
  readonly onRepair?: RecoveryOrder['onRepair'];
  readonly background?: RecoveryOrder['background'];
  readonly news: RepairNews;
  readonly recoverServices: RecoverServices;
};

/**
 * Finishes or undoes the interrupted updates in a listing, then lists again. A process may run for months, so repairs
 * must not wait for its next start. The caller must hold the update lock, because a repair changes containers.
 */
export function createListRepaired(parts: RepairParts): ListRepaired {
  const { outside, settings, onRepair, background, news, recoverServices } = parts;

  function report(reported: readonly RecoveredTransaction[]): void {
    for (const { containers, result, reason } of reported) {
      const level = result === 'failed' ? 'error' : 'info';
      outside.log[level]('The remains of an earlier update were checked', { containers, result, reason });
    }
    if (reported.length > 0) outside.publish({ kind: 'earlier_updates_settled', transactions: reported });
  }

  return async (signal) => {
    report(news.of(await recoverServices(signal)));
    const listing = await listAll(outside, signal);
    if (signal?.aborted) return listing;
    if (!hasRemains(listing)) {
      report(news.ofAll([]));
      return listing;
    }
    const { transactions } = await recoverTransactions(outside, settings, signal, { onRepair, background });
    report(signal?.aborted ? news.of(transactions) : news.ofAll(transactions));
    const isChanged = transactions.some((one) => isSettled(one) || one.isUnderWay === true);
    return isChanged ? listAll(outside, signal) : listing;
  };
}

function hasRemains({ containers, listedImages }: Listing): boolean {
  return containers.some(({ name }) => isParkedName(name)) || transactionMarksOf(listedImages).length > 0;
}

import { keysOfRepaired, type RecoveredTransaction } from '../../domain/run/event.ts';
import type { Clock } from '../../domain/outside/outside.ts';
import { putNewest } from '../../domain/text/plain-data.ts';

export type RepairNews = {
  /** The results to report. */
  readonly of: (transactions: readonly RecoveredTransaction[]) => readonly RecoveredTransaction[];
  /** The same for the results of all remains of containers, so that absent ones are over. */
  readonly ofAll: (transactions: readonly RecoveredTransaction[]) => readonly RecoveredTransaction[];
};

type RepairNewsParts = {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** Whether a repair of containers with these names goes on in this process, so that no result shows it. */
  readonly isUnderWay: (names: readonly string[]) => boolean;
};

/**
 * A repair that fails is tried every minute. Each different reason is reported at once, and then once a day, until
 * somebody or a repair has solved it, which is reported too. All else is reported once.
 */
export function createRepairNews({ clock, isUnderWay }: RepairNewsParts): RepairNews {
  /** By transaction and reason. */
  const reportedAtMs = new Map<string, number>();
  const open = new Map<string, RecoveredTransaction>();

  function isNews(transaction: RecoveredTransaction): boolean {
    const which = whichOf(transaction);
    if (transaction.isUnderWay) return false;
    if (isSettled(transaction)) {
      end(which);
      return true;
    }
    const isOpen = needsRepair(transaction);
    if (isOpen) putNewest(open, which, transaction, maxRemembered);
    const { result, isPending, reason } = transaction;
    const key = `${which} ${JSON.stringify([isPending, result === 'failed' ? reason : ''])}`;
    const lastMs = reportedAtMs.get(key);
    const nowMs = clock.monotonicMs();
    if (lastMs !== undefined && (!isOpen || nowMs - lastMs < remindAfterMs)) return false;
    putNewest(reportedAtMs, key, nowMs, maxRemembered);
    return true;
  }

  function end(which: string): void {
    open.delete(which);
    for (const key of reportedAtMs.keys()) if (key.startsWith(`${which} `)) reportedAtMs.delete(key);
  }

  return {
    of: (transactions) => transactions.filter(isNews),
    ofAll(transactions) {
      const news = transactions.filter(isNews);
      const present = new Set(transactions.map(whichOf));
      const gone = [...open].filter(
        ([which, { kind, containers }]) => kind === undefined && !present.has(which) && !isUnderWay(containers),
      );
      for (const [which] of gone) end(which);
      return [...news, ...gone.map(([, one]) => solved(one))];
    },
  };
}

/** Whether an earlier update has ended. */
export function isSettled({ result }: RecoveredTransaction): boolean {
  return result === 'finished' || result === 'undone' || result === 'solved';
}

function needsRepair({ result, isPending }: RecoveredTransaction): boolean {
  return result === 'failed' || isPending === true;
}

/** Only its container, its engine and its recipients are still true. */
function solved({ containers, engine, recipients }: RecoveredTransaction): RecoveredTransaction {
  return {
    containers,
    result: 'solved',
    reason: 'nothing of it is left to repair',
    ...(engine !== undefined && { engine }),
    ...(recipients && { recipients }),
  };
}

function whichOf(transaction: RecoveredTransaction): string {
  return JSON.stringify(keysOfRepaired(transaction));
}

/** A minute more than a day, so that the message of a day ago is certainly a day old. */
const remindAfterMs = 86_460_000;

/** More than an engine has containers whose names match by chance. */
const maxRemembered = 1000;

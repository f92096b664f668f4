import { describeError, isBusy } from '../../domain/errors.ts';
import type { Clock, Log } from '../../domain/outside/outside.ts';
import type { ServiceEvent } from '../../domain/run/event.ts';
import type { RecoveredTransaction, RecoveryReport } from '../../domain/run/recovery-report.ts';

export type RepairLoop = {
  /** Notices an update that could neither be finished nor undone. */
  readonly hear: (event: ServiceEvent) => void;
  /** Repairs until the signal aborts. Sleeps while there is nothing to repair. Never throws. */
  readonly run: (signal: AbortSignal) => Promise<void>;
};

type RepairParts = {
  readonly clock: Pick<Clock, 'sleep'>;
  readonly log: Pick<Log, 'info' | 'warn' | 'debug'>;
  readonly repair: (signal: AbortSignal) => Promise<Pick<RecoveryReport, 'transactions'>>;
};

/**
 * The next run of a service may be a day away, and a container may be down until then. So a service tries again by
 * itself: first after seconds, then less and less often, but once a minute at least, until everything is repaired.
 */
export function createRepairLoop({ clock, log, repair }: RepairParts): RepairLoop {
  let isPending = false;
  let wake = () => {};

  function begin(): void {
    isPending = true;
    wake();
  }

  async function untilPending(signal: AbortSignal): Promise<void> {
    if (isPending || signal.aborted) return;
    await new Promise<void>((resolve) => {
      wake = resolve;
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }

  async function repairAll(signal: AbortSignal): Promise<void> {
    for (let attempt = 0; isPending && !signal.aborted; attempt += 1) {
      const pauseMs = Math.min(longestPauseMs, firstPauseMs * 2 ** attempt);
      await clock.sleep(pauseMs, signal).catch(() => undefined);
      if (signal.aborted) return;
      try {
        const { transactions } = await repair(signal);
        isPending = transactions.some(isOpen);
        for (const { containers, result, reason } of transactions)
          if (result === 'finished' || result === 'undone')
            log.info('An interrupted update was repaired', { containers, result, reason });
      } catch (error) {
        if (signal.aborted) return;
        const level = isBusy(error) ? 'debug' : 'warn';
        log[level]('An interrupted update could not be repaired, and is tried again', { error: describeError(error) });
      }
    }
  }

  return {
    hear(event) {
      if (event.kind === 'scan_completed' && event.session?.containers.some((one) => one.isUnfinished)) begin();
      if (event.kind === 'earlier_updates_settled' && event.transactions.some(isOpen)) begin();
    },
    async run(signal) {
      while (!signal.aborted) {
        await untilPending(signal);
        await repairAll(signal);
      }
    },
  };
}

const firstPauseMs = 5000;
/** With the time of one attempt it is less than a minute. */
const longestPauseMs = 40_000;

/** One without a seal waits for a person. */
function isOpen({ result, isPending, reason }: RecoveredTransaction): boolean {
  return result === 'failed' || (isPending === true && reason.startsWith('repair pending'));
}

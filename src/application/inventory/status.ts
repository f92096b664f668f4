import type { ServiceStatus } from '../../domain/run/service-status.ts';
import type { ServiceEvent } from '../../domain/run/event.ts';
import type { Inventory } from '../../domain/inventory/inventory.ts';
import type { SessionSummary } from '../../domain/run/session.ts';
import type { Scheduler } from '../schedule/scheduler.ts';
import type { History, HistoryEntry } from '../events/history.ts';
import { createRunProgress } from './run-progress.ts';

export type StatusParts = {
  readonly history: Pick<History, 'last'>;
  readonly scheduler: Pick<Scheduler, 'nextRunAtMs' | 'schedule'>;
  readonly inventory: () => Inventory;
  readonly isRepairing: () => boolean;
};

/** Derives from events whether an update is under way. */
export function createStatus({ history, scheduler, inventory, isRepairing }: StatusParts): {
  readonly hear: (event: ServiceEvent) => void;
  readonly read: () => ServiceStatus;
} {
  const run = createRunProgress();
  const running = new Set<string>();
  return {
    hear(event) {
      run.hear(event);
      if (!('purpose' in event) || event.purpose !== 'update') return;
      if (event.kind === 'scan_started') running.add(event.runId);
      else running.delete(event.runId);
    },
    read() {
      const last = history.last();
      const underWay = run.read();
      return {
        lastRun: last && { atMs: last.timestampMs, summary: countsOf(last) },
        nextRunAtMs: scheduler.nextRunAtMs(),
        running: running.size > 0,
        repairing: isRepairing(),
        updatesAvailable: inventory().updatesAvailable,
        ...scheduler.schedule(),
        ...(underWay && { run: underWay }),
      };
    },
  };
}

function countsOf({ scanned, updated, failed, restarted, skipped }: HistoryEntry): SessionSummary {
  return { scanned, updated, failed, restarted, skipped };
}

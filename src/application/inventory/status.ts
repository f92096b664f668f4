import {
  percentOf,
  type ServiceStatus,
  type ContainerUnderWay,
  type RunUnderWay,
  type ServiceEvent,
} from '../../domain/run/event.ts';
import type { Inventory } from '../../domain/inventory.ts';
import { fleetKeyOf, type SessionSummary } from '../../domain/run/session.ts';
import type { Scheduler } from '../async/scheduler.ts';
import type { History, HistoryEntry } from '../events/history.ts';
import { defined } from '../../domain/text/plain-data.ts';

type StatusParts = {
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

/** The update run under way, from its events. */
type RunProgress = {
  readonly hear: (event: ServiceEvent) => void;
  /** Undefined when no run is under way. */
  readonly read: () => RunUnderWay | undefined;
};

export function createRunProgress(): RunProgress {
  let run: Omit<RunUnderWay, 'containers'> | undefined;
  const containers = new Map<string, ContainerUnderWay>();

  function show(event: EventOfContainer, rest: Pick<ContainerUnderWay, 'phase' | 'percent' | 'tasks'>): void {
    const { engine, container: name } = event;
    const kind = 'entryKind' in event ? event.entryKind : undefined;
    const entry = { name, ...defined({ engine, kind }) };
    containers.set(fleetKeyOf(engine, entry), { ...entry, ...rest });
  }

  function begin(event: Extract<ServiceEvent, { kind: 'scan_started' }>): void {
    const { runId, trigger, atMs: startedAtMs } = event;
    containers.clear();
    run = { runId, trigger, startedAtMs };
  }

  function end(): void {
    containers.clear();
    run = undefined;
  }

  return {
    hear(event) {
      if (event.kind === 'scan_started' && event.purpose === 'update') begin(event);
      if (run === undefined || !('runId' in event) || event.runId !== run.runId) return;
      switch (event.kind) {
        case 'update_started':
          if (event.isRollback) run = { ...run, isRollback: true };
          return show(event, { phase: 'waiting' });
        case 'phase_entered': {
          const { phase, tasks } = event;
          return show(event, { phase, ...(tasks && { tasks }) });
        }
        case 'pull_progress': {
          const percent = percentOf(event.progress);
          return show(event, { phase: 'pulling', ...(percent !== undefined && { percent }) });
        }
        case 'update_completed':
        case 'update_failed':
        case 'update_deferred':
          return void containers.delete(fleetKeyOf(event.engine, event.outcome));
        case 'scan_completed':
        case 'scan_failed':
          return end();
        default:
          return;
      }
    },
    read: () => run && { ...run, containers: [...containers.values()] },
  };
}

type EventOfContainer = Extract<ServiceEvent, { readonly container: string }>;

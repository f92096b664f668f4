import type { PullProgress, ServiceEvent } from '../../domain/run/event.ts';
import type { ContainerUnderWay, RunUnderWay } from '../../domain/run/service-status.ts';

/** Knows the update run of this moment from its events. */
export type RunWatch = {
  readonly hear: (event: ServiceEvent) => void;
  /** Undefined while no run is under way. */
  readonly read: () => RunUnderWay | undefined;
};

export function createRunWatch(): RunWatch {
  let run: Omit<RunUnderWay, 'containers'> | undefined;
  const containers = new Map<string, ContainerUnderWay>();

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
          return void containers.set(event.container, { name: event.container, phase: 'waiting' });
        case 'phase_entered': {
          const { container: name, phase, tasks } = event;
          return void containers.set(name, { name, phase, ...(tasks && { tasks }) });
        }
        case 'pull_progress': {
          const percent = percentOf(event.progress);
          const known = { name: event.container, phase: 'pulling' } as const;
          return void containers.set(event.container, percent === undefined ? known : { ...known, percent });
        }
        case 'update_completed':
        case 'update_failed':
        case 'update_deferred':
          return void containers.delete(event.outcome.name);
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

/** From 0 to 100; undefined while the size is not known. */
export function percentOf({ bytes, totalBytes }: PullProgress): number | undefined {
  return totalBytes > 0 ? Math.min(100, Math.floor((100 * bytes) / totalBytes)) : undefined;
}

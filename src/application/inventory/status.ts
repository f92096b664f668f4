import { percentOf, type ServiceStatus, type RunUnderWay, type ServiceEvent } from '../../domain/run/event.ts';
import type { Inventory } from '../../domain/inventory.ts';
import { fleetKeyOf, type SessionSummary } from '../../domain/run/session.ts';
import type { Scheduler } from '../async/scheduler.ts';
import type { History, HistoryEntry } from '../events/history.ts';
import { defined } from '../../domain/text/plain-data.ts';
import { ServiceError, type ErrorCode } from '../../domain/text/errors.ts';
import type { ReadOnlyOutside } from '../../domain/outside/outside.ts';
import { orStopped } from '../async/concurrency.ts';

type StatusParts = {
  readonly history: Pick<History, 'last'>;
  readonly scheduler: Pick<Scheduler, 'nextRunAtMs' | 'schedule'>;
  readonly inventory: () => Inventory;
  readonly isRepairing: () => boolean;
};

/** Derives from events whether an update is under way. */
export function createStatus({ history, scheduler, inventory, isRepairing }: StatusParts): {
  readonly onEvent: (event: ServiceEvent) => void;
  readonly read: () => ServiceStatus;
} {
  const run = createRunProgress();
  const running = new Set<string>();
  return {
    onEvent(event) {
      run.onEvent(event);
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
  readonly onEvent: (event: ServiceEvent) => void;
  /** Undefined when no run is under way. */
  readonly read: () => RunUnderWay | undefined;
};

export function createRunProgress(): RunProgress {
  let run: Omit<RunUnderWay, 'containers'> | undefined;
  const containers = new Map<string, RunUnderWay['containers'][number]>();

  function show(
    event: Extract<ServiceEvent, { readonly container: string }>,
    rest: Pick<RunUnderWay['containers'][number], 'phase' | 'percent' | 'tasks'>,
  ): void {
    const { engine, container: name } = event;
    const kind = 'entryKind' in event ? event.entryKind : undefined;
    const entry = { name, ...defined({ engine, kind }) };
    containers.set(fleetKeyOf(engine, entry), { ...entry, ...rest });
  }

  function begin(event: Extract<ServiceEvent, { kind: 'scan_started' }>): void {
    const { runId, trigger, by, atMs: startedAtMs } = event;
    containers.clear();
    run = { runId, trigger, ...defined({ by }), startedAtMs };
  }

  function end(): void {
    containers.clear();
    run = undefined;
  }

  return {
    onEvent(event) {
      if (event.kind === 'scan_started' && event.purpose === 'update') begin(event);
      if (run === undefined || !('runId' in event) || event.runId !== run.runId) return;
      switch (event.kind) {
        case 'update_started':
          if (event.isRollback) run = { ...run, isRollback: true };
          return show(event, { phase: 'waiting' });
        case 'phase_entered': {
          const { phase, tasks, copied } = event;
          const percent = copied && percentOf(copied);
          return show(event, { phase, ...defined({ tasks, percent }) });
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

/**
 * Pings the engine, with one request for all waiting callers, and throws the reason when it does not answer. A silent
 * engine may have been replaced, so it is pinged again every second on a new connection.
 */
export function createReadiness({
  engine,
  clock,
}: Pick<ReadOnlyOutside, 'engine' | 'clock'>): (signal?: AbortSignal) => Promise<void> {
  let asking: Promise<void> | undefined;

  async function ask(): Promise<void> {
    const answered = new AbortController();
    const late = new AbortController();
    const passed = (ms: number) => clock.sleep(ms, answered.signal).catch(() => undefined);
    const asked: Promise<void>[] = [];
    try {
      for (let waitedMs = 0; waitedMs < maxWaitMs; waitedMs += askAgainMs) {
        asked.push(engine.ping(late.signal));
        const isAnswered = await Promise.race([Promise.any(asked).then(() => true), passed(askAgainMs)]);
        if (isAnswered === true) return;
      }
      throw new ServiceError('timeout', 'Cannot reach the engine: it does not answer', {
        remedy: 'Check the load and the log of the engine',
      });
    } catch (error) {
      throw error instanceof AggregateError ? error.errors.at(-1) : error;
    } finally {
      answered.abort();
      late.abort();
      for (const each of asked) each.catch(() => undefined);
    }
  }

  return (signal) => {
    asking ??= ask().finally(() => (asking = undefined));
    return orStopped(asking, 'reach the engine', signal);
  };
}

/**
 * Whether Upkeep can work with an engine that answers: a proxy in front of it may forbid the calls that everything needs.
 * The recovery of a start shows it. A process that has not recovered, such as a health check, asks.
 */
type Usability = {
  /** Runs a recovery. Its success or failure counts from then on. */
  readonly noting: <Result>(recover: () => Promise<Result>) => Promise<Result>;
  /** Why the last recovery could not begin. Undefined after a success, and before the first. */
  readonly failure: () => ServiceError | undefined;
  /** Throws the reason why the engine cannot be used. */
  readonly prove: (signal?: AbortSignal) => Promise<void>;
};

export function createUsability({ engine }: Pick<ReadOnlyOutside, 'engine'>): Usability {
  let isKnown = false;
  let failed: ServiceError | undefined;

  return {
    async noting(recover) {
      try {
        const result = await recover();
        [isKnown, failed] = [true, undefined];
        return result;
      } catch (error) {
        if (error instanceof ServiceError && unusable.includes(error.code)) [isKnown, failed] = [true, error];
        throw error;
      }
    },
    failure: () => failed,
    async prove(signal) {
      if (failed !== undefined) throw failed;
      if (isKnown) return;
      await Promise.all([engine.info(signal), engine.listContainers({ ids: [noId] }, signal)]);
      await engine.inspectImage(noImage, signal);
    },
  };
}

const unusable: readonly ErrorCode[] = ['engine-denied', 'engine-refused'];

const noId = '0'.repeat(64);
const noImage = 'upkeep-absent:none';

/** Limit that `/readyz` documents: docs/http-api.md. */
const maxWaitMs = 5000;

const askAgainMs = 1000;

import type { SharedRecords } from '../../domain/outside/record-store.ts';
import type { EngineRun, EngineRuns } from '../../domain/fleet/engine-run.ts';
import type { ServiceEvent } from '../../domain/run/event.ts';
import { printable } from '../../domain/text/printable.ts';
import type { ContainerOutcome, SessionSummary, Trigger } from '../../domain/run/session.ts';

/** History entry of an update run; checks leave none. */
export type HistoryEntry = SessionSummary &
  EngineRuns & {
    readonly runId: string;
    readonly trigger: Trigger;
    /** When it ended, milliseconds since the epoch. */
    readonly timestampMs: number;
    readonly durationMs: number;
    /** Containers that were rolled back to their old image; they count as failed too. */
    readonly rolledBack: number;
    /** Containers with a failed update, rolled back or not: the first 20. */
    readonly failures: readonly PastFailure[];
    /** Containers with another outcome than `fresh`, without logs: the first 100. */
    readonly containers: readonly ContainerOutcome[];
  };

export type PastFailure = Pick<ContainerOutcome, 'name' | 'outcome' | 'engine'> & {
  /** At most 500 characters. */
  readonly reason: string;
};

export type History = {
  /** Reads the runs of earlier processes. Without this call the history begins with this process. */
  readonly load: () => Promise<void>;
  /** Resolves when every write has ended, successfully or not. */
  readonly settled: () => Promise<unknown>;
  readonly hear: (event: ServiceEvent) => void;
  /** The runs in the order of their ends, at most 500. */
  readonly entries: () => readonly HistoryEntry[];
  readonly last: () => HistoryEntry | undefined;
};

/** Keeps the last runs, from their events. With a store they outlive the process. */
export function createHistory(store?: SharedRecords<HistoryEntry>): History {
  const entries: HistoryEntry[] = [];
  let written: Promise<unknown> = Promise.resolve();

  function keep(entry: HistoryEntry): void {
    entries.push(entry);
    if (entries.length > mostEntries) entries.shift();
    if (store !== undefined) written = Promise.all([written, store.append([entry])]);
  }

  return {
    async load() {
      if (store === undefined) return;
      const read = await store.read();
      const known = new Set(entries.map(({ runId }) => runId));
      const earlier = read.filter(({ runId }) => !known.has(runId));
      entries.unshift(...earlier.slice(-mostEntries));
      entries.splice(0, entries.length - mostEntries);
    },
    settled: () => written,
    hear(event) {
      if (event.kind !== 'scan_completed' || event.session === undefined) return;
      const { runId, scanned, updated, failed, restarted, skipped, atMs, session } = event;
      const { trigger, durationMs, containers, engines } = session;
      const rolledBack = containers.filter(({ outcome }) => outcome === 'rolled_back').length;
      const counts = { scanned, updated, failed, restarted, skipped };
      keep({
        runId,
        trigger,
        timestampMs: atMs,
        durationMs,
        ...counts,
        rolledBack,
        failures: failuresIn(containers),
        containers: newsIn(containers),
        ...(engines && { engines: engines.map(bounded) }),
      });
    },
    entries: () => [...entries],
    last: () => entries.at(-1),
  };
}

function newsIn(containers: readonly ContainerOutcome[]): readonly ContainerOutcome[] {
  return containers
    .filter(({ outcome }) => outcome !== 'fresh')
    .slice(0, mostContainers)
    .map(({ log: _, ...outcome }) => ({ ...outcome, reason: printable(outcome.reason, longestReason) }));
}

function bounded({ error, ...run }: EngineRun): EngineRun {
  return { ...run, ...(error !== undefined && { error: printable(error, longestReason) }) };
}

const mostContainers = 100;
const mostFailures = 20;
const longestReason = 500;

function failuresIn(containers: readonly ContainerOutcome[]): readonly PastFailure[] {
  return containers
    .filter(({ outcome }) => outcome === 'failed' || outcome === 'rolled_back')
    .slice(0, mostFailures)
    .map(({ name, engine, outcome, reason }) => ({
      name,
      ...(engine !== undefined && { engine }),
      outcome,
      reason: printable(reason, longestReason),
    }));
}

/** Limit that docs/http-api.md documents. */
const mostEntries = 500;

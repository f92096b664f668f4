import type { SharedRecords, Clock } from '../../domain/outside/outside.ts';
import {
  outcomeKinds,
  triggers,
  engineRunResults,
  type EngineRun,
  type EngineRuns,
  type ContainerOutcome,
  type Session,
  type SessionSummary,
} from '../../domain/run/session.ts';
import type { ServiceEvent } from '../../domain/run/event.ts';
import { printable } from '../../domain/text/printable.ts';
import { isJsonObject } from '../../domain/text/json.ts';

/** History entry of an update run; checks leave none. */
export type HistoryEntry = SessionSummary &
  EngineRuns &
  Pick<Session, 'trigger' | 'by'> & {
    readonly runId: string;
    /** When it ended, milliseconds since the epoch. */
    readonly timestampMs: number;
    readonly durationMs: number;
    /** Containers that were rolled back to their old image; they count as failed too. */
    readonly rolledBack: number;
    /** Containers with a failed update, rolled back or not: the first 20. */
    readonly failures: readonly PastFailure[];
    /** Containers with another outcome than `fresh`: the first 100. The first 20 have the end of their logs. */
    readonly containers: readonly ContainerOutcome[];
  };

type PastFailure = Pick<ContainerOutcome, 'name' | 'outcome' | 'engine'> & {
  /** At most 500 characters. */
  readonly reason: string;
};

export type History = {
  /** Reads the runs of earlier processes. Without this call the history begins with this process. */
  readonly load: () => Promise<void>;
  /** Reads the runs that other processes have ended since. */
  readonly refresh: () => Promise<void>;
  /** Repeats `refresh` until the signal aborts; ends at once without a store. */
  readonly follow: (clock: Pick<Clock, 'sleep'>, signal: AbortSignal) => Promise<void>;
  /** Resolves when every write has ended, successfully or not. */
  readonly flush: () => Promise<unknown>;
  readonly onEvent: (event: ServiceEvent) => void;
  /** The runs in the order of their ends, at most 500. */
  readonly entries: () => readonly HistoryEntry[];
  readonly last: () => HistoryEntry | undefined;
};

/**
 * Keeps the last runs, from their events. With a store they outlive the process, and runs of other processes with the
 * same store belong to them. `onOther` is called for each run of another process; `isEarlier`: it ended before `load`.
 */
export function createHistory(
  store?: SharedRecords<HistoryEntry>,
  onOther: (run: HistoryEntry, isEarlier: boolean) => void = () => {},
): History {
  let entries: readonly HistoryEntry[] = [];
  let written: Promise<unknown> = Promise.resolve();
  let lastRead: readonly HistoryEntry[] = [];

  function keep(entry: HistoryEntry): void {
    entries = [...entries, entry].slice(-maxEntries);
    if (store !== undefined) written = Promise.all([written, store.append([entry])]);
  }

  async function readOthers(isEarlier: boolean): Promise<void> {
    if (store === undefined) return;
    const read = await store.read();
    if (read === lastRead) return;
    lastRead = read;
    const known = new Set(entries.map(({ runId }) => runId));
    const others = read.slice(-maxEntries).filter(({ runId }) => !known.has(runId));
    const all = [...others, ...entries].toSorted((one, other) => one.timestampMs - other.timestampMs);
    entries = all.slice(-maxEntries);
    for (const run of others) onOther(run, isEarlier);
  }

  return {
    load: () => readOthers(true),
    refresh: () => readOthers(false),
    async follow(clock, signal) {
      if (store === undefined) return;
      while (!signal.aborted) {
        await clock.sleep(readAgainMs, signal).catch(() => undefined);
        if (!signal.aborted) await readOthers(false);
      }
    },
    flush: () => written,
    onEvent(event) {
      if (event.kind !== 'scan_completed' || event.session === undefined) return;
      const { runId, scanned, updated, failed, restarted, skipped, atMs, session } = event;
      const { trigger, by, durationMs, containers, engines } = session;
      const rolledBack = containers.filter(({ outcome }) => outcome === 'rolled_back').length;
      const counts = { scanned, updated, failed, restarted, skipped };
      keep({
        runId,
        trigger,
        ...(by !== undefined && { by: printable(by, maxBy) }),
        timestampMs: atMs,
        durationMs,
        ...counts,
        rolledBack,
        failures: failuresIn(containers),
        containers: newsIn(containers),
        ...(engines && { engines: engines.map(bounded) }),
      });
    },
    entries: () => entries,
    last: () => entries.at(-1),
  };
}

function newsIn(containers: readonly ContainerOutcome[]): readonly ContainerOutcome[] {
  return containers
    .filter(({ outcome }) => outcome !== 'fresh')
    .slice(0, maxContainers)
    .map(({ log, ...outcome }, at) => ({
      ...outcome,
      reason: printable(outcome.reason, maxReason),
      ...(log !== undefined && at < maxFailures && { log: endOf(log) }),
    }));
}

function bounded({ error, ...run }: EngineRun): EngineRun {
  return { ...run, ...(error !== undefined && { error: printable(error, maxReason) }) };
}

/** At most 20 lines and 2,000 characters. */
function endOf(log: string): string {
  return log.trimEnd().split('\n').slice(-20).join('\n').slice(-2000);
}

const maxBy = 200;
const maxContainers = 100;
const maxFailures = 20;
const maxReason = 500;

function failuresIn(containers: readonly ContainerOutcome[]): readonly PastFailure[] {
  return containers
    .filter(({ outcome }) => outcome === 'failed' || outcome === 'rolled_back')
    .slice(0, maxFailures)
    .map(({ name, engine, outcome, reason }) => ({
      name,
      ...(engine !== undefined && { engine }),
      outcome,
      reason: printable(reason, maxReason),
    }));
}

/** Limit that docs/http-api.md documents. */
const maxEntries = 500;

/** Reading a shared file again costs one look at its size and time. */
const readAgainMs = 1000;

/** The events of a run of another process, for listeners that have heard none of it. */
export function eventsOf(run: HistoryEntry): readonly ServiceEvent[] {
  const { runId, trigger, by, timestampMs: atMs, durationMs, containers, engines } = run;
  const { scanned, updated, failed, restarted, skipped } = run;
  const startedAtMs = atMs - durationMs;
  const begun = { runId, purpose: 'update' } as const;
  const origin = { trigger, ...(by !== undefined && { by }) };
  const session = { runId, ...origin, startedAtMs, durationMs, containers, ...(engines && { engines }) };
  return [
    { kind: 'scan_started', ...begun, ...origin, atMs: startedAtMs },
    ...containers.flatMap((outcome): readonly ServiceEvent[] => {
      const kind = eventOfOutcome[outcome.outcome];
      return kind === undefined ? [] : [{ kind, runId, outcome, atMs }];
    }),
    { kind: 'scan_completed', ...begun, scanned, updated, failed, restarted, skipped, session, atMs },
  ];
}

const eventOfOutcome: Readonly<Partial<Record<ContainerOutcome['outcome'], 'update_completed' | 'update_failed'>>> = {
  updated: 'update_completed',
  went_back: 'update_completed',
  failed: 'update_failed',
  rolled_back: 'update_failed',
};

/** The entries of the last 90 days, at most the newest 10,000, oldest first. The file keeps only these. */
export function compactHistory(entries: readonly HistoryEntry[], nowMs: number): readonly HistoryEntry[] {
  return entries.filter(({ timestampMs }) => timestampMs > nowMs - maxAgeMs).slice(-maxKept);
}

const maxAgeMs = 90 * 86_400_000;
const maxKept = 10_000;

/** Reads an entry of the file. Undefined for any other value. */
export function readHistoryEntry(value: unknown): HistoryEntry | undefined {
  if (!isJsonObject(value)) return undefined;
  const { runId, timestampMs, durationMs, scanned, updated, failed, restarted, skipped, rolledBack } = value;
  const trigger = triggers.find((each) => each === value['trigger']);
  const { by, failures, containers, engines } = value;
  if (trigger === undefined || typeof runId !== 'string' || !isTime(timestampMs) || !isCount(durationMs))
    return undefined;
  if (!isCount(scanned) || !isCount(updated) || !isCount(failed) || !isCount(restarted)) return undefined;
  if (!isCount(skipped) || !isCount(rolledBack)) return undefined;
  if (by !== undefined && typeof by !== 'string') return undefined;
  if (!isListOf(failures, isFailure) || !isListOf(containers, isOutcome)) return undefined;
  if (engines !== undefined && !isListOf(engines, isEngineRun)) return undefined;
  const counts = { scanned, updated, failed, restarted, skipped };
  return {
    runId,
    trigger,
    ...(by !== undefined && { by }),
    timestampMs,
    durationMs,
    ...counts,
    rolledBack,
    failures,
    containers,
    ...(engines && { engines }),
  };
}

function isFailure(value: unknown): value is PastFailure {
  return (
    isJsonObject(value) && outcomeKinds.some((kind) => kind === value['outcome']) && hasTexts(value, ['name', 'reason'])
  );
}

function isOutcome(value: unknown): value is ContainerOutcome {
  if (!isFailure(value) || ('log' in value && !hasTexts(value, ['log']))) return false;
  return hasTexts(value, ['image', 'oldImageId', 'newImageId', 'oldDigest', 'newDigest']);
}

function isEngineRun(value: unknown): value is EngineRun {
  if (!isJsonObject(value) || !hasTexts(value, ['name']) || !engineRunResults.some((one) => one === value['result']))
    return false;
  return isCount(value['durationMs']) && (value['error'] === undefined || hasTexts(value, ['error']));
}

function hasTexts(value: object, names: readonly string[]): boolean {
  const texts = new Map(Object.entries(value));
  return names.every((name) => typeof texts.get(name) === 'string');
}

function isListOf<Item>(value: unknown, isItem: (item: unknown) => item is Item): value is readonly Item[] {
  return Array.isArray(value) && value.every(isItem);
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0;
}

/** Durations are not always whole milliseconds. */
function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

import type { SharedRecords, Clock, Log, Outside } from '../../domain/outside/outside.ts';
import {
  outcomeKinds,
  triggers,
  engineRunResults,
  summarise,
  type EngineRun,
  type EngineRuns,
  type ContainerOutcome,
  type Session,
  type SessionSummary,
  type Trigger,
} from '../../domain/run/session.ts';
import type { ServiceEvent, ScanPurpose } from '../../domain/run/event.ts';
import { printable } from '../../domain/text/printable.ts';
import { isJsonObject } from '../../domain/text/json.ts';
import { describeError } from '../../domain/text/errors.ts';

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

/** An event in the history, without the large fields that only its run needs. */
type LoggedEvent = {
  readonly kind: TimedEvent['kind'];
  /** Starts at 1 and grows by one. */
  readonly id: number;
  readonly event: TimedEvent;
};

/** Events with a time; the history keeps them. The others are intermediate steps. */
type TimedEvent = Extract<ServiceEvent, { readonly atMs: number }>;

/** Steps between the events with a time, for listeners that follow a run live. They are published once and not kept. */
type StepEvent = Extract<ServiceEvent, { kind: 'phase_entered' | 'pull_progress' | 'container_checked' }>;

export type EventLog = {
  /** Kept events after the event with this id, oldest first. */
  readonly since: (id: number) => readonly LoggedEvent[];
  /** 0 before the first event. */
  readonly lastId: () => number;
  /** A listener must not block. One that throws is logged and stays subscribed. */
  readonly subscribe: Listen<LoggedEvent>;
  /** Subscribes to steps. Both kinds of listeners are called in the order of the events. */
  readonly subscribeToSteps: Listen<StepEvent>;
};

/** Numbers the events that it receives, and keeps the newest. */
export function createEventLog(
  log: Log,
  maxEvents = defaultMostEvents,
): EventLog & { readonly onEvent: (event: ServiceEvent) => void } {
  const { publish, subscribe } = createPublisher<LoggedEvent>(log);
  const steps = createPublisher<StepEvent>(log);
  const kept: LoggedEvent[] = [];
  let lastId = 0;

  return {
    onEvent(event) {
      if (isStep(event)) return steps.publish(event);
      if (!('atMs' in event)) return;
      lastId += 1;
      const logged = { kind: event.kind, id: lastId, event: withoutBulk(event) };
      kept.push(logged);
      if (kept.length > maxEvents) kept.shift();
      publish(logged);
    },
    since: (id) => kept.slice(Math.max(0, id - (lastId - kept.length))),
    lastId: () => lastId,
    subscribe,
    subscribeToSteps: steps.subscribe,
  };
}

function isStep(event: ServiceEvent): event is StepEvent {
  return event.kind === 'phase_entered' || event.kind === 'pull_progress' || event.kind === 'container_checked';
}

/** Enough for updates of three hundred containers; less than a megabyte without sessions and logs. */
const defaultMostEvents = 1000;

function withoutBulk(event: TimedEvent): TimedEvent {
  switch (event.kind) {
    case 'scan_completed':
      return { ...event, session: undefined };
    case 'update_completed':
    case 'update_failed':
    case 'update_deferred':
      return { ...event, outcome: withoutLog(event.outcome) };
    default:
      return event;
  }
}

function withoutLog(outcome: ContainerOutcome): ContainerOutcome {
  const { log, ...rest } = outcome;
  return log === undefined ? outcome : rest;
}

type Listener<Event> = (event: Event) => void;

/** Returns a function that unsubscribes. */
type Listen<Event> = (listener: Listener<Event>) => () => void;

type Publisher<Event> = {
  readonly publish: (event: Event) => void;
  readonly subscribe: Listen<Event>;
};

/**
 * Calls every listener for every event, in order and synchronously. A listener that throws is logged and stays
 * subscribed.
 */
export function createPublisher<Event extends { readonly kind: string }>(log: Log): Publisher<Event> {
  const listeners = new Set<{ readonly listener: Listener<Event> }>();
  return {
    publish(event) {
      for (const { listener } of listeners) {
        try {
          listener(event);
        } catch (error) {
          log.error('A listener of events failed', { event: event.kind, error: describeError(error) });
        }
      }
    },
    subscribe(listener) {
      const entry = { listener };
      listeners.add(entry);
      return () => void listeners.delete(entry);
    },
  };
}

/** The events of a run, on one engine or on several with one id. */
export type AnnouncedRun = {
  readonly runId: string;
  readonly trigger: Trigger;
  /** Publishes the begin of the run, once. */
  readonly begin: () => void;
  /** Publishes the failure of the run, and returns it. */
  readonly fail: (error: unknown) => unknown;
  /** Publishes the end of a run that changes containers, and returns its session. */
  readonly end: (reached: Pick<Session, 'containers' | 'engines'>) => Session;
  /** Publishes the end of a check. */
  readonly endCheck: (containers: readonly { readonly error?: unknown }[]) => void;
  readonly times: () => { readonly startedAtMs: number; readonly durationMs: number };
};

/** The run begins now; the events follow when its parts know that they are not busy. */
export function announceRun(
  { clock, newId, publish }: Pick<Outside, 'clock' | 'newId' | 'publish'>,
  purpose: ScanPurpose,
  { trigger = 'command', by }: Partial<Pick<Session, 'trigger' | 'by'>>,
  runId = newId(),
): AnnouncedRun {
  const [startedAtMs, beganMs] = [clock.nowMs(), clock.monotonicMs()];
  let hasBegun = false;

  function begin(): void {
    if (hasBegun) return;
    hasBegun = true;
    publish({ kind: 'scan_started', runId, purpose, trigger, ...(by !== undefined && { by }), atMs: startedAtMs });
  }

  function fail(error: unknown): unknown {
    begin();
    publish({ kind: 'scan_failed', runId, purpose, error: describeError(error), atMs: clock.nowMs() });
    return error;
  }

  const times = () => ({ startedAtMs, durationMs: clock.monotonicMs() - beganMs });

  function end(reached: Pick<Session, 'containers' | 'engines'>): Session {
    begin();
    const session: Session = { runId, trigger, ...(by !== undefined && { by }), ...times(), ...reached };
    const wentBack = reached.containers.filter(({ outcome }) => outcome === 'went_back').length;
    const counts = { ...summarise(session), ...(wentBack > 0 && { wentBack }) };
    publish({ kind: 'scan_completed', runId, purpose, ...counts, session, atMs: clock.nowMs() });
    return session;
  }

  function endCheck(containers: readonly { readonly error?: unknown }[]): void {
    const failed = containers.filter(({ error }) => error !== undefined).length;
    const counts = { scanned: containers.length, updated: 0, failed, restarted: 0, skipped: 0 };
    publish({ kind: 'scan_completed', runId, purpose, ...counts, session: undefined, atMs: clock.nowMs() });
  }

  return { runId, trigger, begin, fail, end, endCheck, times };
}

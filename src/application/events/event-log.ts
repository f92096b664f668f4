import type { ServiceEvent, ScanPurpose } from '../../domain/run/event.ts';
import type { Log, Outside } from '../../domain/outside/outside.ts';
import { summarise, type ContainerOutcome, type Session, type Trigger } from '../../domain/run/session.ts';
import { describeError } from '../../domain/text/errors.ts';

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

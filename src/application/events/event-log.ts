import type { ServiceEvent } from '../../domain/run/event.ts';
import type { Log } from '../../domain/outside/outside.ts';
import type { ContainerOutcome } from '../../domain/run/session.ts';
import { createPublisher, type Listen } from './publisher.ts';

/** An event in the history, without the large fields that only its run needs. */
export type LoggedEvent = {
  readonly kind: TimedEvent['kind'];
  /** Starts at 1 and grows by one. */
  readonly id: number;
  readonly event: TimedEvent;
};

/** Events with a time; the history keeps them. The others are intermediate steps. */
export type TimedEvent = Extract<ServiceEvent, { readonly atMs: number }>;

/** Steps between the events with a time, for listeners that follow a run live. They are published once and not kept. */
export type StepEvent = Extract<ServiceEvent, { kind: 'phase_entered' | 'pull_progress' | 'container_checked' }>;

export type EventLog = {
  /** Kept events after the event with this id, oldest first. */
  readonly since: (id: number) => readonly LoggedEvent[];
  /** A listener must not block. One that throws is logged and stays subscribed. */
  readonly subscribe: Listen<LoggedEvent>;
  /** Subscribes to steps. Both kinds of listeners are called in the order of the events. */
  readonly subscribeToSteps: Listen<StepEvent>;
};

/** Numbers the events that it receives, and keeps the newest. */
export function createEventLog(
  log: Log,
  mostEvents = defaultMostEvents,
): EventLog & { readonly hear: (event: ServiceEvent) => void } {
  const { publish, subscribe } = createPublisher<LoggedEvent>(log);
  const steps = createPublisher<StepEvent>(log);
  const kept: LoggedEvent[] = [];
  let lastId = 0;

  return {
    hear(event) {
      if (isStep(event)) return steps.publish(event);
      if (!('atMs' in event)) return;
      lastId += 1;
      const logged = { kind: event.kind, id: lastId, event: withoutBulk(event) };
      kept.push(logged);
      if (kept.length > mostEvents) kept.shift();
      publish(logged);
    },
    since: (id) => kept.slice(Math.max(0, id - (lastId - kept.length))),
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

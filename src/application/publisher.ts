import { describeError } from '../domain/errors.ts';
import type { ServiceEvent } from '../domain/event.ts';
import type { Log, Outside } from '../domain/outside.ts';

export type Listener = (event: ServiceEvent) => void;

export type Publisher = {
  readonly publish: Outside['publish'];
  /** Returns the way to stop listening. */
  readonly subscribe: (listener: Listener) => () => void;
};

/** Tells every listener of every event, in order, at once; one that throws is logged and kept. */
export function createPublisher(log: Log): Publisher {
  const listeners = new Set<{ readonly listener: Listener }>();
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

import { describeError } from '../../domain/text/errors.ts';
import type { Log } from '../../domain/outside/outside.ts';

export type Listener<Event> = (event: Event) => void;

/** Returns a function that unsubscribes. */
export type Listen<Event> = (listener: Listener<Event>) => () => void;

export type Publisher<Event> = {
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

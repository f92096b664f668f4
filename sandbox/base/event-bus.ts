import type { EngineEvent } from '../../src/domain/outside/engine-reader.ts';

/** The engine's event stream, for any number of listeners. */
export type EventBus = {
  readonly emit: (event: EngineEvent) => void;
  /** Begins with `connected`; ends when the signal aborts. */
  readonly listen: (signal: AbortSignal, onBreak?: () => void) => AsyncIterable<EngineEvent>;
  /** Breaks the connections of all listeners. */
  readonly breakAll: () => void;
};

export function createEventBus(): EventBus {
  const listeners = new Set<(event: EngineEvent) => void>();
  const breaks = new Set<() => void>();
  return {
    emit: (event) => {
      for (const listener of listeners) listener(event);
    },
    listen: (signal, onBreak = () => {}) => {
      breaks.add(onBreak);
      signal.addEventListener('abort', () => breaks.delete(onBreak), { once: true });
      return { [Symbol.asyncIterator]: () => iterate(listeners, signal) };
    },
    breakAll: () => {
      for (const onBreak of breaks) onBreak();
    },
  };
}

/**
 * Longest queue of a listener. A slower listener loses its queue and gets `connected` again, as after a broken
 * connection.
 */
const longestQueue = 10_000;

async function* iterate(
  listeners: Set<(event: EngineEvent) => void>,
  signal: AbortSignal,
): AsyncGenerator<EngineEvent> {
  let queue: EngineEvent[] = [{ kind: 'connected' }];
  let wake = () => {};
  const listener = (event: EngineEvent) => {
    if (queue.length >= longestQueue) queue = [{ kind: 'connected' }];
    queue.push(event);
    wake();
  };
  const onAbort = () => wake();
  listeners.add(listener);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    while (!signal.aborted) {
      const event = queue.shift();
      if (event !== undefined) yield event;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    listeners.delete(listener);
    signal.removeEventListener('abort', onAbort);
  }
}

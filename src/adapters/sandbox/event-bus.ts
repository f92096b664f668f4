import type { EngineEvent } from '../../domain/outside.ts';

/** The engine's event stream, for any number of listeners. */
export type EventBus = {
  readonly emit: (event: EngineEvent) => void;
  /** Begins with `connected`; ends when the signal aborts. */
  readonly listen: (signal: AbortSignal) => AsyncIterable<EngineEvent>;
};

export function createEventBus(): EventBus {
  const listeners = new Set<(event: EngineEvent) => void>();
  return {
    emit: (event) => {
      for (const listener of listeners) listener(event);
    },
    listen: (signal) => ({ [Symbol.asyncIterator]: () => iterate(listeners, signal) }),
  };
}

/**
 * A listener that does not keep up loses what waits and is told `connected` again, which says that
 * anything may have happened.
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

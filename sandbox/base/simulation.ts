import type { EngineEvent } from '../../src/domain/outside/engine.ts';
import type { Clock } from '../../src/domain/outside/outside.ts';
import { createHash } from 'node:crypto';
import type { Digest } from '../../src/domain/image/image-reference.ts';

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
const maxQueue = 10_000;

async function* iterate(
  listeners: Set<(event: EngineEvent) => void>,
  signal: AbortSignal,
): AsyncGenerator<EngineEvent> {
  let queue: EngineEvent[] = [{ kind: 'connected' }];
  let wake = () => {};
  const listener = (event: EngineEvent) => {
    if (queue.length >= maxQueue) queue = [{ kind: 'connected' }];
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

/** Scheduled actions, which can be cancelled. */
export type Timers = {
  /** Returns a function that cancels the action. */
  readonly in: (ms: number, act: () => void) => () => void;
  readonly callOffAll: () => void;
};

export function createTimers(clock: Clock): Timers {
  const pending = new Set<AbortController>();

  function schedule(ms: number, act: () => void): () => void {
    const abort = new AbortController();
    pending.add(abort);
    clock.sleep(ms, abort.signal).then(
      () => {
        if (pending.delete(abort)) act();
      },
      () => pending.delete(abort),
    );
    return () => {
      if (pending.delete(abort)) abort.abort();
    };
  }

  return {
    in: schedule,
    callOffAll: () => {
      for (const abort of pending) abort.abort();
      pending.clear();
    },
  };
}

/** Makes ids that look random and are the same in every run. */
export type IdSource = (kind: string) => string;

export function createIdSource(seed: string): IdSource {
  let count = 0;
  return (kind) => hex(`${seed}/${kind}/${count++}`);
}

/** Digest of the data's content, the same for every caller. */
export function digestOf(data: unknown): Digest {
  return `sha256:${hex(JSON.stringify(data))}`;
}

function hex(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** An error of the engine: a status of its API, and its message. Nothing has changed. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

import type { EngineEvent, EngineReader } from '../../domain/outside/engine-reader.ts';

/**
 * The same engine, with one event stream for all who listen at a time. The stream is opened for the first
 * of them and closed after the last. A late listener hears `connected` first, as from a stream of its own.
 */
export function shareEvents<Reader extends Pick<EngineReader, 'events'>>(engine: Reader): Reader {
  const listeners = new Set<Listener>();
  let isConnected = false;
  let stream: AbortController | undefined;

  async function pump(opened: AbortController): Promise<void> {
    const onBreak = () => {
      if (stream !== opened) return;
      isConnected = false;
      for (const listener of listeners) listener.onBreak?.();
    };
    let failure: unknown;
    try {
      for await (const event of engine.events(opened.signal, onBreak)) {
        if (stream !== opened) return;
        isConnected ||= event.kind === 'connected';
        for (const listener of listeners) listener.hear(event);
      }
    } catch (error) {
      failure = error;
    }
    if (stream !== opened) return;
    [stream, isConnected] = [undefined, false];
    for (const listener of listeners) listener.end(failure);
  }

  async function* events(signal: AbortSignal, onBreak?: () => void): AsyncIterable<EngineEvent> {
    if (signal.aborted) return;
    const listener = createListener(onBreak);
    listeners.add(listener);
    signal.addEventListener('abort', listener.end);
    if (isConnected) listener.hear({ kind: 'connected' });
    if (stream === undefined) void pump((stream = new AbortController()));
    try {
      for (let taken = await listener.take(); taken !== 'end'; taken = await listener.take()) yield* taken;
    } finally {
      signal.removeEventListener('abort', listener.end);
      listeners.delete(listener);
      if (listeners.size === 0) {
        stream?.abort();
        [stream, isConnected] = [undefined, false];
      }
    }
  }

  return { ...engine, events };
}

type Listener = {
  readonly hear: (event: EngineEvent) => void;
  readonly onBreak: (() => void) | undefined;
  /** With an error, `take` throws it; an abort event is none. */
  readonly end: (failure?: unknown) => void;
  /** The events since the last call, at least one; `end` after the last. */
  readonly take: () => Promise<readonly EngineEvent[] | 'end'>;
};

function createListener(onBreak: (() => void) | undefined): Listener {
  let heard: EngineEvent[] = [];
  let ended: { readonly failure: Error | undefined } | undefined;
  let wake = () => {};
  return {
    onBreak,
    hear(event) {
      // A listener that falls behind is told that it has missed something, as after a reconnect.
      if (heard.length >= mostWaiting) heard = [{ kind: 'connected' }];
      heard.push(event);
      wake();
    },
    end(failure) {
      ended ??= { failure: failure instanceof Error ? failure : undefined };
      wake();
    },
    async take() {
      if (heard.length === 0 && ended === undefined) await new Promise<void>((resolve) => (wake = resolve));
      if (ended?.failure !== undefined) throw ended.failure;
      if (ended !== undefined) return 'end';
      const taken = heard;
      heard = [];
      return taken;
    },
  };
}

/** A burst of a thousand containers that start, with all their events. */
const mostWaiting = 10_000;

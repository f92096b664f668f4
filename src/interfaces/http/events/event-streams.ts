import type { ServerResponse } from 'node:http';
import type { Clock, Log } from '../../../domain/outside/outside.ts';
import { frameOf, numberOf, stepFrameOf } from './event-frame.ts';
import type { EventLog, HttpLimits, RunOptions } from '../service/parts.ts';
import { createPullThrottle } from './pull-throttle.ts';

/** The open streams of events. */
export type EventStreams = {
  readonly hasRoom: () => boolean;
  /** Sends the events after the id, if one is given, then all new ones. With `extra` also the steps. */
  readonly open: (response: ServerResponse, options: StreamOptions) => void;
  readonly count: () => number;
  /** Ends all streams and accepts no more. */
  readonly close: () => void;
};

export type StreamOptions = { readonly lastEventId: string | undefined; readonly extra: boolean };

export type EventStreamsParts = {
  readonly eventLog: EventLog;
  readonly runOptions: RunOptions;
  readonly limits: Pick<HttpLimits, 'mostStreams' | 'streamBufferBytes' | 'heartbeatMs'>;
  readonly clock: Pick<Clock, 'nowMs' | 'monotonicMs'>;
  readonly log: Log;
  /** Letters and digits, unique to this process. */
  readonly epoch: string;
};

/**
 * Publishing only adds to a queue. The queue is written to the streams later, in batches. A reader that is too slow for
 * its buffer is disconnected, and resumes by the id of its last event.
 */
export function createEventStreams(parts: EventStreamsParts): EventStreams {
  const { eventLog, runOptions, limits, clock, log, epoch } = parts;
  const streams = new Set<Stream>();
  const { isDue } = createPullThrottle(clock);
  let pending: Frame[] = [];
  let lastPlace = 0;
  let isPumping = false;
  let isClosed = false;

  const unsubscribe = eventLog.subscribe((logged) =>
    put({ extra: false, text: () => frameOf(logged, epoch, runOptions) ?? '' }),
  );
  const unsubscribeFromSteps = eventLog.subscribeToSteps((step) => {
    if (![...streams].some(({ extra }) => extra) || !isDue(step)) return;
    const atMs = clock.nowMs();
    put({ extra: true, text: () => stepFrameOf(step, atMs) });
  });
  const heartbeat = setInterval(() => void writeToAll(() => ': still here\n\n'), limits.heartbeatMs);
  heartbeat.unref();

  function put(frame: Omit<Frame, 'place'>): void {
    pending.push({ ...frame, place: (lastPlace += 1) });
    if (!isPumping) void flushPending();
  }

  async function flushPending(): Promise<void> {
    isPumping = true;
    await nextTick();
    // `close` empties the set of streams.
    while (pending.length > 0) {
      const frames = pending.map(({ place, extra, text }) => ({ place, extra, text: text() }));
      pending = [];
      const first = frames[0]?.place ?? 0;
      const last = frames.at(-1)?.place ?? 0;
      const whole = { extra: Buffer.from(textFor(0, true, frames)), plain: Buffer.from(textFor(0, false, frames)) };
      await writeToAll((stream) => {
        const { extra, lastPlace: known } = stream;
        stream.lastPlace = Math.max(known, last);
        return known < first ? whole[extra ? 'extra' : 'plain'] : textFor(known, extra, frames);
      });
    }
    isPumping = false;
  }

  async function writeToAll(chunkFor: (stream: Stream) => string | Buffer): Promise<void> {
    let written = 0;
    for (const stream of streams) {
      write(stream, chunkFor(stream));
      written += 1;
      if (written % streamsAtOnce === 0) await nextTick();
    }
  }

  function write({ response }: Stream, chunk: string | Buffer): void {
    if (chunk.length === 0 || response.destroyed) return;
    response.write(chunk);
    if (response.writableLength <= limits.streamBufferBytes) return;
    log.warn('A reader of events is too slow and is disconnected', { buffered_bytes: response.writableLength });
    response.destroy();
  }

  return {
    hasRoom: () => !isClosed && streams.size < limits.mostStreams,
    open(response, { lastEventId, extra }) {
      const stream: Stream = { response, extra, lastPlace };
      streams.add(stream);
      response.once('close', () => streams.delete(stream));
      response.on('error', () => undefined);
      // The buffer limit does not apply yet: the missed events may exceed it.
      response.write(`retry: 5000\n\n${missedSince(lastEventId)}`);
    },
    count: () => streams.size,
    close() {
      isClosed = true;
      unsubscribe();
      unsubscribeFromSteps();
      clearInterval(heartbeat);
      for (const { response } of streams) response.end();
      streams.clear();
    },
  };

  function missedSince(lastEventId: string | undefined): string {
    const number = numberOf(lastEventId, epoch);
    if (number === undefined) return '';
    return eventLog
      .since(number)
      .map((logged) => frameOf(logged, epoch, runOptions) ?? '')
      .join('');
  }
}

type Stream = {
  readonly response: ServerResponse;
  /** Whether it also gets the steps. */
  readonly extra: boolean;
  /** Place of the last event sent to it, or published before it connected. */ lastPlace: number;
};

type Frame = {
  /** Starts at 1 and grows by one. */
  readonly place: number;
  readonly extra: boolean;
  readonly text: () => string;
};

/** About 5 ms of writing. */
const streamsAtOnce = 500;

type WrittenFrame = Pick<Frame, 'place' | 'extra'> & { readonly text: string };

function textFor(place: number, extra: boolean, frames: readonly WrittenFrame[]): string {
  return frames
    .filter((frame) => frame.place > place && (extra || !frame.extra))
    .map(({ text }) => text)
    .join('');
}

function nextTick(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

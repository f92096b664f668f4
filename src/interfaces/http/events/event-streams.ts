import type { ServerResponse } from 'node:http';
import type { Log } from '../../../domain/outside/outside.ts';
import { frameOf, numberOf } from './event-frame.ts';
import type { HttpLimits, RunOptions } from '../service/parts.ts';
import type { EventLog, LoggedEvent } from '../service/service.ts';

/** The open streams of events. */
export type EventStreams = {
  readonly hasRoom: () => boolean;
  /** Sends what came after the id, if there is one, and from then on everything. */
  readonly open: (response: ServerResponse, lastEventId: string | undefined) => void;
  readonly count: () => number;
  /** Ends them all, and takes no more. */
  readonly close: () => void;
};

export type EventStreamsParts = {
  readonly eventLog: EventLog;
  readonly runOptions: RunOptions;
  readonly limits: Pick<HttpLimits, 'mostStreams' | 'streamBufferBytes' | 'heartbeatMs'>;
  readonly log: Log;
  /** Letters and digits that no other process has had. */
  readonly epoch: string;
};

/**
 * Publishing costs the publisher one push: what has been published is written to the streams later, a
 * batch of them at a time. A reader too slow for its buffer is disconnected, and resumes by the id of
 * the last event that it has.
 */
export function createEventStreams({ eventLog, runOptions, limits, log, epoch }: EventStreamsParts): EventStreams {
  const streams = new Set<Stream>();
  let pending: LoggedEvent[] = [];
  let isPumping = false;
  let isClosed = false;

  const unsubscribe = eventLog.subscribe((logged) => {
    pending.push(logged);
    if (!isPumping) void pump();
  });
  const heartbeat = setInterval(() => void writeToAll(() => ': still here\n\n'), limits.heartbeatMs);
  heartbeat.unref();

  async function pump(): Promise<void> {
    isPumping = true;
    await nextTurn();
    // Closing empties the set of those to be written to.
    while (pending.length > 0) {
      const events = pending;
      pending = [];
      const frames = events.map((logged) => ({ id: logged.id, text: frameOf(logged, epoch, runOptions) ?? '' }));
      const lastId = frames.at(-1)?.id ?? 0;
      const all = Buffer.from(textAfter(0, frames));
      const first = frames[0]?.id ?? 0;
      await writeToAll((stream) => {
        const chunk = stream.lastId < first ? all : textAfter(stream.lastId, frames);
        stream.lastId = Math.max(stream.lastId, lastId);
        return chunk;
      });
    }
    isPumping = false;
  }

  async function writeToAll(chunkFor: (stream: Stream) => string | Buffer): Promise<void> {
    let written = 0;
    for (const stream of streams) {
      write(stream, chunkFor(stream));
      written += 1;
      if (written % streamsAtOnce === 0) await nextTurn();
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
    open(response, lastEventId) {
      const stream: Stream = { response, lastId: eventLog.lastId() };
      streams.add(stream);
      response.once('close', () => streams.delete(stream));
      response.on('error', () => undefined);
      // The bound is for readers that fall behind; missed events may be larger than it.
      response.write(`retry: 5000\n\n${missedSince(lastEventId)}`);
    },
    count: () => streams.size,
    close() {
      isClosed = true;
      unsubscribe();
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
  /** Id of the last event sent to it, or published before it connected. */ lastId: number;
};

type Frame = { readonly id: number; readonly text: string };

/** About 5 ms of writing. */
const streamsAtOnce = 500;

function textAfter(id: number, frames: readonly Frame[]): string {
  return frames
    .filter((frame) => frame.id > id)
    .map(({ text }) => text)
    .join('');
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

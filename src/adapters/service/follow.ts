import { describeError, ServiceError } from '../../domain/text/errors.ts';
import type { Clock, Log } from '../../domain/outside/outside.ts';
import { isJsonObject, type JsonObject, parseJson } from '../../domain/text/json.ts';
import { connectionFailure, isTransient, invalidAnswer } from './failure.ts';

export type Following = {
  readonly base: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Opens the stream after the event with that id. Throws a `ServiceError`. */
  readonly connect: (lastEventId: string | undefined, signal: AbortSignal) => Promise<AsyncIterable<Uint8Array>>;
  /** The longest time that the service may be unreachable after the first connection. */
  readonly patienceMs: number;
};

/**
 * Follows the events. Throws an error of the first connection. Later connections resume after the last event's id.
 * Throws for a permanent error, and after `patienceMs`.
 */
export async function* follow(
  { base, clock, log, connect, patienceMs }: Following,
  signal: AbortSignal,
): AsyncGenerator<JsonObject> {
  let lastEventId: string | undefined;
  let pauseMs = usualPauseMs;
  let wasConnected = false;
  let lostMs: number | undefined;
  for (;;) {
    let failure: unknown;
    try {
      const chunks = await connect(lastEventId, signal);
      if (lostMs !== undefined) log.info('The stream of events has resumed');
      wasConnected = true;
      lostMs = undefined;
      for await (const frame of framesIn(chunks)) {
        lastEventId = frame.id ?? lastEventId;
        pauseMs = Math.min(Math.max(frame.retryMs ?? pauseMs, shortestPauseMs), longestPauseMs);
        if (frame.data !== '') yield eventIn(frame, base);
      }
      failure = new ServiceError('service-unreachable', 'The service has ended the stream of events');
    } catch (error) {
      signal.throwIfAborted();
      failure = error instanceof RangeError ? invalidAnswer(base, error.message) : error;
      if (!(failure instanceof ServiceError)) failure = connectionFailure(error, base);
    }
    lostMs ??= clock.monotonicMs();
    const isTooLate = clock.monotonicMs() - lostMs > patienceMs;
    if (!wasConnected || isTooLate || !isTransient(failure)) throw failure;
    log.warn('The stream of events is interrupted', { error: describeError(failure) });
    const requestedMs = failure instanceof ServiceError ? (failure.retryAfterMs ?? 0) : 0;
    await clock.sleep(Math.min(Math.max(pauseMs, requestedMs), longestPauseMs), signal);
  }
}

const usualPauseMs = 5000;
const shortestPauseMs = 100;
const longestPauseMs = 60_000;

function eventIn({ data }: EventFrame, base: string): JsonObject {
  const event = parseJson(data);
  if (isJsonObject(event) && typeof event['type'] === 'string') return event;
  throw invalidAnswer(base, 'its stream contains invalid data');
}

/** One frame of https://html.spec.whatwg.org/multipage/server-sent-events.html. */
export type EventFrame = {
  readonly id?: string;
  /** The pause before the next connection. */
  readonly retryMs?: number;
  /** Empty for a comment. */
  readonly data: string;
};

/** Throws a `RangeError` for a frame that does not end within 1 MiB. */
export async function* framesIn(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<EventFrame> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of chunks) {
    text += decoder.decode(chunk, { stream: true });
    const frames = text.split(/\r\n\r\n|\n\n|\r\r/);
    text = frames.pop() ?? '';
    for (const frame of frames) yield readFrame(frame);
    if (text.length > largestFrame) throw new RangeError('A frame of the stream of events does not end');
  }
}

const largestFrame = 1024 * 1024;

function readFrame(text: string): EventFrame {
  const data: string[] = [];
  let id: string | undefined;
  let retryMs: number | undefined;
  for (const line of text.split(/\r\n|\n|\r/)) {
    const [, name = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (name === 'data') data.push(value);
    else if (name === 'id' && /^[\x21-\x7e]{1,200}$/.test(value)) id = value;
    else if (name === 'retry' && /^\d{1,9}$/.test(value)) retryMs = Number(value);
  }
  return { data: data.join('\n'), ...(id !== undefined && { id }), ...(retryMs !== undefined && { retryMs }) };
}

import type { EngineEvent } from '../../../domain/outside/engine-reader.ts';
import type { Client } from '../transport/client.ts';
import { jsonLines, longLine } from '../streams/json-lines.ts';
import { EngineFailure } from '../transport/failure.ts';
import { read, refusal } from '../reading/reads.ts';
import { readEvent } from '../translate/translate.ts';
import { fields, text, timeMs } from '../transport/json-fields.ts';

/** The pauses between attempts: 0.1, 0.2, 0.4 … 10 s. After a stream of at least 10 s they start at 0.1 s again. */
const firstPauseMs = 100;
const lastingMs = 10_000;

export type EventsOptions = {
  readonly signal: AbortSignal;
  readonly onBreak?: ((failure?: unknown) => void) | undefined;
  readonly kinds: readonly string[];
  readonly longestPauseMs?: number | undefined;
  /** The moment of the attempt within each longest pause, from 0 to 1, so that many engines do not retry at once. */
  readonly retryPhase?: number | undefined;
};

/**
 * Events of the engine until the signal aborts. A broken stream is reopened; `connected` means that events may have
 * been lost.
 */
export async function* engineEvents(
  client: Client,
  { signal, onBreak = () => {}, kinds, longestPauseMs = 10_000, retryPhase }: EventsOptions,
): AsyncGenerator<EngineEvent, void, undefined> {
  const { clock } = client;
  let pauseMs = firstPauseMs;
  while (!signal.aborted) {
    let openedAtMs = Infinity;
    let failure: unknown;
    try {
      for await (const event of oneStream(client, signal, kinds)) {
        openedAtMs = Math.min(openedAtMs, clock.monotonicMs());
        yield event;
      }
    } catch (error) {
      // Every failure leads to another attempt. Other calls of the same engine report it.
      failure = error;
    }
    if (!signal.aborted) onBreak(failure);
    if (clock.monotonicMs() - openedAtMs >= lastingMs) pauseMs = firstPauseMs;
    const isLongest = pauseMs === longestPauseMs && retryPhase !== undefined;
    const restMs = isLongest ? untilNextAttempt(clock.monotonicMs(), longestPauseMs, retryPhase) : pauseMs;
    await clock.sleep(restMs, signal).catch(() => undefined);
    pauseMs = Math.min(pauseMs * 2, longestPauseMs);
  }
}

/** The time until the next attempt: above 0, at most one period. */
function untilNextAttempt(nowMs: number, periodMs: number, phase: number): number {
  const sinceAttemptMs = (nowMs - phase * periodMs) % periodMs;
  return periodMs - (sinceAttemptMs < 0 ? sinceAttemptMs + periodMs : sinceAttemptMs);
}

/** https://docs.docker.com/reference/api/engine/version/v1.51/#tag/System/operation/SystemEvents */
async function* oneStream(
  client: Client,
  signal: AbortSignal,
  kinds: readonly string[],
): AsyncGenerator<EngineEvent, void, undefined> {
  const since = await engineTime(client, signal);
  const reply = await client.send({
    method: 'GET',
    path: '/events',
    query: { since, filters: JSON.stringify({ type: kinds }) },
    socket: 'events',
    patience: { for: 'head', ms: client.deadlines.readMs },
    signal,
  });
  if (reply.kind === 'error') throw refusal('listen to events', reply);
  yield { kind: 'connected' };
  // An event carries all labels of its container. An event above the size limit only shows that a change happened.
  for await (const line of jsonLines(reply.body, { passesLongLines: true })) {
    const event: EngineEvent | undefined = line === longLine ? { kind: 'connected' } : readEvent(line);
    if (event) yield event;
  }
}

/**
 * The engine's time, as the start of the stream. The engine answers before it listens for events, so without a start
 * the events in between are lost. Undefined if the request is refused or times out. Throws if the engine cannot be
 * reached, so that one attempt costs one connection.
 */
async function engineTime(client: Client, signal: AbortSignal): Promise<string | undefined> {
  const info = await read(client, { doing: 'ask for the time', path: '/info', signal }).catch((error: unknown) => {
    if (error instanceof EngineFailure && error.code !== 'timeout') throw error;
    return undefined;
  });
  const nowMs = timeMs(text(fields(info)['SystemTime']));
  return nowMs === 0 ? undefined : (nowMs / 1000).toFixed(3);
}

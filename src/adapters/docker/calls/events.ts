import type { EngineEvent, PastEventsQuery } from '../../../domain/outside/engine.ts';
import type { Client } from '../transport/client.ts';
import { jsonLines, longLine, fields, text, timeMs } from '../transport/answer.ts';
import { EngineFailure } from '../transport/request.ts';
import { read, refusal, capabilitiesOf } from './calls.ts';
import { readEvent } from './translate.ts';

/** The pauses between attempts: 0.1, 0.2, 0.4 … 10 s. After a stream of at least 10 s they start at 0.1 s again. */
const firstPauseMs = 100;
const lastingMs = 10_000;

type EventsOptions = {
  readonly signal: AbortSignal;
  readonly onBreak?: ((failure?: unknown) => void) | undefined;
  readonly kinds: readonly string[];
  readonly maxPauseMs?: number | undefined;
  /** The moment of the attempt within each longest pause, from 0 to 1, so that many engines do not retry at once. */
  readonly retryPhase?: number | undefined;
};

/**
 * Events of the engine until the signal aborts. A broken stream is reopened; `connected` means that events may have
 * been lost.
 */
export async function* engineEvents(
  client: Client,
  { signal, onBreak = () => {}, kinds, maxPauseMs = 10_000, retryPhase }: EventsOptions,
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
    const isLongest = pauseMs === maxPauseMs && retryPhase !== undefined;
    const restMs = isLongest ? untilNextAttempt(clock.monotonicMs(), maxPauseMs, retryPhase) : pauseMs;
    await clock.sleep(restMs, signal).catch(() => undefined);
    pauseMs = Math.min(pauseMs * 2, maxPauseMs);
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
    timeLimit: { for: 'head', ms: client.deadlines.readMs },
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

/** Docker and Podman name events differently, so all events of a container are requested. */
export async function pastEvents(
  client: Client,
  { ids, sinceMs, untilMs }: PastEventsQuery,
): Promise<readonly EngineEvent[]> {
  const filters = { type: ['container'], container: ids };
  const events: EngineEvent[] = [];
  for await (const event of eventsBetween(client, { sinceMs, untilMs, filters, aheadMs: maxAheadMs })) {
    if ('id' in event && ids.includes(event.id)) events.push(event);
    if (events.length >= maxEvents) break;
  }
  return events;
}

/** The longest time that `untilMs` may lie ahead of the engine's clock. */
const maxAheadMs = 10_000;

/** Far more events than an engine keeps. */
const maxEvents = 10_000;

/** Docker sends the event of a prune after the removals. */
export async function hasPruned(client: Client, { sinceMs, untilMs }: Omit<PastEventsQuery, 'ids'>): Promise<boolean> {
  if (!capabilitiesOf(await client.version()).tellsOfPrunes) return false;
  const filters = { type: ['container'], event: ['prune'] };
  const aheadMs = Math.max(0, untilMs - sinceMs);
  for await (const event of eventsBetween(client, { sinceMs, untilMs, filters, aheadMs })) {
    if (event.kind === 'container' && event.action === 'prune') return true;
  }
  return false;
}

type EventsQuery = {
  /** By the engine's clock. The engine ends the answer at `untilMs`. */
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly filters: Readonly<Record<string, readonly string[]>>;
  /** How far `untilMs` lies ahead of the engine's clock. */
  readonly aheadMs: number;
};

/** https://docs.docker.com/reference/api/engine/version/v1.51/#tag/System/operation/SystemEvents */
async function* eventsBetween(
  client: Client,
  { sinceMs, untilMs, filters, aheadMs }: EventsQuery,
): AsyncIterable<EngineEvent> {
  const reply = await client.send({
    method: 'GET',
    path: '/events',
    query: { since: seconds(sinceMs), until: seconds(untilMs), filters: JSON.stringify(filters) },
    socket: 'own',
    timeLimit: { for: 'whole', ms: aheadMs + client.deadlines.readMs },
  });
  if (reply.kind === 'error') throw refusal('ask for events', reply);
  for await (const line of jsonLines(reply.body)) {
    const event = readEvent(line);
    if (event !== undefined) yield event;
  }
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(3);
}

import type { EngineEvent } from '../../../domain/outside/engine-reader.ts';
import type { Client } from '../transport/client.ts';
import { jsonLines, longLine } from '../streams/json-lines.ts';
import { read, refusal } from '../reading/reads.ts';
import { eventKinds, readEvent } from '../translate/translate.ts';
import { fields, text, timeMs } from '../transport/wire.ts';

/** The pauses before another try: 0.1, 0.2, 0.4 … 10 s, from the start again once a stream has lasted. */
const firstPauseMs = 100;
const lastingMs = 10_000;

/**
 * Events of the engine until the signal aborts. A broken stream is opened again; `connected` says that
 * events may be lost.
 */
export async function* engineEvents(
  client: Client,
  signal: AbortSignal,
  onBreak: () => void = () => {},
  kinds: readonly string[] = eventKinds,
  longestPauseMs = 10_000,
): AsyncGenerator<EngineEvent, void, undefined> {
  const { clock } = client;
  let pauseMs = firstPauseMs;
  while (!signal.aborted) {
    let openedAtMs = Infinity;
    try {
      for await (const event of oneStream(client, signal, kinds)) {
        openedAtMs = Math.min(openedAtMs, clock.monotonicMs());
        yield event;
      }
    } catch {
      // Every reason to stop is a reason to try again; calls of the same engine report it.
    }
    if (!signal.aborted) onBreak();
    if (clock.monotonicMs() - openedAtMs >= lastingMs) pauseMs = firstPauseMs;
    await clock.sleep(pauseMs, signal).catch(() => undefined);
    pauseMs = Math.min(pauseMs * 2, longestPauseMs);
  }
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
    socket: 'own',
    patience: { for: 'head', ms: client.deadlines.readMs },
    signal,
  });
  if (reply.kind === 'error') throw refusal('listen to events', reply);
  yield { kind: 'connected' };
  // An event carries all labels of its container: one that is too large says only that something has happened.
  for await (const line of jsonLines(reply.body, { passesLongLines: true })) {
    const event: EngineEvent | undefined = line === longLine ? { kind: 'connected' } : readEvent(line);
    if (event) yield event;
  }
}

/**
 * The engine's time, as the start of the stream: the engine answers before it listens for events, so
 * without a start it loses those in between. Undefined where a proxy refuses the request.
 */
async function engineTime(client: Client, signal: AbortSignal): Promise<string | undefined> {
  const info = await read(client, { doing: 'ask for the time', path: '/info', signal }).catch(() => undefined);
  const nowMs = timeMs(text(fields(info)['SystemTime']));
  return nowMs === 0 ? undefined : (nowMs / 1000).toFixed(3);
}

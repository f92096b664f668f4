import type { EngineEvent } from '../../../domain/outside/engine-reader.ts';
import type { Client } from '../transport/client.ts';
import { jsonLines } from '../streams/json-lines.ts';
import { refusal } from '../reading/reads.ts';
import { readEvent } from '../translate/translate.ts';

export type EventsQuery = {
  /** By the engine's clock. With `until` the engine ends the answer at that time. */
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly filters: Readonly<Record<string, readonly string[]>>;
  /** How far `untilMs` lies ahead of the engine's clock. */
  readonly aheadMs: number;
};

/** https://docs.docker.com/reference/api/engine/version/v1.51/#tag/System/operation/SystemEvents */
export async function* eventsBetween(
  client: Client,
  { sinceMs, untilMs, filters, aheadMs }: EventsQuery,
): AsyncIterable<EngineEvent> {
  const reply = await client.send({
    method: 'GET',
    path: '/events',
    query: { since: seconds(sinceMs), until: seconds(untilMs), filters: JSON.stringify(filters) },
    socket: 'own',
    patience: { for: 'whole', ms: aheadMs + client.deadlines.readMs },
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

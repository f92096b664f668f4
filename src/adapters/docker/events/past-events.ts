import type { EngineEvent, PastEventsQuery } from '../../../domain/outside/engine-reader.ts';
import { refusal } from '../reading/reads.ts';
import { jsonLines } from '../streams/json-lines.ts';
import { capabilitiesOf } from '../translate/capabilities.ts';
import { readEvent } from '../translate/translate.ts';
import type { Client } from '../transport/client.ts';

/** Docker and Podman name events differently, so all events of a container are requested. */
export async function pastEvents(
  client: Client,
  { ids, sinceMs, untilMs }: PastEventsQuery,
): Promise<readonly EngineEvent[]> {
  const filters = { type: ['container'], container: ids };
  const events: EngineEvent[] = [];
  for await (const event of eventsBetween(client, { sinceMs, untilMs, filters, aheadMs: longestAheadMs })) {
    if ('id' in event && ids.includes(event.id)) events.push(event);
    if (events.length >= mostEvents) break;
  }
  return events;
}

/** The longest time that `untilMs` may lie ahead of the engine's clock. */
const longestAheadMs = 10_000;

/** Far more events than an engine keeps. */
const mostEvents = 10_000;

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

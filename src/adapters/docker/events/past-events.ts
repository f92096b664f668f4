import type { EngineEvent, PastEventsQuery } from '../../../domain/outside/engine-reader.ts';
import type { Client } from '../transport/client.ts';
import { eventsBetween } from './events-between.ts';

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

/** How far ahead of the engine's clock an answer may end. */
const longestAheadMs = 10_000;

/** Far more events than an engine keeps. */
const mostEvents = 10_000;

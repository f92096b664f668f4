import type { EngineState } from '../../../domain/outside/engine.ts';
import { toTimestamp, replyFields } from '../../json/timestamps.ts';
import { array, integer, object, stamped, text, time, booleanField } from '../replies/schemas.ts';
import type { HttpParts } from '../service/parts.ts';
import { defineRoute, type Route } from '../service/route.ts';

/** `GET /v1/engines`: the engines and whether they answer, from memory. The route exists with several engines only. */
export function enginesRoutes({ service: { engines }, clock }: HttpParts): readonly Route[] {
  if (engines === undefined) return [];
  const route = defineRoute({
    group: 'containers',
    path: '/v1/engines',
    access: 'api token',
    summary: 'List container engines',
    description: 'Lists the engines in configured order, and whether they answer, from memory.',
    query: {},
    replies: { 200: { description: 'The engines', schema: listSchema } },
    answer: () => {
      const entries = engines().map(entryOf);
      return { engines: entries, count: entries.length, ...replyFields(clock.nowMs()) };
    },
  });
  return [route];
}

function entryOf({ name, address, kind, version, reachable, sinceMs, error, lastRunAtMs, ...counts }: EngineState) {
  return {
    name,
    address,
    kind,
    version,
    reachable: reachable === true,
    since: toTimestamp(sinceMs),
    error,
    containers: counts.containers,
    updates_available: counts.updatesAvailable,
    last_run: toTimestamp(lastRunAtMs),
  };
}

const listSchema = stamped({
  engines: array(
    object(
      {
        name: text('Name of the engine'),
        address: text('Its address, without a user'),
        reachable: booleanField('Whether it answers'),
        containers: integer('Its watched containers in the last listing'),
      },
      {
        updates_available: integer('Its watched containers with a known newer image; absent before the first check'),
        kind: text('docker or podman; absent before it has answered'),
        version: text('Its version; absent before it has answered'),
        since: time('Since when it answers, or does not; absent before the first attempt'),
        error: text('Why it does not answer'),
        last_run: time('When the last update on it ended; absent before the first'),
      },
    ),
  ),
  count: integer('Number of entries'),
});

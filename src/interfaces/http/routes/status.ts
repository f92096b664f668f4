import type { HttpParts } from '../parts.ts';
import { defineRoute, type Route } from '../route.ts';
import { integer, stamped, summarySchema, time, truth } from '../schemas.ts';
import { stamp } from '../stamp.ts';
import { toTimestamp } from '../../json/timestamps.ts';

/** `GET /v1/status`: how the last update went, and when the next one is due. */
export function statusRoute({ service, clock }: HttpParts): Route {
  return defineRoute({
    group: 'metrics',
    path: '/v1/status',
    access: 'api token',
    summary: 'Summary of the last update',
    description: 'Tells how the last update went, and when the next one is due.',
    query: {},
    replies: {
      200: { description: 'The last update', schema: replySchema },
      204: { description: 'There has been no update yet' },
    },
    answer: (_, reply) => {
      const { lastRun, nextRunAtMs, running, updatesAvailable } = service.status();
      if (lastRun === undefined) return reply.code(204).send();
      return {
        summary: lastRun.summary,
        last_run: toTimestamp(lastRun.atMs),
        ...(nextRunAtMs === undefined ? {} : { next_run: toTimestamp(nextRunAtMs) }),
        running,
        updates_available: updatesAvailable,
        ...stamp(clock),
      };
    },
  });
}

const replySchema = stamped(
  {
    summary: summarySchema,
    last_run: time('When the last update ended'),
    running: truth('Whether an update is running now'),
    updates_available: integer('Containers for which a newer image is known'),
  },
  { next_run: time('When the next update is due; absent when none is scheduled') },
);

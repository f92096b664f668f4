import type { HttpParts } from '../service/parts.ts';
import { defineRoute, type Route } from './route.ts';
import { integer, stamped, summarySchema, time, truth } from '../replies/schemas.ts';
import { stamp } from '../replies/stamp.ts';
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
      204: { description: 'There has been no update yet, and nothing is being repaired' },
    },
    answer: (_, reply) => {
      const { lastRun, nextRunAtMs, running, repairing, updatesAvailable } = service.status();
      if (lastRun === undefined && !repairing) return reply.code(204).send();
      return {
        summary: lastRun?.summary ?? nothingYet,
        ...(lastRun === undefined ? {} : { last_run: toTimestamp(lastRun.atMs) }),
        ...(nextRunAtMs === undefined ? {} : { next_run: toTimestamp(nextRunAtMs) }),
        running,
        repairing,
        updates_available: updatesAvailable,
        ...stamp(clock),
      };
    },
  });
}

const nothingYet = { scanned: 0, updated: 0, failed: 0, restarted: 0, skipped: 0 };

const replySchema = stamped(
  {
    summary: summarySchema,
    running: truth('Whether an update is running now'),
    repairing: truth('Whether what an interrupted update left is being finished or undone now'),
    updates_available: integer('Containers for which a newer image is known'),
  },
  {
    last_run: time('When the last update ended; absent before the first'),
    next_run: time('When the next update is due; absent when none is scheduled'),
  },
);

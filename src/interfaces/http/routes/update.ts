import { formatDuration } from '../../../domain/text/duration.ts';
import { type Session, summarise } from '../../../domain/run/session.ts';
import { outcomeEntry } from '../../json/entries.ts';
import type { HttpParts } from '../service/parts.ts';
import { flag } from '../requests/query.ts';
import { defineRoute, type Route } from '../service/route.ts';
import { outcomeSchema } from '../replies/container-schemas.ts';
import { array, choice, integer, object, stamped, summarySchema, text } from '../replies/schemas.ts';
import { selectionParameters, timeoutUpTo } from '../requests/selection.ts';
import { stamp } from '../replies/stamp.ts';
import type { UpdateRuns } from '../service/update-runs.ts';

/** `POST /v1/update`. With the switch for clients of old, `GET` is taken for it. */
export function updateRoute({ settings, clock }: HttpParts, runs: UpdateRuns): Route {
  return defineRoute({
    group: 'update',
    path: '/v1/update',
    methods: settings.watchtowerCompat ? ['POST', 'GET'] : ['POST'],
    remedies: { GET: 'ask with POST, or start the service with --http-api-watchtower-compat to have GET accepted' },
    answersHead: false,
    access: 'api token',
    summary: 'Update containers',
    description:
      'Updates all watched containers, or those of the given images and names. One update runs at a time: a full update is refused while another runs, a targeted one waits for its turn.',
    query: {
      ...selectionParameters,
      async: flag('Answer at once, and update in the background'),
      timeout: timeoutUpTo(settings.updateTimeoutMs, { hidden: true }),
    },
    replies: {
      200: { description: 'What the update did', schema: resultSchema },
      202: { description: 'The update has begun', schema: acceptedSchema },
      408: { description: 'The update did not end in time' },
      429: { description: 'Another update is running, or too many requests (then without a body)' },
      500: { description: 'The update as a whole failed' },
      503: {
        description: 'The client went while the update waited for its turn, too many wait, or the service is stopping',
      },
    },
    answer: async ({ query }, reply) => {
      const { image: images, container: containers, async: inBackground, timeout: timeoutMs } = query;
      const run = runs.start({ images, containers, timeoutMs, response: reply.raw });
      if (!inBackground) return { ...resultOf(await run.finished), ...stamp(clock) };
      const runId = await run.begun;
      return reply.code(202).send({ status: 'accepted', run_id: runId, ...stamp(clock) });
    },
  });
}

const acceptedSchema = stamped({
  status: choice(['accepted'], 'Always "accepted"'),
  run_id: text('Under which the run is found in history and events'),
});

const resultSchema = stamped({
  summary: summarySchema,
  timing: object({
    duration_ms: integer('How long the update took, in milliseconds'),
    duration: text('The same for people'),
  }),
  run_id: text('Under which the run is found in history and events'),
  containers: array(outcomeSchema),
});

function resultOf(session: Session) {
  return {
    summary: summarise(session),
    timing: { duration_ms: Math.round(session.durationMs), duration: formatDuration(session.durationMs) },
    run_id: session.runId,
    containers: session.containers.map(outcomeEntry),
  };
}

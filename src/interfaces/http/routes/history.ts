import { triggers } from '../../../domain/run/session.ts';
import { HttpError } from '../replies/errors.ts';
import type { HttpParts } from '../service/parts.ts';
import { count, moment } from '../requests/query.ts';
import { defineRoute, type Route } from '../service/route.ts';
import { array, oneOf, integer, object, stamped, text, time } from '../replies/schemas.ts';
import { historyEntry } from '../../json/entries.ts';
import { engineField, enginesField, outcomeSchema } from '../replies/container-schemas.ts';
import { replyFields } from '../../json/timestamps.ts';

/** `GET /v1/history`: the last runs, at most 500. */
export function historyRoute({ service, clock }: HttpParts): Route {
  return defineRoute({
    group: 'history',
    path: '/v1/history',
    access: 'api token',
    summary: 'List past updates',
    description: 'Lists the updates of the last days, oldest first; at most 500 are kept.',
    query: {
      since: moment('Only entries at or after this time'),
      until: moment('Only entries at or before this time'),
      limit: count('Only this number of newest entries; 0 or absent: all'),
    },
    replies: {
      200: { description: 'The updates', schema: listSchema },
      500: { description: 'The history cannot be read' },
    },
    answer: async ({ query: { since = -Infinity, until = Infinity, limit = Infinity } }) => {
      if (since > until) throw new HttpError(400, 'invalid query parameters: "since" is later than "until"');
      await service.refreshHistory();
      const entries = service
        .history()
        .filter(({ timestampMs }) => timestampMs >= since && timestampMs <= until)
        .slice(-limit)
        .map(historyEntry);
      return { entries, count: entries.length, ...replyFields(clock.nowMs()) };
    },
  });
}

const listSchema = stamped({
  entries: array(
    object(
      {
        timestamp: time('When the update ended'),
        scanned: integer('Containers scanned'),
        updated: integer('Containers updated'),
        failed: integer('Containers whose update failed'),
        restarted: integer('Containers restarted because of linked dependencies'),
        skipped: integer('Containers skipped'),
        rolled_back: integer('Containers whose new version failed and was rolled back; they count as failed too'),
        run_id: text('Id of the run'),
        trigger: oneOf(triggers, 'The origin of the run'),
        duration_ms: integer('How long it took, in milliseconds'),
        failures: array(
          object(
            {
              name: text('Name of a container whose update failed'),
              outcome: oneOf(['failed', 'rolled_back'], 'Whether it was rolled back'),
              reason: text('Reason for the failure'),
            },
            engineField,
          ),
        ),
        containers: array(outcomeSchema),
      },
      {
        ...enginesField,
        by: text(
          'Who asked for it: a browser session, a token by its name, Home Assistant; absent if nobody did, or the command line',
        ),
        went_back: integer('Containers that went back to their earlier version on request; absent if none did'),
      },
    ),
  ),
  count: integer('Number of entries'),
});

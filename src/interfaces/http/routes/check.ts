import { stalenesses } from '../../../domain/check/verdict.ts';
import { ServiceError } from '../../../domain/text/errors.ts';
import { checkedEntry, enginesField as enginesEntry } from '../../json/entries.ts';
import { startDeadline, engineParameter, enginesIn, selectionParameters, timeoutUpTo } from '../requests/selection.ts';
import { HttpError } from '../replies/errors.ts';
import type { HttpParts } from '../service/parts.ts';
import { defineRoute, type Route } from '../service/route.ts';
import {
  engineField,
  enginesField,
  holdFields,
  kindField,
  notesFields,
  versionFields,
  array,
  composeField,
  oneOf,
  integer,
  object,
  stamped,
  text,
  time,
  booleanField,
} from '../replies/schemas.ts';
import { replyFields } from '../../json/timestamps.ts';

/** `POST /v1/check`: asks the registries. It changes nothing and does not wait for an update. */
export function checkRoute({ settings, clock }: HttpParts): Route {
  return defineRoute({
    group: 'check',
    path: '/v1/check',
    methods: ['POST'],
    access: 'api token',
    needs: 'operator',
    filter: 'applies',
    summary: 'Check for newer images',
    description:
      'Asks the registries for the newest digests, without a pull. If a container could not be checked, its entry has the error.',
    query: { ...selectionParameters, ...engineParameter, timeout: timeoutUpTo(settings.checkTimeoutMs) },
    replies: {
      200: { description: 'Result of the check, by container', schema: resultSchema },
      408: { description: 'The engine did not list the containers in time' },
      500: { description: 'The check as a whole failed' },
      503: { description: 'The client closed its connection' },
    },
    answer: async ({ query, request: { service, caller: by } }, reply) => {
      const { image: images, container: containers, timeout: timeoutMs } = query;
      const engines = enginesIn(query, service);
      const deadline = startDeadline(clock, timeoutMs, 'check');
      reply.raw.once('close', () => deadline.abort(new ServiceError('cancelled', 'Cannot check: the client has gone')));
      try {
        const report = await service.check({ images, containers, engines, trigger: 'http', by }, deadline.signal);
        const entries = report.containers.map((container) => checkedEntry(container, clock.nowMs()));
        return { containers: entries, count: entries.length, ...enginesEntry(report), ...replyFields(clock.nowMs()) };
      } catch (error) {
        throw deadline.hasPassed() ? new HttpError(408, timedOut) : error;
      } finally {
        deadline.clear();
      }
    },
  });
}

const entrySchema = object(
  {
    name: text('Name of the container'),
    image: text('Image reference with tag'),
    image_id: text('Local image id'),
    digest: text('Local registry digest, when known'),
    update_available: booleanField('Whether a newer image is available'),
    latest_image_id: text('Local id of the newer image, when known'),
    latest_digest: text('Newest registry digest, when known'),
    status: oneOf(stalenesses, 'Result of the check'),
    reason: text('Reason for the status'),
    timestamp: time('When the check ended'),
  },
  {
    error: text('Why the container could not be checked; absent if it was checked'),
    ...versionFields,
    ...holdFields,
    ...composeField,
    ...notesFields,
    ...engineField,
    ...kindField,
  },
);

const resultSchema = stamped({ containers: array(entrySchema), count: integer('Number of entries') }, enginesField);

const timedOut = 'the check timed out; "timeout" gives it longer, at most --http-api-check-timeout';

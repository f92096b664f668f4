import { describeError } from '../../../domain/text/errors.ts';
import { shownName } from '../../../domain/run/session.ts';
import { startDeadline } from '../requests/deadline.ts';
import { HttpError, internalError, problemOf } from '../replies/errors.ts';
import type { HttpParts } from '../service/parts.ts';
import { defineRoute, type Route } from '../service/route.ts';
import { array, oneOf, object, text, booleanField } from '../replies/schemas.ts';

/** `/livez`, `/startupz` and `/readyz`: an orchestrator's probes. */
export function healthRoutes({ service, clock, log }: HttpParts, readinessTimeoutMs: number): readonly Route[] {
  const open = { group: 'health', access: 'open' } as const;
  return [
    defineRoute({
      ...open,
      path: '/livez',
      summary: 'Whether the service lives',
      description: 'Answers while the process runs.',
      query: {},
      replies: { 200: { description: 'The process runs', schema: okSchema } },
      answer: () => ok,
    }),
    defineRoute({
      ...open,
      path: '/readyz',
      summary: 'Whether the container engine can be reached',
      description:
        'Pings the container engine. The reply also reports whether an interrupted update is being repaired, which may delay the next update.',
      query: {},
      replies: {
        200: { description: 'The service is ready', schema: readySchema },
        503: { description: 'The service is not ready; the reason is in the reply' },
      },
      answer: async () => {
        const deadline = startDeadline(clock, readinessTimeoutMs, 'reach the container engine');
        try {
          await Promise.race([service.ready(deadline.signal), deadline.passed]);
          const down = service.inventory().unfinished.filter(({ isDown }) => isDown);
          const away = (service.engines?.() ?? []).filter(({ reachable }) => reachable === false);
          return {
            ...(service.status().repairing ? okWhileRepairing : ok),
            ...(away.length > 0 && { unreachable: away.map(({ name }) => name) }),
            ...(down.length > 0 && { down: down.map(shownName) }),
          };
        } catch (error) {
          log.warn('Not ready', { error: describeError(error) });
          throw new HttpError(503, (problemOf(error) ?? internalError).message);
        } finally {
          deadline.clear();
        }
      },
    }),
    defineRoute({
      ...open,
      path: '/startupz',
      summary: 'Whether the service has started',
      description: 'Answers once the service has started.',
      query: {},
      replies: { 200: { description: 'The service has started', schema: okSchema } },
      answer: () => ok,
    }),
  ];
}

const ok = { status: 'ok' } as const;

const okWhileRepairing = { ...ok, repairing: true } as const;

const okSchema = object({ status: oneOf(['ok'], 'Always "ok"') });

const readySchema = object(
  { status: oneOf(['ok'], 'Always "ok"') },
  {
    repairing: booleanField('Present while an interrupted update is being finished or undone'),
    unreachable: array(text('Name of an engine that does not answer')),
    down: array(text('Name of a container that an update could neither finish nor undo, and has left down')),
  },
);

import { describeError } from '../../../domain/errors.ts';
import { startDeadline } from '../deadline.ts';
import { HttpError, internalError, problemOf } from '../errors.ts';
import { defaultLimits } from '../limits.ts';
import type { HttpParts } from '../parts.ts';
import { defineRoute, type Route } from '../route.ts';
import { choice, object } from '../schemas.ts';

/** `/livez`, `/startupz` and `/readyz`: what an orchestrator asks. */
export function healthRoutes({ service, clock, log, limits }: HttpParts): readonly Route[] {
  const { readinessTimeoutMs } = { ...defaultLimits, ...limits };
  const open = { group: 'health', access: 'open' } as const;
  return [
    defineRoute({
      ...open,
      path: '/livez',
      summary: 'Whether the service lives',
      description: 'Answers as long as the service does.',
      query: {},
      replies: { 200: { description: 'It does', schema: okSchema } },
      answer: () => ok,
    }),
    defineRoute({
      ...open,
      path: '/readyz',
      summary: 'Whether the container engine can be reached',
      description: 'Asks the container engine for a sign of life.',
      query: {},
      replies: {
        200: { description: 'It can', schema: okSchema },
        503: { description: 'It cannot, with the reason' },
      },
      answer: async () => {
        const deadline = startDeadline(clock, readinessTimeoutMs, 'reach the container engine');
        try {
          await Promise.race([service.ready(deadline.signal), deadline.passed]);
          return ok;
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
      replies: { 200: { description: 'It has', schema: okSchema } },
      answer: () => ok,
    }),
  ];
}

const ok = { status: 'ok' } as const;

const okSchema = object({ status: choice(['ok'], 'Always "ok"') });

import { ServiceError } from '../../../../domain/text/errors.ts';
import type { Clock } from '../../../../domain/outside/outside.ts';
import { HttpError } from '../../replies/errors.ts';
import { acceptedSchema, resultSchema } from '../../replies/update-result.ts';
import { startDeadline } from '../../requests/deadline.ts';
import { required, text, toggle } from '../../requests/query.ts';
import { engineParameter, enginesIn, timeoutUpTo } from '../../requests/selection.ts';
import type { HttpParts, Service } from '../../service/parts.ts';
import { defineRoute, type Route } from '../../service/route.ts';
import type { RunRequest, UpdateRuns } from '../../service/update-runs.ts';

/** `POST /v1/rollback`: returns containers to the image before their last update. */
export function rollbackRoute({ settings, service, clock }: HttpParts, runs: UpdateRuns): Route {
  return defineRoute({
    group: 'update',
    path: '/v1/rollback',
    methods: ['POST'],
    access: 'api token',
    summary: 'Roll a container back',
    description:
      'Rolls a container back to the image before its last update, with the containers that were updated together with it. Waits while another update runs. The current version is not applied automatically again.',
    query: {
      container: required(text('Name of the container')),
      ...engineParameter,
      forward: toggle('Also go to a version that the container has left before, as a second rollback does'),
      async: toggle('Answer at once, and roll back in the background'),
      timeout: timeoutUpTo(settings.updateTimeoutMs),
    },
    replies: {
      200: { description: 'Result of the rollback', schema: resultSchema },
      202: { description: 'The rollback has begun', schema: acceptedSchema },
      400: { description: 'No container is named' },
      404: { description: 'No container has that name' },
      408: { description: 'The rollback did not end in time' },
      409: {
        description:
          'There is nothing to roll back to, or only a version that it has left before (forward=true); the error says why',
      },
      500: { description: 'The rollback as a whole failed' },
      503: {
        description:
          'The client closed its connection while the rollback was queued, the queue is full, or the service is stopping',
      },
    },
    answer: async ({ query, request: { caller: by } }, reply) => {
      const { container, forward, async: inBackground, timeout: timeoutMs } = query;
      const name = container?.replace(/^\//, '') ?? '';
      if (name === '')
        throw new HttpError(400, 'invalid query parameter "container": the name of a container is needed');
      const engines = enginesIn(query, service);
      const run: RunRequest = {
        begin: (onBegin, signal) =>
          service.rollBack([name], signal, { trigger: 'http', by, forward, onBegin, engines }),
        isQueued: true,
        inBackground,
        timeoutMs,
      };
      try {
        return await runs.answer(run, reply);
      } catch (error) {
        throw await problemWith(name, error, service, clock);
      }
    },
  });
}

/** The reason for a refusal comes from the use case and contains nothing internal. */
async function problemWith(
  name: string,
  error: unknown,
  service: Pick<Service, 'containerNames'>,
  clock: Clock,
): Promise<unknown> {
  if (error instanceof ServiceError && error.code === 'unconfirmed')
    return new HttpError(409, `${error.message}; forward=true permits it`);
  if (error instanceof ServiceError && error.code === 'invalid-input') return new HttpError(400, error.message);
  if (!(error instanceof ServiceError) || error.code !== 'not-found') return error;
  const deadline = startDeadline(clock, namesTimeoutMs, 'list the containers');
  try {
    const names = await Promise.race([service.containerNames(deadline.signal), deadline.passed]);
    return new HttpError(names.includes(name) ? 409 : 404, error.message);
  } catch (reason) {
    return deadline.hasPassed() ? new HttpError(408, 'the containers were not listed in time') : reason;
  } finally {
    deadline.clear();
  }
}

const namesTimeoutMs = 10_000;

import type { ServerResponse } from 'node:http';
import { ServiceError } from '../../../domain/text/errors.ts';
import { planEntries } from '../../json/entries.ts';
import { HttpError } from '../replies/errors.ts';
import {
  acceptedSchema,
  resultOrPlanSchema,
  resultSchema,
  type RunRequest,
  type UpdateRuns,
} from '../service/update-runs.ts';
import { startDeadline, engineParameter, enginesIn, selectionParameters, timeoutUpTo } from '../requests/selection.ts';
import type { Service, HttpParts } from '../service/parts.ts';
import { flag, toggle, unlisted, required, text, word } from '../requests/query.ts';
import { defineRoute, type Route } from '../service/route.ts';
import { replyFields } from '../../json/timestamps.ts';
import type { Clock } from '../../../domain/outside/outside.ts';

/** `POST /v1/update`. With the option for old clients, `GET` acts the same. */
export function updateRoute({ settings, clock }: HttpParts, runs: UpdateRuns): Route {
  async function planOf(service: Service, request: PlanRequest, { timeoutMs, response }: PlanLimits) {
    const deadline = startDeadline(clock, timeoutMs, 'plan the update');
    response.once('close', () => deadline.abort(new ServiceError('cancelled', 'Cannot plan: the client has gone')));
    try {
      return planEntries(await Promise.race([service.plan(request, deadline.signal), deadline.passed]));
    } catch (error) {
      throw deadline.hasPassed() ? new HttpError(408, 'the plan was not made in time') : error;
    } finally {
      deadline.clear();
    }
  }

  return defineRoute({
    group: 'update',
    path: '/v1/update',
    methods: settings.watchtowerCompat ? ['POST', 'GET'] : ['POST'],
    remedies: { GET: 'use POST, or start the service with --http-api-watchtower-compat, which accepts GET' },
    answersHead: false,
    access: 'api token',
    needs: 'operator',
    filter: 'applies',
    summary: 'Update containers',
    description:
      'Updates all watched containers, or those of the given images and names. One update runs at a time: a full update is refused while another runs, a targeted one waits for its turn. With dry_run=true it changes nothing and answers with the plan: {dry_run, plan: [{name, image, from, to, action, because, depends_on, reason}]}. With retry_failed=true versions that failed before are tried again. With dry_run=true and approved=true the plan assumes an approval. With now=true the windows of the given containers are ignored; approvals are still needed.',
    query: {
      ...selectionParameters,
      ...engineParameter,
      async: flag('Answer at once, and update in the background'),
      timeout: unlisted(timeoutUpTo(settings.updateTimeoutMs)),
      dry_run: unlisted(toggle('Answer with the plan, and change nothing')),
      now: unlisted(toggle('Update also outside of the windows')),
      approved: unlisted(toggle('With dry_run: the plan as if the new versions were approved')),
      ignore_waves: unlisted(toggle('Engines of later waves do not wait for earlier waves')),
      retry_failed: unlisted(toggle('Also versions that failed in a container before')),
    },
    replies: {
      200: { description: 'Result of the update', schema: resultOrPlanSchema },
      202: { description: 'The update has begun', schema: acceptedSchema },
      408: { description: 'The update did not end in time' },
      429: { description: 'Another update is running, or too many requests (then without a body)' },
      500: { description: 'The update as a whole failed' },
      503: {
        description:
          'The client closed its connection while the update was queued, the queue is full, or the service is stopping',
      },
    },
    answer: async ({ query, request: { service, caller: by, limited } }, reply) => {
      const { image: images, container: containers, async: inBackground, timeout: timeoutMs } = query;
      const { dry_run: isRehearsed, retry_failed: retryFailed, ignore_waves: ignoreWaves, now, approved } = query;
      if (now && images.length + containers.length === 0)
        throw new HttpError(400, 'invalid query parameter "now": it needs "container" or "image"');
      if (approved && !isRehearsed)
        throw new HttpError(
          400,
          'invalid query parameter "approved": it needs dry_run=true; to approve, use POST /v1/decisions',
        );
      const engines = enginesIn(query, service);
      const request = { images, containers, engines, retryFailed, ignoreWindows: now, ignoreWaves };
      if (isRehearsed)
        return {
          dry_run: true,
          plan: await planOf(service, { ...request, asApproved: approved }, { timeoutMs, response: reply.raw }),
          ...replyFields(clock.nowMs()),
        };
      const run: RunRequest = {
        begin: (onBegin, signal) => service.update({ ...request, trigger: 'http', by, onBegin }, signal),
        isQueued: images.length > 0 || containers.length > 0 || limited !== undefined,
        inBackground,
        timeoutMs,
      };
      return runs.answer(run, reply);
    },
  });
}

type PlanRequest = Parameters<Service['plan']>[0];

type PlanLimits = { readonly timeoutMs: number; readonly response: ServerResponse };

/** `POST /v1/rollback`: returns containers to the image before their last update. */
export function rollbackRoute({ settings, clock }: HttpParts, runs: UpdateRuns): Route {
  return defineRoute({
    group: 'update',
    path: '/v1/rollback',
    methods: ['POST'],
    access: 'api token',
    needs: 'operator',
    filter: 'applies',
    summary: 'Roll a container back',
    description:
      'Rolls a container back to the image before its last update, with the containers that were updated together with it. Waits while another update runs. The current version is not applied automatically again.',
    query: {
      container: required(text('Name of the container')),
      ...engineParameter,
      forward: toggle('Also go to a version that the container has left before, as a second rollback does'),
      data: word(
        ['restore', 'leave'],
        'Needed if a copy of the data is kept. restore: put it back; everything written since is lost. leave: the data stay, and the old version may not be able to read them',
      ),
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
          'There is nothing to roll back to, or only a version that it has left before (forward=true), or a copy of its data is kept (data=restore or data=leave); the error says why',
      },
      500: { description: 'The rollback as a whole failed' },
      503: {
        description:
          'The client closed its connection while the rollback was queued, the queue is full, or the service is stopping',
      },
    },
    answer: async ({ query, request: { service, caller: by } }, reply) => {
      const { container, forward, data, async: inBackground, timeout: timeoutMs } = query;
      const name = container?.replace(/^\//, '') ?? '';
      if (name === '')
        throw new HttpError(400, 'invalid query parameter "container": the name of a container is needed');
      const engines = enginesIn(query, service);
      const run: RunRequest = {
        begin: (onBegin, signal) =>
          service.rollBack([name], signal, { trigger: 'http', by, forward, onBegin, engines, ...(data && { data }) }),
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
  if (error instanceof ServiceError && error.code === 'undecided')
    return new HttpError(409, `${error.message}: ${error.remedy?.replaceAll('--data ', 'data=') ?? ''}`);
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

import type { ServerResponse } from 'node:http';
import { ServiceError } from '../../../../domain/text/errors.ts';
import { planEntries } from '../../../json/plan-entries.ts';
import { HttpError } from '../../replies/errors.ts';
import { acceptedSchema, resultOrPlanSchema } from '../../replies/update-result.ts';
import { startDeadline } from '../../requests/deadline.ts';
import type { Service, HttpParts } from '../../service/parts.ts';
import { flag, toggle, unlisted } from '../../requests/query.ts';
import { defineRoute, type Route } from '../../service/route.ts';
import { engineParameter, enginesIn, selectionParameters, timeoutUpTo } from '../../requests/selection.ts';
import { replyFields } from '../../../json/timestamps.ts';
import type { RunRequest, UpdateRuns } from '../../service/update-runs.ts';

/** `POST /v1/update`. With the option for old clients, `GET` acts the same. */
export function updateRoute({ settings, service, clock }: HttpParts, runs: UpdateRuns): Route {
  async function planOf(request: PlanRequest, timeoutMs: number, response: ServerResponse) {
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
    answer: async ({ query, request: { caller: by } }, reply) => {
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
          plan: await planOf({ ...request, asApproved: approved }, timeoutMs, reply.raw),
          ...replyFields(clock.nowMs()),
        };
      const run: RunRequest = {
        begin: (onBegin, signal) => service.update({ ...request, trigger: 'http', by, onBegin }, signal),
        isQueued: images.length > 0 || containers.length > 0,
        inBackground,
        timeoutMs,
      };
      return runs.answer(run, reply);
    },
  });
}

type PlanRequest = Parameters<Service['plan']>[0];

import type { ServerResponse } from 'node:http';
import { ServiceError, isBusy } from '../../../domain/text/errors.ts';
import { planEntries, enginesField as enginesEntry, outcomeEntry } from '../../json/entries.ts';
import { HttpError } from '../replies/errors.ts';
import { startDeadline, engineParameter, enginesIn, selectionParameters, timeoutUpTo } from '../requests/selection.ts';
import type { Service, HttpParts } from '../service/parts.ts';
import { flag, toggle, unlisted, required, text, word } from '../requests/request.ts';
import { defineRoute, type Route, type RouteReply } from '../service/route.ts';
import { replyFields } from '../../json/timestamps.ts';
import type { Clock } from '../../../domain/outside/outside.ts';
import { formatDuration } from '../../../domain/text/duration.ts';
import { summarise, type Session } from '../../../domain/run/session.ts';
import {
  engineField,
  enginesField,
  kindField,
  outcomeSchema,
  array,
  oneOf,
  integer,
  object,
  stamped,
  summarySchema,
  text as textField,
  booleanField,
} from '../replies/schemas.ts';

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
    remedies: {
      GET: 'use POST, or start the service with --http-api-watchtower-compat, which accepts GET',
      ...Object.fromEntries(['HEAD', 'PUT', 'PATCH', 'DELETE'].map((method) => [method, 'use POST'])),
    },
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
        'Needed if a copy of the data is kept. restore: put it back; everything written since is lost. leave: the data stays, and the old version may not be able to read it',
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

/** The updates that requests have started, including those whose requests were already answered. */
export type UpdateRuns = {
  /** Starts an update. Answers with its result, or if it runs in the background, when it begins. */
  readonly answer: (request: RunRequest, reply: RouteReply) => Promise<RouteReply | object>;
  /** Starts an update, and resolves to the run's id when it begins. */
  readonly begin: (request: RunRequest, response: ServerResponse) => Promise<string>;
  /** Stops all updates at their next safe point, and refuses further ones. Resolves when they have ended. */
  readonly stop: () => Promise<void>;
};

type RunRequest = {
  /** Starts or queues the update. Calls `onBegin` with its id when it begins. */
  readonly begin: (onBegin: (runId: string) => void, signal: AbortSignal) => Promise<Session>;
  /** Whether it waits in the queue, like a targeted update. */
  readonly isQueued: boolean;
  /** Whether the request is answered when the update begins, not when it ends. */
  readonly inBackground: boolean;
  /** Time limit for the queue, the run and the reply together. */
  readonly timeoutMs: number;
};

/**
 * If a client disconnects while its update waits, the update is removed from the queue. An update that has begun continues
 * without its client: scripts give up after seconds, and half an update must not remain.
 */
export function createUpdateRuns(clock: Clock): UpdateRuns {
  const running = new Map<Promise<unknown>, (reason: ServiceError) => void>();
  let isStopping = false;

  /**
   * `begun` resolves to the run's id when the run begins. Both reject with 408 at the deadline, although the run may
   * still continue to a safe point.
   */
  function start({ begin, isQueued, timeoutMs }: RunRequest, response: ServerResponse) {
    const deadline = startDeadline(clock, timeoutMs, 'update');
    let resolveRunId: (runId: string) => void = () => undefined;
    const began = new Promise<string>((resolve) => (resolveRunId = resolve));
    const onClose = (): void => deadline.abort(new ServiceError('cancelled', 'Cannot wait: the client has gone'));
    response.once('close', onClose);
    const onBegin = (runId: string): void => {
      response.off('close', onClose);
      resolveRunId(runId);
    };
    const work = begin(onBegin, deadline.signal);
    running.set(work, deadline.abort);
    const untilDeadline = async <Result>(result: Promise<Result>): Promise<Result> => {
      try {
        return await Promise.race([result, deadline.passed]);
      } catch (error) {
        if (deadline.hasPassed()) throw tooLate(timeoutMs);
        throw isQueued && isBusy(error) ? queueFull() : error;
      }
    };
    const finished = untilDeadline(work);
    const begun = untilDeadline(Promise.race([began, work.then(() => began)]));
    for (const promise of [begun, finished]) promise.catch(() => undefined);
    void end(work).then(deadline.clear);
    return { begun, finished };
  }

  return {
    async begin(request, response) {
      refuseWhenStopping();
      return start(request, response).begun;
    },
    async answer(request, reply) {
      refuseWhenStopping();
      const { begun, finished } = start(request, reply.raw);
      if (!request.inBackground) return { ...resultOf(await finished), ...replyFields(clock.nowMs()) };
      return reply.code(202).send({ status: 'accepted', run_id: await begun, ...replyFields(clock.nowMs()) });
    },
    stop: async () => {
      isStopping = true;
      const reason = new ServiceError('cancelled', 'Cannot go on: the service is stopping');
      const works = [...running.keys()];
      for (const abort of running.values()) abort(reason);
      await Promise.allSettled(works);
    },
  };

  function refuseWhenStopping(): void {
    if (isStopping) throw new HttpError(503, 'the service is stopping');
  }

  async function end(work: Promise<unknown>): Promise<void> {
    await Promise.allSettled([work]);
    running.delete(work);
  }
}

function tooLate(timeoutMs: number): HttpError {
  return new HttpError(408, `the update did not end within ${formatDuration(timeoutMs)}`);
}

/** Not 429, which means that another update runs: a targeted update waits for it. */
function queueFull(): HttpError {
  return new HttpError(503, 'too many updates are waiting already', { 'Retry-After': '30' });
}

/** The reply to an update that continues in the background. */
const acceptedSchema = stamped({
  status: oneOf(['accepted'], 'Always "accepted"'),
  run_id: textField('Id of the run in history and events'),
});

const resultFields = {
  summary: summarySchema,
  timing: object({
    duration_ms: integer('How long the update took, in milliseconds'),
    duration: textField('The same as text, such as 1.25s'),
  }),
  run_id: textField('Id of the run in history and events'),
  containers: array(outcomeSchema),
};

const resultSchema = stamped(resultFields, enginesField);

const plannedSchema = object(
  {
    name: textField('Name of the container'),
    image: textField('Image reference with tag'),
    action: oneOf(['update', 'restart', 'skip'], 'The action that an update would take'),
    because: textField('The reason, in a few words'),
    depends_on: array(textField('Name of a container that is started first')),
    reason: textField('Result of the check, or the reason for no update'),
  },
  {
    from: textField('Running version, when known'),
    to: textField('Version after the update, when known'),
    to_image: textField('Reference after an update to another tag; absent if the tag stays'),
    data: object({
      saved: array(textField('Path in the container whose data is copied, and put back if the new version fails')),
      not_saved: array(object({ path: textField('Another path'), reason: textField('Why it is not copied') })),
    }),
    ...engineField,
    ...kindField,
  },
);

/** All fields of the result, or those of the plan. OpenAPI 2.0 has no alternatives. */
const resultOrPlanSchema = stamped(
  {},
  {
    ...resultFields,
    ...enginesField,
    dry_run: booleanField('Always true, with dry_run=true only'),
    plan: array(plannedSchema),
  },
);

/** The reply after the end of an update or a rollback. */
function resultOf(session: Session) {
  return {
    summary: summarise(session),
    timing: { duration_ms: Math.round(session.durationMs), duration: formatDuration(session.durationMs) },
    run_id: session.runId,
    containers: session.containers.map(outcomeEntry),
    ...enginesEntry(session),
  };
}

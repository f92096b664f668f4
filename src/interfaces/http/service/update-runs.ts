import type { ServerResponse } from 'node:http';
import { formatDuration } from '../../../domain/text/duration.ts';
import { isBusy, ServiceError } from '../../../domain/text/errors.ts';
import type { Clock } from '../../../domain/outside/outside.ts';
import type { Session } from '../../../domain/run/session.ts';
import { startDeadline } from '../requests/deadline.ts';
import { HttpError } from '../replies/errors.ts';
import type { RouteReply } from '../replies/route-reply.ts';
import { resultOf } from '../replies/update-result.ts';
import { replyFields } from '../../json/timestamps.ts';

/** The updates that requests have started, including those whose requests were already answered. */
export type UpdateRuns = {
  /** Starts an update. Answers with its result, or if it runs in the background, when it begins. */
  readonly answer: (request: RunRequest, reply: RouteReply) => Promise<RouteReply | object>;
  /** Starts an update, and resolves to the run's id when it begins. */
  readonly begin: (request: RunRequest, response: ServerResponse) => Promise<string>;
  /** Stops all updates at their next safe point, and refuses further ones. Resolves when they have ended. */
  readonly stop: () => Promise<void>;
};

export type RunRequest = {
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

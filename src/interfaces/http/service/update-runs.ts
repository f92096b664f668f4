import type { ServerResponse } from 'node:http';
import { formatDuration } from '../../../domain/text/duration.ts';
import { isBusy, ServiceError } from '../../../domain/text/errors.ts';
import type { Clock } from '../../../domain/outside/outside.ts';
import { summarise, type Session } from '../../../domain/run/session.ts';
import { startDeadline } from '../requests/selection.ts';
import { HttpError, jsonType } from '../replies/errors.ts';
import type { RouteReply } from './route.ts';
import { replyFields } from '../../json/timestamps.ts';
import { enginesField as enginesEntry, outcomeEntry } from '../../json/entries.ts';
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
  text,
  booleanField,
} from '../replies/schemas.ts';
import type { Inventory } from '../../../domain/inventory.ts';
import type { Service } from './parts.ts';

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

/** The reply to an update that continues in the background. */
export const acceptedSchema = stamped({
  status: oneOf(['accepted'], 'Always "accepted"'),
  run_id: text('Id of the run in history and events'),
});

const resultFields = {
  summary: summarySchema,
  timing: object({
    duration_ms: integer('How long the update took, in milliseconds'),
    duration: text('The same as text, such as 1.25s'),
  }),
  run_id: text('Id of the run in history and events'),
  containers: array(outcomeSchema),
};

export const resultSchema = stamped(resultFields, enginesField);

const plannedSchema = object(
  {
    name: text('Name of the container'),
    image: text('Image reference with tag'),
    action: oneOf(['update', 'restart', 'skip'], 'The action that an update would take'),
    because: text('The reason, in a few words'),
    depends_on: array(text('Name of a container that is started first')),
    reason: text('Result of the check, or the reason for no update'),
  },
  {
    from: text('Running version, when known'),
    to: text('Version after the update, when known'),
    to_image: text('Reference after an update to another tag; absent if the tag stays'),
    data: object({
      saved: array(text('Path in the container whose data is copied, and put back if the new version fails')),
      not_saved: array(object({ path: text('Another path'), reason: text('Why it is not copied') })),
    }),
    ...engineField,
    ...kindField,
  },
);

/** All fields of the result, or those of the plan. OpenAPI 2.0 has no alternatives. */
export const resultOrPlanSchema = stamped(
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

type ListOf<Item> = {
  /** Field name of the list in the reply. */
  readonly name: string;
  readonly items: (view: Inventory) => readonly Item[];
  readonly entry: (item: Item) => object;
  /** Further fields, if there are any. */
  readonly extraFields?: (view: Inventory) => object;
};

/**
 * Replies with the entries that pass the filter, without a filter with all. Throws 503 before the first listing, and
 * 500 while the inventory may be outdated.
 */
type CachedList<Item> = (reply: RouteReply, service: Listed, keep?: (item: Item) => boolean) => RouteReply;

type Listed = Pick<Service, 'inventory' | 'inventoryFailure'>;

/**
 * The whole list of `whole` is serialised once for each change of the inventory, and the reply made once a second. Any
 * other request for it without a filter only costs a copy.
 */
export function createCachedList<Item>(
  { name, items, entry, extraFields = () => ({}) }: ListOf<Item>,
  whole: Listed,
  clock: Clock,
): CachedList<Item> {
  let revision = -1;
  let entries = '';
  let madeInSecond = -1;
  let body = Buffer.alloc(0);

  const write = (view: Inventory, chosen: readonly Item[]): string => {
    const fields = JSON.stringify(extraFields(view)).slice(1, -1);
    const more = fields === '' ? '' : `,${fields}`;
    return `{"${name}":${JSON.stringify(chosen.map(entry))},"count":${chosen.length}${more}`;
  };
  const finish = (text: string): string => `${text},${JSON.stringify(replyFields(clock.nowMs())).slice(1)}`;

  const all = (): Buffer => {
    const view = knownInventory(whole);
    const second = Math.floor(clock.nowMs() / 1000);
    if (view.revision === revision && second === madeInSecond) return body;
    if (view.revision !== revision) entries = write(view, items(view));
    revision = view.revision;
    madeInSecond = second;
    body = Buffer.from(finish(entries));
    return body;
  };
  return (reply, service, keep) => {
    const isWhole = keep === undefined && service === whole;
    const some = (view: Inventory) => finish(write(view, keep === undefined ? items(view) : items(view).filter(keep)));
    return reply.header('Content-Type', jsonType).send(isWhole ? all() : some(knownInventory(service)));
  };
}

/** Throws 503 before the first listing, and 500 while the inventory may be outdated. */
export function knownInventory({
  inventory,
  inventoryFailure,
}: Pick<Service, 'inventory' | 'inventoryFailure'>): Inventory {
  const view = inventory();
  if (!view.known) throw new HttpError(503, 'the container engine has not been listed yet', { 'Retry-After': '5' });
  const failure = inventoryFailure();
  if (failure !== undefined) throw failure;
  return view;
}

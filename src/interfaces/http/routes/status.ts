import type { TargetStatus } from '../../../domain/notification/message.ts';
import { createAuthentication, type KnownTokens } from '../guards/auth.ts';
import type { HttpParts, Service } from '../service/parts.ts';
import { defineRoute, type Route, type RouteRequest } from '../service/route.ts';
import {
  kindField,
  array,
  oneOf,
  integer,
  object,
  stamped,
  summarySchema,
  text,
  time,
  booleanField,
} from '../replies/schemas.ts';
import { triggers, updatePhases, shownName } from '../../../domain/run/session.ts';
import { countUnwatched } from '../../../domain/check/selection.ts';
import { printable } from '../../../domain/text/printable.ts';
import { internalError, problemOf, HttpError } from '../replies/errors.ts';
import type { RunUnderWay } from '../../../domain/run/event.ts';
import { flag, unlisted } from '../requests/request.ts';
import { replyFields, toTimestamp } from '../../json/timestamps.ts';
import type { EngineState } from '../../../domain/outside/engine.ts';
import { describeError } from '../../../domain/text/errors.ts';
import { startDeadline } from '../requests/selection.ts';

/** `GET /v1/status`: the result of the last update, and the time of the next one. */
export function statusRoute(parts: HttpParts, eventsTokens: KnownTokens | undefined): Route {
  const { settings, clock, notifications } = parts;
  const readsEvents = createEventsTest(settings.groups.includes('events') ? eventsTokens : undefined);
  return defineRoute({
    group: 'metrics',
    path: '/v1/status',
    access: 'api token',
    needs: 'viewer',
    filter: 'applies',
    summary: 'Summary of the last update',
    description:
      'Shows the result of the last update, and the time of the next one. With extra=true it also answers before the first update, and adds the schedule in words, the running update, the number of watched containers, and the state of the engine.',
    query: { extra: unlisted(flag('Answer also before the first update, with all fields')) },
    replies: {
      200: { description: 'The last update', schema: replySchema },
      204: { description: 'There has been no update yet, and nothing is being repaired; never with extra=true' },
    },
    answer: ({ query: { extra }, request }, reply) => {
      const { service, limited } = request;
      const status = service.status();
      const { lastRun, nextRunAtMs, running, repairing, updatesAvailable } = status;
      if (lastRun === undefined && !repairing && !extra) return reply.code(204).send();
      return {
        summary: lastRun?.summary ?? nothingYet,
        last_run: toTimestamp(lastRun?.atMs),
        next_run: toTimestamp(nextRunAtMs),
        running,
        repairing,
        updates_available: updatesAvailable,
        ...(extra && {
          schedule: status.schedule,
          schedule_off: status.scheduleOff,
          run: status.run && runEntry(status.run),
          ...watchEntry(service),
          reads_events: request.sessionId === undefined ? readsEvents(request) : settings.groups.includes('events'),
        }),
        notifications: limited === undefined ? notifications?.().map(notifiedEntry) : undefined,
        ...replyFields(clock.nowMs()),
      };
    },
  });
}

/** Whether the token of a request is also valid for events, so that a client need not try. */
function createEventsTest(tokens: KnownTokens | undefined): (request: RouteRequest) => boolean {
  if (tokens === undefined) return () => false;
  const authenticate = createAuthentication(tokens);
  return ({ raw, query }) => {
    try {
      authenticate(raw, query);
      return true;
    } catch {
      return false;
    }
  };
}

function notifiedEntry({ name, service, pending, sent, failed, lost, lastSentAtMs, lastFailure }: TargetStatus) {
  return {
    name,
    service,
    pending,
    sent,
    failed: failed + lost,
    last_sent: toTimestamp(lastSentAtMs),
    last_failure: lastFailure?.reason,
    last_failure_at: toTimestamp(lastFailure?.atMs),
  };
}

function runEntry({ runId, trigger, by, startedAtMs, isRollback: rollback, containers }: RunUnderWay) {
  return { run_id: runId, trigger, by, started_at: toTimestamp(startedAtMs), rollback, containers };
}

function watchEntry({
  inventory,
  unwatched,
  engineVersion,
  inventoryFailure,
  missingPermissions,
}: Pick<Service, 'inventory' | 'unwatched' | 'engineVersion' | 'inventoryFailure' | 'missingPermissions'>) {
  const { known: isListed, containers } = inventory();
  const failure = inventoryFailure();
  const version = engineVersion();
  const missing = missingPermissions();
  return {
    ...(isListed && { watched: containers.length, unwatched: countUnwatched(unwatched()) }),
    engine: {
      name: 'local',
      version: version === undefined ? undefined : printable(version, 60),
      reachable: isListed && failure === undefined,
      error: failure && (problemOf(failure) ?? internalError).message,
      missing_permissions: missing && {
        message: missing.message,
        remedy: missing.remedy,
        prevents_updates: missing.preventsUpdates,
      },
    },
  };
}

const nothingYet = { scanned: 0, updated: 0, failed: 0, restarted: 0, skipped: 0 };

const notifiedSchema = object(
  {
    name: text('Name of the target'),
    service: text('Scheme of its URL'),
    pending: integer('Messages that wait to be sent'),
    sent: integer('Messages sent since the start'),
    failed: integer('Messages given up since the start'),
  },
  {
    last_sent: time('When a message was sent last'),
    last_failure: text('Why the last attempt failed; absent when a message has been sent since'),
    last_failure_at: time('Time of that failure'),
  },
);

/** The update under way. */
const runSchema = object(
  {
    run_id: text('Id of the run in history and events'),
    trigger: oneOf(triggers, 'The origin of the run'),
    started_at: time('When it began'),
    containers: array(
      object(
        {
          name: text('Name of a container whose update has begun'),
          phase: oneOf(['waiting', ...updatePhases], 'The current step of its update'),
        },
        {
          ...kindField,
          percent: integer('Pulled part of its image, or copied part of its data, from 0 to 100'),
          tasks: object({
            running: integer('Tasks of a service that run the target version of this phase'),
            wanted: integer('Tasks that should run it'),
          }),
        },
      ),
    ),
  },
  {
    by: text('The person or token that has asked for it; absent if nobody has'),
    rollback: booleanField('Whether it is a requested rollback; absent for an update'),
  },
);

/** Containers that are not watched, by reason. */
const unwatchedSchema = object({
  reason: text('Kind of reason'),
  count: integer('How many containers'),
  remedy: text('How to watch them'),
});

const engineSchema = object(
  { name: text('Name of the engine'), reachable: booleanField('Whether it answers, and sends its events') },
  {
    version: text('Its version; absent before it has answered'),
    error: text('Why it does not answer'),
    missing_permissions: object({
      message: text('All calls of updates that a proxy in front of it forbids'),
      remedy: text('The settings of usual proxies that permit them'),
      prevents_updates: booleanField('Whether no update is possible; otherwise updates work in part'),
    }),
  },
);

const replySchema = stamped(
  {
    summary: summarySchema,
    running: booleanField('Whether an update is running now'),
    repairing: booleanField('Whether the remains of an interrupted update are being repaired now'),
  },
  {
    updates_available: integer('Containers for which a newer image is known; absent before the first check'),
    last_run: time('When the last update ended; absent before the first'),
    next_run: time('When the next update is due; absent when none is scheduled'),
    schedule: text('When updates are due, in words; absent when none is scheduled'),
    schedule_off: text('Why no update is scheduled'),
    run: runSchema,
    watched: integer('Containers that are watched; absent before the engine has been listed'),
    unwatched: array(unwatchedSchema),
    engine: engineSchema,
    reads_events: booleanField('Whether the token of this request is also valid for events'),
    notifications: array(notifiedSchema),
  },
);

/** `GET /v1/engines`: the engines and whether they answer, from memory. The route exists with several engines only. */
export function enginesRoutes({ service: { engines: all }, clock }: HttpParts): readonly Route[] {
  if (all === undefined) return [];
  const route = defineRoute({
    group: 'containers',
    path: '/v1/engines',
    access: 'api token',
    needs: 'viewer',
    filter: 'applies',
    summary: 'List container engines',
    description: 'Lists the engines in configured order, and whether they answer, from memory.',
    query: {},
    replies: { 200: { description: 'The engines', schema: listSchema } },
    answer: ({ request: { service } }) => {
      const entries = (service.engines?.() ?? []).map(entryOf);
      return { engines: entries, count: entries.length, ...replyFields(clock.nowMs()) };
    },
  });
  return [route];
}

function entryOf({ name, address, kind, version, reachable, sinceMs, error, lastRunAtMs, ...counts }: EngineState) {
  return {
    name,
    address,
    kind,
    version,
    reachable: reachable === true,
    since: toTimestamp(sinceMs),
    error,
    containers: counts.containers,
    updates_available: counts.updatesAvailable,
    last_run: toTimestamp(lastRunAtMs),
  };
}

const listSchema = stamped({
  engines: array(
    object(
      {
        name: text('Name of the engine'),
        address: text('Its address, without a user'),
        reachable: booleanField('Whether it answers'),
        containers: integer('Its watched containers in the last listing'),
      },
      {
        updates_available: integer('Its watched containers with a known newer image; absent before the first check'),
        kind: text('docker or podman; absent before it has answered'),
        version: text('Its version; absent before it has answered'),
        since: time('Since when it answers, or does not; absent before the first attempt'),
        error: text('Why it does not answer'),
        last_run: time('When the last update on it ended; absent before the first'),
      },
    ),
  ),
  count: integer('Number of entries'),
});

/** `/livez`, `/startupz` and `/readyz`: an orchestrator's probes. */
export function healthRoutes({ service, clock, log }: HttpParts, readinessTimeoutMs: number): readonly Route[] {
  const open = { group: 'health', access: 'open', needs: 'nothing', filter: 'not concerned' } as const;
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

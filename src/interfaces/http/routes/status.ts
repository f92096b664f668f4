import type { TargetStatus } from '../../../domain/notification/message.ts';
import { createAuthentication, type KnownTokens } from '../guards/auth.ts';
import type { HttpParts, Service } from '../service/parts.ts';
import { defineRoute, type Route, type RouteRequest } from '../service/route.ts';
import { kindField } from '../replies/container-schemas.ts';
import { array, oneOf, integer, object, stamped, summarySchema, text, time, booleanField } from '../replies/schemas.ts';
import { triggers, updatePhases } from '../../../domain/run/session.ts';
import { countUnwatched } from '../../../domain/check/watch-rules.ts';
import { printable } from '../../../domain/text/printable.ts';
import { internalError, problemOf } from '../replies/errors.ts';
import type { RunUnderWay } from '../../../domain/run/event.ts';
import { flag, unlisted } from '../requests/query.ts';
import { replyFields, toTimestamp } from '../../json/timestamps.ts';

/** `GET /v1/status`: the result of the last update, and the time of the next one. */
export function statusRoute(parts: HttpParts, eventsTokens: KnownTokens | undefined): Route {
  const { settings, service, clock, notifications } = parts;
  const readsEvents = createEventsTest(settings.groups.includes('events') ? eventsTokens : undefined);
  return defineRoute({
    group: 'metrics',
    path: '/v1/status',
    access: 'api token',
    summary: 'Summary of the last update',
    description:
      'Shows the result of the last update, and the time of the next one. With extra=true it also answers before the first update, and adds the schedule in words, the running update, the number of watched containers, and the state of the engine.',
    query: { extra: unlisted(flag('Answer also before the first update, with all fields')) },
    replies: {
      200: { description: 'The last update', schema: replySchema },
      204: { description: 'There has been no update yet, and nothing is being repaired; never with extra=true' },
    },
    answer: ({ query: { extra }, request }, reply) => {
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
        notifications: notifications?.().map(notifiedEntry),
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

function runEntry({ runId, trigger, startedAtMs, isRollback: rollback, containers }: RunUnderWay) {
  return { run_id: runId, trigger, started_at: toTimestamp(startedAtMs), rollback, containers };
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
          percent: integer('Pulled part of its image, from 0 to 100'),
          tasks: object({
            running: integer('Tasks of a service that run the target version of this phase'),
            wanted: integer('Tasks that should run it'),
          }),
        },
      ),
    ),
  },
  { rollback: booleanField('Whether it is a requested rollback; absent for an update') },
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
      message: text('All calls of updates that a proxy before it forbids'),
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

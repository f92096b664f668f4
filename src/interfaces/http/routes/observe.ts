import { triggers } from '../../../domain/run/session.ts';
import { HttpError } from '../replies/errors.ts';
import type { HttpParts } from '../service/parts.ts';
import { count, moment, flag, unlisted } from '../requests/request.ts';
import { defineRoute, type Route } from '../service/route.ts';
import {
  array,
  oneOf,
  integer,
  object,
  stamped,
  text,
  time,
  engineField,
  enginesField,
  outcomeSchema,
  booleanField,
} from '../replies/schemas.ts';
import { historyEntry, configurationEntry } from '../../json/entries.ts';
import { replyFields } from '../../json/timestamps.ts';
import type { Cors } from '../guards/clients.ts';
import type { EventStreams } from '../events/event-streams.ts';
import type { TargetStatus } from '../../../domain/notification/message.ts';

/** `GET /v1/history`: the last runs, at most 500. */
export function historyRoute({ clock }: HttpParts): Route {
  return defineRoute({
    group: 'history',
    path: '/v1/history',
    access: 'api token',
    needs: 'viewer',
    filter: 'applies',
    summary: 'List past updates',
    description: 'Lists the updates of the last days, oldest first; at most 500 are kept.',
    query: {
      since: moment('Only entries at or after this time'),
      until: moment('Only entries at or before this time'),
      limit: count('Only this number of newest entries; 0 or absent: all'),
    },
    replies: {
      200: { description: 'The updates', schema: historySchema },
      500: { description: 'The history cannot be read' },
    },
    answer: async ({ query: { since = -Infinity, until = Infinity, limit = Infinity }, request: { service } }) => {
      if (since > until) throw new HttpError(400, 'invalid query parameters: "since" is later than "until"');
      await service.refreshHistory();
      const entries = service
        .history()
        .filter(({ timestampMs }) => timestampMs >= since && timestampMs <= until)
        .slice(-limit)
        .map(historyEntry);
      return { entries, count: entries.length, ...replyFields(clock.nowMs()) };
    },
  });
}

const historySchema = stamped({
  entries: array(
    object(
      {
        timestamp: time('When the update ended'),
        scanned: integer('Containers scanned'),
        updated: integer('Containers updated'),
        failed: integer('Containers whose update failed'),
        restarted: integer('Containers restarted because of linked dependencies'),
        skipped: integer('Containers skipped'),
        rolled_back: integer('Containers whose new version failed and was rolled back; they count as failed too'),
        run_id: text('Id of the run'),
        trigger: oneOf(triggers, 'The origin of the run'),
        duration_ms: integer('How long it took, in milliseconds'),
        failures: array(
          object(
            {
              name: text('Name of a container whose update failed'),
              outcome: oneOf(['failed', 'rolled_back'], 'Whether it was rolled back'),
              reason: text('Reason for the failure'),
            },
            engineField,
          ),
        ),
        containers: array(outcomeSchema),
      },
      {
        ...enginesField,
        by: text(
          'The one who asked for it: a browser session, a token by its name, Home Assistant; absent if nobody did, or the command line',
        ),
        went_back: integer('Containers that went back to their earlier version on request; absent if none did'),
      },
    ),
  ),
  count: integer('Number of entries'),
});

/** `GET /v1/events`: the stream of events. */
export function eventsRoute(cors: Cors, streams: EventStreams): Route {
  return defineRoute({
    group: 'events',
    path: '/v1/events',
    access: 'events token',
    needs: 'viewer',
    filter: 'applies',
    summary: 'Follow the events',
    description:
      'A stream of server-sent events that stays open. Each has an id; send the last one as Last-Event-ID to resume after it. The stream never completes, so follow it with an EventSource or a streaming client, not from this page. With extra=true it also has the steps of a run: container_checked, phase_entered and pull_progress.',
    query: { extra: unlisted(flag('Also send the steps of a run')) },
    replies: {
      200: { description: 'The stream' },
      403: { description: 'The origin is not allowed' },
      503: { description: 'There are too many streams already, or the service is stopping' },
    },
    produces: 'text/event-stream',
    answer: ({ request: { raw, limited, isStillAllowed }, query: { extra } }, reply) => {
      if (!cors.admits(raw)) throw new HttpError(403, 'origin not allowed');
      const headers = { 'Content-Type': 'text/event-stream; charset=utf-8', 'Cache-Control': 'no-cache, no-transform' };
      // https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_buffering
      const unbuffered = { 'X-Accel-Buffering': 'no' };
      if (raw.method === 'HEAD') return reply.headers({ ...headers, ...unbuffered }).send();
      if (!streams.hasRoom()) throw new HttpError(503, 'too many event streams are open', { 'Retry-After': '30' });
      reply.raw.writeHead(200, { ...headers, ...unbuffered });
      const lastEventId = raw.headers['last-event-id'];
      streams.open(reply.raw, {
        lastEventId: typeof lastEventId === 'string' ? lastEventId : undefined,
        extra,
        isAllowed: isStillAllowed,
        ...(limited && { limitEvent: limited.limitEvent }),
      });
      return reply;
    },
  });
}

/** `GET /v1/config`: the effective settings without secrets. */
export function configRoute({ configuration, clock }: HttpParts): Route {
  return defineRoute({
    group: 'config',
    path: '/v1/config',
    access: 'api token',
    needs: 'admin',
    filter: 'refuses',
    summary: 'Show the settings in effect',
    description: 'Shows the settings in effect, and every option with the origin of its value. Secrets are redacted.',
    query: {},
    replies: { 200: { description: 'The settings', schema: configSchema } },
    answer: () => ({ ...configurationEntry(configuration()), ...replyFields(clock.nowMs()) }),
  });
}

const configSchema = stamped({
  config: object({
    monitor_only: booleanField('Newer images are reported, and not applied'),
    cleanup: booleanField('Old images are removed after an update'),
    no_pull: booleanField('No registry is contacted'),
    no_restart: booleanField('Containers are not started again'),
    rolling_restart: booleanField('Containers are updated one at a time'),
    include_stopped: booleanField('Stopped containers are watched too'),
    include_restarting: booleanField('Restarting containers are watched too'),
    lifecycle_hooks: booleanField('Hooks of containers are run'),
    label_enable: booleanField('Only containers with the enable label are watched'),
    filter_desc: text('The filter of containers, in words'),
    scope: text('Only containers of this scope are watched; empty: containers without a scope'),
  }),
  options: array(
    object({
      name: text('Name of the option'),
      value: text('Value of the option; secrets are redacted'),
      source: text('The flag or variable it came from, or "default"'),
      given: booleanField(
        'Whether a user has set it; false for a default, and for variables of every session such as HOME',
      ),
      meaning: text('Meaning of the option'),
    }),
  ),
});

/**
 * `GET /v1/metrics`, and `/v1/metrics/notifications` on a separate path, because collectors of the Watchtower family
 * split each line of `/v1/metrics` at its one space and know no labels.
 * https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
 */
export function metricsRoutes({ metrics, notifications = () => [] }: HttpParts): readonly Route[] {
  const shared = {
    group: 'metrics',
    access: 'api token',
    needs: 'viewer',
    filter: 'applies',
    query: {},
    replies: { 200: { description: 'The metrics' } },
    produces: 'text/plain',
  } as const;
  const contentType = 'text/plain; version=0.0.4; charset=utf-8';
  return [
    defineRoute({
      ...shared,
      path: '/v1/metrics',
      summary: 'Metrics for Prometheus',
      description: 'Metrics in the text format of Prometheus.',
      answer: async ({ request: { limited } }, reply) => {
        const text = await metrics();
        return reply.header('Content-Type', contentType).send(limited?.limitMetrics(text) ?? text);
      },
    }),
    defineRoute({
      ...shared,
      path: '/v1/metrics/notifications',
      summary: 'Metrics of notifications for Prometheus',
      description: 'How many notifications were sent, tried again and given up, by service.',
      answer: (_, reply) => reply.header('Content-Type', contentType).send(notificationsText(notifications())),
    }),
  ];
}

const results = ['sent', 'retried', 'failed', 'lost'] as const;

function notificationsText(targets: readonly TargetStatus[]): string {
  const services = [...new Set(targets.map(({ service }) => service))];
  const lines = services.flatMap((service) => {
    const own = targets.filter((target) => target.service === service);
    return results.map((result) => {
      let count = 0;
      for (const target of own) count += target[result];
      return `upkeep_notifications_total{service="${service.replaceAll(/[^\w+.-]/g, '_')}",result="${result}"} ${count}`;
    });
  });
  const head = [
    '# HELP upkeep_notifications_total Notifications that were sent, attempts that will be repeated, and messages that were given up or lost',
    '# TYPE upkeep_notifications_total counter',
  ];
  return `${[...head, ...lines].join('\n')}\n`;
}

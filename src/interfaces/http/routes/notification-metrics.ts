import type { TargetStatus } from '../../../domain/notification/status.ts';
import type { HttpParts } from '../service/parts.ts';
import { defineRoute, type Route } from '../service/route.ts';

/**
 * `GET /v1/metrics/notifications`, on a separate path, because collectors of the Watchtower family split each line of
 * `/v1/metrics` at its one space and know no labels.
 */
export function notificationMetricsRoute({ notifications = () => [] }: HttpParts): Route {
  return defineRoute({
    group: 'metrics',
    path: '/v1/metrics/notifications',
    access: 'api token',
    summary: 'Metrics of notifications for Prometheus',
    description: 'How many notifications were sent, tried again and given up, by service.',
    query: {},
    replies: { 200: { description: 'The metrics' } },
    produces: 'text/plain',
    answer: (_, reply) =>
      reply.header('Content-Type', 'text/plain; version=0.0.4; charset=utf-8').send(textOf(notifications())),
  });
}

const results = ['sent', 'retried', 'failed', 'lost'] as const;

function textOf(targets: readonly TargetStatus[]): string {
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
    '# HELP upkeep_notifications_total Notifications that were sent, attempts that are to be tried again, and messages that were given up or lost',
    '# TYPE upkeep_notifications_total counter',
  ];
  return `${[...head, ...lines].join('\n')}\n`;
}

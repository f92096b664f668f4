import type { TargetStatus } from '../../../domain/notification/message.ts';
import type { HttpParts } from '../service/parts.ts';
import { defineRoute, type Route } from '../service/route.ts';

/**
 * `GET /v1/metrics`, and `/v1/metrics/notifications` on a separate path, because collectors of the Watchtower family
 * split each line of `/v1/metrics` at its one space and know no labels.
 * https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
 */
export function metricsRoutes({ metrics, notifications = () => [] }: HttpParts): readonly Route[] {
  const shared = {
    group: 'metrics',
    access: 'api token',
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
      answer: async (_, reply) => reply.header('Content-Type', contentType).send(await metrics()),
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

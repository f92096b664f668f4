import type { HttpParts } from '../service/parts.ts';
import { defineRoute, type Route } from '../service/route.ts';

/** `GET /v1/metrics`: https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format */
export function metricsRoute({ metrics }: HttpParts): Route {
  return defineRoute({
    group: 'metrics',
    path: '/v1/metrics',
    access: 'api token',
    summary: 'Metrics for Prometheus',
    description: 'Metrics in the text format of Prometheus.',
    query: {},
    replies: { 200: { description: 'The metrics' } },
    produces: 'text/plain',
    answer: async (_, reply) => {
      const text = await metrics();
      return reply.header('Content-Type', 'text/plain; version=0.0.4; charset=utf-8').send(text);
    },
  });
}

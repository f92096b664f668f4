import type { Cors } from '../guards/cors.ts';
import { HttpError } from '../replies/errors.ts';
import type { EventStreams } from '../events/event-streams.ts';
import { flag, unlisted } from '../requests/query.ts';
import { defineRoute, type Route } from '../service/route.ts';

/** `GET /v1/events`: the stream of events. */
export function eventsRoute(cors: Cors, streams: EventStreams): Route {
  return defineRoute({
    group: 'events',
    path: '/v1/events',
    access: 'events token',
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
    answer: ({ request: { raw }, query: { extra } }, reply) => {
      if (!cors.admits(raw)) throw new HttpError(403, 'origin not allowed');
      const headers = { 'Content-Type': 'text/event-stream; charset=utf-8', 'Cache-Control': 'no-cache, no-transform' };
      // https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_buffering
      const unbuffered = { 'X-Accel-Buffering': 'no' };
      if (raw.method === 'HEAD') return reply.headers({ ...headers, ...unbuffered }).send();
      if (!streams.hasRoom()) throw new HttpError(503, 'too many event streams are open', { 'Retry-After': '30' });
      reply.raw.writeHead(200, { ...headers, ...unbuffered });
      const lastEventId = raw.headers['last-event-id'];
      streams.open(reply.raw, { lastEventId: typeof lastEventId === 'string' ? lastEventId : undefined, extra });
      return reply;
    },
  });
}

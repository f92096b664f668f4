import { randomBytes } from 'node:crypto';
import { createServer, IncomingMessage, type Server, type ServerOptions } from 'node:http';
import { describeError } from '../../../domain/text/errors.ts';
import { createAccessLog } from '../guards/access-log.ts';
import { answerConnect } from './connect-request.ts';
import { type Connections, trackConnections } from './connections.ts';
import { watchTokens } from '../guards/auth.ts';
import { createCors } from '../guards/cors.ts';
import { createEventStreams } from '../events/event-streams.ts';
import { answerClientError, type ClientErrorParts } from './client-error.ts';
import { createDoor, type Door } from './door.ts';
import { HttpResponse } from '../replies/http-response.ts';
import { limitsOf } from '../guards/limits.ts';
import type { HttpParts } from '../service/parts.ts';
import { createRouteTable } from './route-table.ts';
import { enabledRoutes } from '../routes/routes.ts';
import { createSessions } from '../guards/sessions.ts';
import { createTlsServer } from './tls.ts';
import { createRegistryHints } from '../service/registry-hints.ts';
import { createUpdateRuns } from '../service/update-runs.ts';

/** The HTTP server before it listens. */
export type HttpServer = {
  readonly server: Server;
  readonly streams: { readonly count: () => number };
  /**
   * Accepts no more connections, ends the event streams, waits for running requests, then for the updates that they
   * began.
   */
  readonly stop: () => Promise<void>;
};

/** Builds the HTTP server with the groups in its settings. */
export function createHttpServer(parts: HttpParts): HttpServer {
  const { settings, service, clock, log } = parts;
  const limits = limitsOf(parts.limits);
  const cors = createCors(settings.corsOrigins);
  const runs = createUpdateRuns(clock);
  const hints = createRegistryHints({ settings, service, clock, log });
  const streams = createEventStreams({
    eventLog: service.eventLog,
    runOptions: parts.runOptions,
    limits,
    clock,
    log,
    epoch: randomBytes(6).toString('hex'),
  });
  const accessLog = createAccessLog(clock, log);
  const { token, eventsToken, webhookSecret } = settings;
  const tokens = {
    api: token && watchTokens(token, log),
    events: eventsToken && watchTokens(eventsToken, log),
    webhooks: webhookSecret && watchTokens(webhookSecret, log),
  };
  const { password, kept } = parts.sessions ?? {};
  const sessions = createSessions({ tokens: tokens.api, password, kept, clock, log });
  const routes = createRouteTable(
    enabledRoutes({
      ...parts,
      eventsTokens: tokens.events,
      browsers: sessions,
      cors,
      streams,
      runs,
      hints,
      readinessTimeoutMs: limits.readinessTimeoutMs,
    }),
    settings.basePath,
  );
  const shared = { routes, clock, connections: () => connections };
  const door = createDoor({ ...shared, settings, tokens, sessions, log, accessLog, cors });
  const server = serverFor(door, shared, parts);
  // Before it listens, `listen` reports the error. After that, the next connection may be accepted again.
  server.on('error', (error) => {
    if (server.listening) log.warn('A connection could not be accepted', { error: describeError(error) });
  });
  const connections: Connections = trackConnections(server, limits.mostConnections);
  let stopping: Promise<void> | undefined;

  return {
    server,
    streams,
    stop: () => (stopping ??= stop()),
  };

  async function stop(): Promise<void> {
    streams.close();
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    const updatesStopped = Promise.all([runs.stop(), hints.stop()]);
    connections.closeIdle();
    const grace = new AbortController();
    await Promise.race([closed, clock.sleep(limits.graceMs, grace.signal).catch(() => undefined)]);
    grace.abort();
    connections.closeAll();
    await Promise.all([closed, updatesStopped]);
    accessLog.close();
  }
}

function serverFor(listener: Door, clientErrors: ClientErrorParts, { settings, log }: HttpParts): Server {
  const server =
    settings.tls === undefined
      ? createServer(serverOptions, listener)
      : createTlsServer(settings.tls, serverOptions, { listener, log });
  server.on('checkContinue', listener);
  server.on('checkExpectation', listener);
  server.on('connect', answerConnect(listener, clientErrors.connections));
  server.on('clientError', (error, socket) => answerClientError(error, socket, clientErrors));
  return server;
}

const serverOptions: ServerOptions<typeof IncomingMessage, typeof HttpResponse> = {
  IncomingMessage,
  ServerResponse: HttpResponse,
  requireHostHeader: false,
  /** The time limits of a request's headers, and of the whole request. */
  headersTimeout: 20_000,
  requestTimeout: 60_000,
  connectionsCheckingInterval: 5000,
  /**
   * Longer than the idle time of common proxies, so that they close connections first:
   * https://nginx.org/en/docs/http/ngx_http_upstream_module.html#keepalive_timeout
   */
  keepAliveTimeout: 72_000,
};

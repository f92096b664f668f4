import { randomBytes } from 'node:crypto';
import { createServer, IncomingMessage, STATUS_CODES, type Server, type ServerOptions } from 'node:http';
import { rightsOfPerson, type Person } from '../../../domain/access/rights.ts';
import { describeError, ServiceError } from '../../../domain/text/errors.ts';
import { createAccessLog } from '../guards/access-log.ts';
import { trackConnections, type Connections } from './connections.ts';
import { createRevocations, watchTokens, watchFiles } from '../guards/auth.ts';
import { createCors } from '../guards/clients.ts';
import { createEventStreams } from '../events/event-streams.ts';
import { createDoor, type Door } from './door.ts';
import { HttpResponse, errorBody, jsonType, type Problem } from '../replies/errors.ts';
import type { HttpParts, HttpLimits } from '../service/parts.ts';
import { createRouteTable, type Route, type RouteTable } from '../service/route.ts';
import { enabledRoutes, type RouteParts } from '../routes/routes.ts';
import { createSessions } from '../guards/sessions.ts';
import { createRegistryHints } from '../service/registry-hints.ts';
import { createUpdateRuns } from '../routes/update.ts';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock, Log } from '../../../domain/outside/outside.ts';
import { readFileSync } from 'node:fs';
import { createServer as createHttpsServer, type Server as HttpsServer } from 'node:https';
import { createSecureContext } from 'node:tls';
import { quoted } from '../../../domain/text/printable.ts';
import type { TlsFiles } from '../../../domain/settings/http-settings.ts';

/** The HTTP server before it listens. */
export type HttpServer = {
  readonly server: Server;
  readonly streams: { readonly count: () => number };
  /** All that it answers, so that a test finds each of them. */
  readonly routes: readonly Route[];
  /**
   * Accepts no more connections, ends the event streams, waits for running requests, then for the updates that they
   * began.
   */
  readonly stop: () => Promise<void>;
};

/** Builds the HTTP server with the groups in its settings. */
export function createHttpServer(parts: HttpParts & Pick<RouteParts, 'openSignIns'>): HttpServer {
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
  const { password, kept } = parts.sessions ?? {};
  const revocations = createRevocations(kept);
  const tokens = {
    api: token && revocations.apply(watchTokens(token, log)),
    events: eventsToken && revocations.apply(watchTokens(eventsToken, log)),
    webhooks: webhookSecret && watchTokens(webhookSecret, log),
  };
  const { issuer } = parts;
  const people = issuer && {
    credential: issuer.credential,
    rightsOf: (person: Omit<Person, 'from'>) => rightsOfPerson({ ...person, from: 'issuer' }, settings.people),
  };
  const sessions = createSessions({ tokens: tokens.api, password, people, kept, clock, log });
  const served = enabledRoutes({
    ...parts,
    tokens,
    revocations,
    browsers: sessions,
    cors,
    streams,
    runs,
    hints,
    readinessTimeoutMs: limits.readinessTimeoutMs,
  });
  const routes = createRouteTable(served, settings.basePath);
  const shared = { routes, clock, connections: () => connections };
  const door = createDoor({ ...shared, settings, service, tokens, sessions, log, accessLog, cors });
  const server = serverFor(door, shared, parts);
  // Before it listens, `listen` reports the error. After that, the next connection may be accepted again.
  server.on('error', (error) => {
    if (server.listening) log.warn('A connection could not be accepted', { error: describeError(error) });
  });
  const connections: Connections = trackConnections(server, limits.maxConnections);
  let stopping: Promise<void> | undefined;

  return {
    server,
    streams,
    routes: served,
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

/**
 * Treats `CONNECT` like any other request, which is answered with 404 or 405. Node makes no response for it, and would
 * close the connection silently. https://nodejs.org/api/http.html#event-connect
 */
function answerConnect(
  listener: Door,
  connections: () => Pick<Connections, 'hasPendingReply' | 'isRefused'>,
): (request: IncomingMessage, socket: Duplex) => void {
  return (request, socket) => {
    if (!(socket instanceof Socket)) return void socket.destroy();
    // While earlier replies are outstanding, no other reply can be sent.
    if (connections().hasPendingReply(socket) || connections().isRefused(socket)) return socket.destroySoon();
    const response = new HttpResponse(request);
    response.shouldKeepAlive = false;
    try {
      response.assignSocket(socket);
    } catch {
      // Node has an outstanding reply that `connections` does not know.
      return void socket.destroy();
    }
    response.once('finish', () => socket.end());
    socket.on('error', () => socket.destroy());
    listener(request, response);
  };
}

type ClientError = Error & { readonly code?: string; readonly rawPacket?: Buffer };

type ClientErrorParts = {
  readonly clock: Clock;
  readonly routes: RouteTable;
  readonly connections: () => Pick<Connections, 'isAnswering' | 'hasPendingReply' | 'isRefused' | 'closeAfterReplies'>;
};

/** Answers a malformed or unfinished request while its sender can still read the answer. */
function answerClientError(error: ClientError, socket: Duplex, parts: ClientErrorParts): void {
  const { clock, routes, connections } = parts;
  const isClosed = error.code === 'ECONNRESET' || !socket.writable;
  // After the begin of a reply, the client would read another one as its continuation.
  if (isClosed || connections().isAnswering(socket)) {
    socket.destroy(error);
    return;
  }
  // The client would read the answer as the reply to its earlier request.
  if (connections().closeAfterReplies(socket)) return;
  const { status, message, headers = {} } = unknownMethod(error, routes) ?? problems[error.code ?? ''] ?? malformed;
  const body = errorBody(message, clock.nowMs());
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    `Content-Type: ${jsonType}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'X-Content-Type-Options: nosniff',
    'Connection: close',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

/** Node's parser knows only registered methods. Others are not supported either. */
function unknownMethod({ code, rawPacket }: ClientError, routes: RouteTable): Problem | undefined {
  if (code !== 'HPE_INVALID_METHOD') return undefined;
  const begin = rawPacket?.toString('latin1', 0, 4096) ?? '';
  // https://www.rfc-editor.org/rfc/rfc9112#section-3
  const [, method, target] = /^([\w!#$%&'*+.^`|~-]{1,64}) (\S+) HTTP\/1\.[01]\r?\n/.exec(begin) ?? [];
  if (method === undefined || target === undefined) return undefined;
  const found = routes.find(method, target);
  return found.kind === 'problem' ? found.problem : undefined;
}

const malformed: Problem = { status: 400, message: 'the request is malformed' };

/** https://nodejs.org/api/http.html#event-clienterror */
const problems: Readonly<Record<string, Problem>> = {
  HPE_HEADER_OVERFLOW: { status: 431, message: 'the request headers are too large' },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { status: 413, message: 'the chunk extensions are too large' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, message: 'the request did not come in time' },
};

/** The effective bounds. Event streams never use the last quarter of the connections. */
function limitsOf(limits: Partial<HttpLimits> = {}): HttpLimits {
  const maxConnections = limits.maxConnections ?? maxConnectionsWithin(descriptorLimit());
  const maxStreams = Math.min(10_000, Math.floor(maxConnections * 0.75));
  return { ...defaultLimits, maxStreams, ...limits, maxConnections };
}

const defaultLimits = { streamBufferBytes: 256 * 1024, heartbeatMs: 15_000, readinessTimeoutMs: 5000, graceMs: 10_000 };

/**
 * The highest number of open connections that leaves enough descriptors for the engine, registries and files. Node
 * raises its limit to the permitted maximum.
 */
export function maxConnectionsWithin(descriptors: number): number {
  const reserved = Math.min(reservedDescriptors, Math.floor(descriptors / 2));
  return Math.max(fewestConnections, Math.min(maxConnections, descriptors - reserved));
}

/** Limit of open files of this process, or the usual default if the system does not report it. */
export function descriptorLimit(): number {
  try {
    // https://man7.org/linux/man-pages/man5/proc_pid_limits.5.html
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? usualLimit : Number(soft);
  } catch {
    return usualLimit;
  }
}

/** `ulimit -n` of most systems. */
const usualLimit = 1024;

/** 256 connections to an engine, some dozens to registries, and Node's own files. */
const reservedDescriptors = 512;

const fewestConnections = 16;

/** An idle connection takes about 10 kB, and there may be ten thousand event streams. */
const maxConnections = 12_000;

/** An HTTPS server that reads its certificate again when the files change. A new one applies to new connections. */
function createTlsServer(
  { certFile, keyFile }: TlsFiles,
  options: ServerOptions<typeof IncomingMessage, typeof HttpResponse>,
  { listener, log }: { readonly listener: Door; readonly log: Log },
): HttpsServer {
  const pair = watchPair({ certFile, keyFile }, log);
  let active = pair();
  const server = createHttpsServer({ ...options, ...active }, listener);
  server.prependListener('connection', () => {
    const current = pair();
    if (current === active) return;
    active = current;
    server.setSecureContext(current);
  });
  return server;
}

function watchPair({ certFile, keyFile }: TlsFiles, log: Log) {
  try {
    return watchFiles([certFile, keyFile], {
      read: ([cert = '', key = '']) => {
        // A new certificate without its key must not replace the old pair.
        createSecureContext({ cert, key });
        return { cert, key, minVersion: 'TLSv1.2' as const };
      },
      log,
    });
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new ServiceError('invalid-input', `Cannot use the TLS certificate ${quoted(certFile)}: ${why}`, { cause });
  }
}

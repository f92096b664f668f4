import { rmSync } from 'node:fs';
import http from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * What goes wrong with one request. `before`: it never reaches the upstream. `during`: the upstream
 * has it and is at work, and its connection is cut, as when a client dies. `after`: the upstream has
 * done it and answered, and the answer is lost.
 */
export type Fault =
  /** The connection is reset. */
  | { readonly kind: 'reset'; readonly when: Moment }
  /** `kill()` is called, then the connection is reset: pass a pid for SIGKILL. */
  | { readonly kind: 'kill'; readonly when: Moment; readonly kill: number | (() => void) }
  /** No answer, ever: until the client leaves or the proxy closes. */
  | { readonly kind: 'hang'; readonly when: 'before' | 'after' }
  /** This answer instead; with `when: 'after'` in place of the true one. */
  | {
      readonly kind: 'answer';
      readonly when: 'before' | 'after';
      readonly status: number;
      readonly body?: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** The true answer, this much later. */
  | { readonly kind: 'delay'; readonly when: 'before' | 'after'; readonly ms: number }
  /** Sent upstream twice, one after the other; the client gets the second answer. */
  | { readonly kind: 'duplicate' }
  /** The body of the answer ends after so many bytes, and the connection is reset. */
  | { readonly kind: 'cut'; readonly bytes: number };

export type Moment = 'before' | 'during' | 'after';

export type FaultRule = {
  /** The number of the change (from 1), or which calls; without either, every call. */
  readonly at?: number | ((call: ProxiedCall) => boolean);
  /** How often it strikes; default once. */
  readonly times?: number;
  readonly fault: Fault;
};

export type ProxiedCall = {
  /** From 1, over the calls that change something; undefined for those that only read. */
  readonly change: number | undefined;
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly host: string | undefined;
  /** What struck it, if anything. */
  readonly fault: Fault['kind'] | undefined;
  /** The upstream's status, once it has answered. */
  readonly status: number | undefined;
};

export type FaultProxyOptions = {
  /** A socket's path, or a port (0: a free one) of 127.0.0.1. */
  readonly listen: { readonly socketPath: string } | { readonly port: number };
  readonly upstream: { readonly socketPath: string } | { readonly port: number; readonly host?: string };
  /** Which requests are numbered; default: all but GET, HEAD and the engine's `wait`, `resize` and `auth`. */
  readonly isChange?: (method: string, path: string) => boolean;
};

export type FaultProxy = {
  /** 0 when it listens on a socket. */
  readonly port: number;
  /** Everything that came through since the start, in order of arrival. */
  readonly calls: readonly ProxiedCall[];
  /** Adds a rule; the first that fits strikes. */
  readonly arm: (rule: FaultRule) => void;
  /** Forgets all rules. */
  readonly disarm: () => void;
  /** Resolves when a call that fits has arrived; also one that is in `calls` already. */
  readonly arrival: (fits: (call: ProxiedCall) => boolean) => Promise<ProxiedCall>;
  readonly close: () => Promise<void>;
};

/**
 * Stands between the code under test and an engine or a registry, and makes single requests go
 * wrong. Streams (events, pulls, logs) and upgraded connections (exec, attach) pass as they come.
 */
export async function createFaultProxy(options: FaultProxyOptions): Promise<FaultProxy> {
  const isChange = options.isChange ?? isEngineChange;
  const calls: Writable<ProxiedCall>[] = [];
  const waiters = new Set<(call: ProxiedCall) => void>();
  let rules: { readonly rule: FaultRule; left: number }[] = [];
  let changes = 0;

  const register = (request: IncomingMessage): { call: Writable<ProxiedCall>; fault: Fault | undefined } => {
    const method = request.method ?? 'GET';
    const path = request.url ?? '/';
    const change = isChange(method, path) ? (changes += 1) : undefined;
    const call: Writable<ProxiedCall> = {
      change,
      method,
      path,
      host: request.headers.host,
      fault: undefined,
      status: undefined,
    };
    calls.push(call);
    const struck = rules.find(({ rule, left }) => left > 0 && fits(rule, call));
    if (struck) struck.left -= 1;
    call.fault = struck?.rule.fault.kind;
    for (const notify of [...waiters]) notify(call);
    return { call, fault: struck?.rule.fault };
  };

  const server = http.createServer((request, response) => {
    const { call, fault } = register(request);
    forward({ request, response, call, fault, upstream: options.upstream }).catch(() => reset(request));
  });
  server.on('upgrade', (request, socket, head) => {
    const { call, fault } = register(request);
    upgrade({ request, socket, head, call, fault, upstream: options.upstream });
  });
  Object.assign(server, { requestTimeout: 0, headersTimeout: 0, timeout: 0 });
  const sockets = new Set<Duplex>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await listen(server, options.listen);

  return {
    port: 'port' in options.listen ? (server.address() as AddressInfo).port : 0,
    calls,
    arm: (rule) => {
      rules.push({ rule, left: rule.times ?? 1 });
    },
    disarm: () => {
      rules = [];
    },
    arrival: (wanted) =>
      new Promise((resolve) => {
        const known = calls.find(wanted);
        if (known) resolve(known);
        const notify = (call: ProxiedCall): void => {
          if (!wanted(call)) return;
          waiters.delete(notify);
          resolve(call);
        };
        if (!known) waiters.add(notify);
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

function isEngineChange(method: string, path: string): boolean {
  if (method === 'GET' || method === 'HEAD') return false;
  return !/\/(?:wait|resize)(?:\?|$)|^(?:\/v[\d.]+)?\/auth(?:\?|$)/.test(path);
}

function fits({ at }: FaultRule, call: ProxiedCall): boolean {
  if (at === undefined) return true;
  return typeof at === 'number' ? call.change === at : at(call);
}

async function listen(server: http.Server, at: FaultProxyOptions['listen']): Promise<void> {
  if ('socketPath' in at) rmSync(at.socketPath, { force: true });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    if ('socketPath' in at) server.listen(at.socketPath, resolve);
    else server.listen(at.port, '127.0.0.1', resolve);
  });
}

type Passage = {
  readonly request: IncomingMessage;
  readonly call: Writable<ProxiedCall>;
  readonly fault: Fault | undefined;
  readonly upstream: FaultProxyOptions['upstream'];
};

async function forward({
  request,
  response,
  call,
  fault,
  upstream,
}: Passage & { response: ServerResponse }): Promise<void> {
  if (fault && 'when' in fault && fault.when === 'before' && (await strikeBefore(fault, request, response))) return;

  // Only what may be sent again, or must be cut at a known moment, is collected first; the rest streams through.
  const collected = fault ? await readAll(request) : undefined;
  if (fault?.kind === 'duplicate') await readAll(await send({ request, upstream, body: collected }).reply);
  const sent = send({ request, upstream, body: collected });
  response.on('close', () => sent.abort());
  if (fault && 'when' in fault && fault.when === 'during') {
    await sent.handedOver;
    strikeDead(fault, request);
    sent.abort();
    return;
  }
  const reply = await sent.reply;
  call.status = reply.statusCode;
  if (fault && 'when' in fault && fault.when === 'after') {
    const body = await readAll(reply);
    if (await strikeAfter(fault, request, response)) return;
    response.writeHead(reply.statusCode ?? 502, endToEnd(reply.rawHeaders)).end(body);
    return;
  }
  response.writeHead(reply.statusCode ?? 502, reply.statusMessage, endToEnd(reply.rawHeaders));
  response.flushHeaders();
  reply.on('error', () => reset(request));
  if (fault?.kind === 'cut') await cutShort(fault.bytes, reply, request, response);
  else reply.pipe(response);
}

/** True when the request has been dealt with. */
async function strikeBefore(fault: Fault, request: IncomingMessage, response: ServerResponse): Promise<boolean> {
  if (fault.kind === 'delay') {
    await sleep(fault.ms);
    return false;
  }
  if (fault.kind === 'answer') await readAll(request);
  return strikeAfter(fault, request, response);
}

async function strikeAfter(fault: Fault, request: IncomingMessage, response: ServerResponse): Promise<boolean> {
  switch (fault.kind) {
    case 'hang':
      return true;
    case 'delay':
      await sleep(fault.ms);
      return false;
    case 'answer': {
      const body = fault.body ?? JSON.stringify({ message: 'a fault of the test' });
      response.writeHead(fault.status, { 'content-type': 'application/json', ...fault.headers }).end(body);
      return true;
    }
    case 'reset':
    case 'kill':
      strikeDead(fault, request);
      return true;
    case 'duplicate':
    case 'cut':
      return false;
  }
}

function strikeDead(fault: Fault, request: IncomingMessage): void {
  if (fault.kind === 'kill') {
    if (typeof fault.kill === 'number') process.kill(fault.kill, 'SIGKILL');
    else fault.kill();
  }
  reset(request);
}

function reset(request: IncomingMessage): void {
  request.socket.destroy();
}

async function cutShort(
  bytes: number,
  reply: IncomingMessage,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  let left = bytes;
  for await (const chunk of reply as AsyncIterable<Buffer>) {
    await new Promise((resolve) => response.write(chunk.subarray(0, left), resolve));
    left -= chunk.length;
    if (left <= 0) break;
  }
  reset(request);
}

type Sent = {
  readonly reply: Promise<IncomingMessage>;
  /** The whole request has been given to the kernel, and the upstream has had a moment to take it. */
  readonly handedOver: Promise<void>;
  readonly abort: () => void;
};

function send({
  request,
  upstream,
  body,
}: Pick<Passage, 'request' | 'upstream'> & { readonly body: Buffer | undefined }): Sent {
  const outgoing = http.request({
    ...upstream,
    method: request.method ?? 'GET',
    path: request.url ?? '/',
    headers: { ...request.headers, connection: 'close' },
    agent: false,
  });
  const reply = new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.on('response', resolve);
    outgoing.on('error', reject);
  });
  reply.catch(() => {});
  const handedOver = new Promise<void>((resolve) => outgoing.on('finish', () => setTimeout(resolve, 5)));
  if (body === undefined) request.pipe(outgoing);
  else outgoing.end(body);
  return { reply, handedOver, abort: () => outgoing.destroy() };
}

/**
 * A hijacked connection: it passes, or is reset before it begins, whatever the fault says:
 * https://docs.docker.com/reference/api/engine/ ("Attach to a container")
 */
function upgrade({ request, socket, head, call, fault, upstream }: Passage & { socket: Duplex; head: Buffer }): void {
  if (fault) {
    strikeDead(fault, request);
    return;
  }
  const outgoing = http.request({
    ...upstream,
    method: request.method ?? 'GET',
    path: request.url ?? '/',
    headers: request.headers,
    agent: false,
  });
  const start = (reply: IncomingMessage): void => {
    call.status = reply.statusCode;
    const headers = pairs(reply.rawHeaders).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`HTTP/1.1 ${reply.statusCode} ${reply.statusMessage}\r\n${headers.join('')}\r\n`);
  };
  outgoing.on('upgrade', (reply, upstreamSocket, upstreamHead) => {
    start(reply);
    socket.write(upstreamHead);
    upstreamSocket.pipe(socket).pipe(upstreamSocket);
    upstreamSocket.on('error', () => socket.destroy());
    socket.on('error', () => {});
    socket.on('close', () => upstreamSocket.destroy());
  });
  outgoing.on('response', (reply) => {
    start(reply);
    reply.pipe(socket);
  });
  outgoing.on('error', () => socket.destroy());
  const length = Number(request.headers['content-length'] ?? 0);
  // Node leaves the body of an upgrade request on the socket.
  collectBody(socket, head, length, (body, rest) => {
    outgoing.end(body);
    if (rest.length > 0) socket.unshift(rest);
  });
}

function collectBody(socket: Duplex, head: Buffer, length: number, then: (body: Buffer, rest: Buffer) => void): void {
  let received = head;
  const onData = (chunk: Buffer): void => {
    received = Buffer.concat([received, chunk]);
    check();
  };
  const check = (): void => {
    if (received.length < length) return;
    socket.off('data', onData);
    socket.pause();
    then(received.subarray(0, length), received.subarray(length));
  };
  socket.on('data', onData);
  check();
}

async function readAll(stream: AsyncIterable<unknown>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Without what is said about the upstream's connection only, so that the client's may be kept alive. */
function endToEnd(rawHeaders: readonly string[]): string[] {
  return pairs(rawHeaders).flatMap(([name, value]) => (/^(?:connection|keep-alive)$/i.test(name) ? [] : [name, value]));
}

function pairs(rawHeaders: readonly string[]): (readonly [string, string])[] {
  return Array.from({ length: rawHeaders.length / 2 }, (_, index) => [
    rawHeaders[2 * index] ?? '',
    rawHeaders[2 * index + 1] ?? '',
  ]);
}

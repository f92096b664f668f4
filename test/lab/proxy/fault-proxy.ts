import { rmSync } from 'node:fs';
import http from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { passRequest } from './pass-request.ts';
import { passUpgrade } from './pass-upgrade.ts';

/**
 * A fault of one request. `before`: it never reaches the upstream. `during`: the upstream works on it and
 * its connection is cut, as when a client dies. `after`: the upstream has answered, and the answer is
 * lost.
 */
export type Fault =
  /** Resets the connection. */
  | { readonly kind: 'reset'; readonly when: Moment }
  /** Calls `kill()`, then resets the connection: pass a pid for SIGKILL. */
  | { readonly kind: 'kill'; readonly when: Moment; readonly kill: number | (() => void) }
  /** Sends no answer, until the client leaves or the proxy closes. */
  | { readonly kind: 'hang'; readonly when: 'before' | 'after' }
  /** Sends this answer instead; with `when: 'after'` in place of the real one. */
  | {
      readonly kind: 'answer';
      readonly when: 'before' | 'after';
      readonly status: number;
      readonly body?: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** Delays the real answer by this time. */
  | { readonly kind: 'delay'; readonly when: 'before' | 'after'; readonly ms: number }
  /** Sends the real answer; before the request or the answer is passed on, another action is completed. */
  | { readonly kind: 'meanwhile'; readonly when: 'before' | 'after'; readonly act: () => Promise<unknown> }
  /** Sends the request twice, one after the other; the client gets the second answer. */
  | { readonly kind: 'duplicate' }
  /** Cuts the body of the answer after this number of bytes, and resets the connection. */
  | { readonly kind: 'cut'; readonly bytes: number };

export type Moment = 'before' | 'during' | 'after';

export type FaultRule = {
  /** The number of the change (from 1), or a function that selects calls; default every call. */
  readonly at?: number | ((call: ProxiedCall) => boolean);
  /** How many times it applies; default once. */
  readonly times?: number;
  readonly fault: Fault;
};

export type ProxiedCall = {
  /** Number of a changing call, from 1; undefined for reading calls. */
  readonly change: number | undefined;
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly host: string | undefined;
  /** Arrived before another change was answered. */
  readonly overlaps: boolean;
  /** Its fault, if any. */
  readonly fault: Fault['kind'] | undefined;
  /** The upstream's status, once it has answered. */
  readonly status: number | undefined;
};

export type FaultProxyOptions = {
  /** A socket's path, or a port (0: a free one) of 127.0.0.1. */
  readonly listen: { readonly socketPath: string } | { readonly port: number };
  readonly upstream: { readonly socketPath: string } | { readonly port: number; readonly host?: string };
  /** Selects the numbered requests; default: all but GET, HEAD, the engine's `wait`, `resize` and `auth`, and questions about permissions. */
  readonly isChange?: (method: string, path: string) => boolean;
};

export type FaultProxy = {
  /** 0 when it listens on a socket. */
  readonly port: number;
  /** Everything that passed since the start, in order of arrival. */
  readonly calls: readonly ProxiedCall[];
  /** Adds a rule; the first one that matches applies. */
  readonly arm: (rule: FaultRule) => void;
  /** Removes all rules. */
  readonly disarm: () => void;
  /** Resolves when a matching call has arrived, or at once if `calls` has one. */
  readonly arrival: (fits: (call: ProxiedCall) => boolean) => Promise<ProxiedCall>;
  readonly close: () => Promise<void>;
};

/**
 * A proxy between the code under test and an engine or a registry, which injects faults into single requests. Streams
 * (events, pulls, logs) and upgraded connections (exec, attach) pass unchanged.
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
      overlaps: change !== undefined && calls.some((other) => other.change !== undefined && other.status === undefined),
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
    passRequest({ request, response, call, fault, upstream: options.upstream }).catch(() => request.socket.destroy());
  });
  server.on('upgrade', (request, socket, head) => {
    const { call, fault } = register(request);
    passUpgrade({ request, socket, head, call, fault, upstream: options.upstream });
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

export type Writable<T> = { -readonly [K in keyof T]: T[K] };

function isEngineChange(method: string, path: string): boolean {
  if (method === 'GET' || method === 'HEAD') return false;
  if (/\/(?:wait|resize)(?:\?|$)|^(?:\/v[\d.]+)?\/auth(?:\?|$)/.test(path)) return false;
  // Upkeep's questions about forbidden calls, which change nothing.
  return !/0{32}[\da-f]{32}|[?&]fromImage=-&/.test(path);
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

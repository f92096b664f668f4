import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import http from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';

/** A real HTTP server that answers like a container engine, or with errors. */
export type ScriptedEngine = {
  /** For `createDockerEngine({ host })`. */
  readonly host: string;
  readonly socketPath: string;
  /** Received requests, without `GET /version`. */
  readonly requests: readonly ScriptedRequest[];
  readonly versionRequests: () => number;
  /** Number of connections so far. */
  readonly connections: () => number;
  /** Replaces the answers. */
  readonly script: (script: Script) => void;
  /** Cuts every connection. */
  readonly cut: () => void;
  readonly close: () => Promise<void>;
};

export type ScriptedRequest = {
  readonly method: string;
  /** Without version and query: `/containers/json`. */
  readonly path: string;
  readonly version: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: unknown;
};

/**
 * By method and path, `GET /containers/json`; `*` is for all others. A value that is not a function is sent as JSON
 * with 200.
 */
export type Script = Readonly<Record<string, Answer | object>>;
export type Answer = (request: ScriptedRequest, response: ServerResponse) => void | Promise<void>;

export type ScriptedEngineOptions = {
  readonly script?: Script;
  /** The answer to `GET /version`. */
  readonly version?: object | Answer;
  /** The header `Api-Version`; '' for none. */
  readonly apiVersion?: () => string;
  /** Listens on a port of 127.0.0.1 instead of a socket; `tls` requires a client certificate. */
  readonly tcp?: boolean;
  readonly tls?: { readonly certificate?: 'server' | 'elsewhere' };
};

export const docker28 = {
  Version: '28.5.2',
  ApiVersion: '1.51',
  MinAPIVersion: '1.24',
  Os: 'linux',
  Arch: 'amd64',
  Components: [{ Name: 'Engine' }, { Name: 'containerd' }],
};

export async function startScriptedEngine(options: ScriptedEngineOptions = {}): Promise<ScriptedEngine> {
  const dir = mkdtempSync(join(tmpdir(), 'engine-'));
  const socketPath = join(dir, 's');
  const requests: ScriptedRequest[] = [];
  const sockets = new Set<Duplex>();
  let script = options.script ?? {};
  let connections = 0;
  let versionRequests = 0;

  const server = listener(options, async (message, response) => {
    const request = await readRequest(message);
    const apiVersion = options.apiVersion?.() ?? docker28.ApiVersion;
    if (apiVersion !== '') response.setHeader('Api-Version', apiVersion);
    if (request.path === '/version') {
      versionRequests += 1;
      answer(options.version ?? docker28, request, response);
      return;
    }
    requests.push(request);
    const found = script[`${request.method} ${request.path}`] ?? script['*'];
    answer(found ?? ((_request, reply) => refuse(reply, 404, 'page not found')), request, response);
  });
  server.on(options.tls ? 'secureConnection' : 'connection', (socket: Duplex) => {
    connections += 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const onTcp = options.tcp === true || options.tls !== undefined;
  await new Promise<void>((resolve) => {
    if (onTcp) server.listen(0, '127.0.0.1', resolve);
    else server.listen(socketPath, resolve);
  });

  return {
    host: onTcp ? `tcp://127.0.0.1:${(server.address() as AddressInfo).port}` : `unix://${socketPath}`,
    socketPath,
    requests,
    versionRequests: () => versionRequests,
    connections: () => connections,
    script: (next) => {
      script = next;
    },
    cut,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          rmSync(dir, { recursive: true, force: true });
          resolve();
        });
        cut();
      }),
  };
}

/** An error as the engine writes it. */
export function refuse(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ message }));
}

export function tlsFile(name: 'ca.pem' | 'server.key' | 'server.pem' | 'elsewhere.pem' | 'client.key' | 'client.pem') {
  return readFileSync(new URL(`../../fixtures/tls/${name}`, import.meta.url));
}

function listener(
  { tls }: ScriptedEngineOptions,
  handle: (message: IncomingMessage, response: ServerResponse) => Promise<void>,
): http.Server | https.Server {
  const onRequest = (message: IncomingMessage, response: ServerResponse): void => {
    handle(message, response).catch(() => message.socket.destroy());
  };
  if (!tls) return http.createServer(onRequest);
  const certificate = tlsFile(tls.certificate === 'elsewhere' ? 'elsewhere.pem' : 'server.pem');
  const ours = { key: tlsFile('server.key'), cert: certificate, ca: tlsFile('ca.pem') };
  return https.createServer({ ...ours, requestCert: true, rejectUnauthorized: true }, onRequest);
}

async function readRequest(message: IncomingMessage): Promise<ScriptedRequest> {
  let text = '';
  message.setEncoding('utf8');
  for await (const chunk of message) text += chunk;
  const url = new URL(message.url ?? '/', 'http://engine');
  const [, version = '', path = '/'] = /^(?:\/v(\d+\.\d+))?(\/.*)$/.exec(url.pathname) ?? [];
  return {
    method: message.method ?? '',
    path,
    version,
    query: Object.fromEntries(url.searchParams),
    headers: message.headers,
    body: text === '' ? undefined : JSON.parse(text),
  };
}

function answer(found: Answer | object, request: ScriptedRequest, response: ServerResponse): void {
  if (typeof found === 'function') void (found as Answer)(request, response);
  else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(found));
}

import http from 'node:http';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import https from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { SecureVersion } from 'node:tls';
import { readFileSync } from 'node:fs';
import type { Pki } from '../pki.ts';

/** A request to the front, and its answer. */
export type FrontCall = {
  readonly method: string;
  readonly host: string;
  /** With the query. */
  readonly path: string;
  readonly authorization: string | undefined;
  /** User agent; an engine's begins with `docker/`. */
  readonly agent: string;
  /** 0 while there is no answer. */
  status: number;
};

/** A registry's part of the answer, before the upstream gets the request. */
export type Said = {
  /** For the answer, from either side. */
  readonly headers?: Headers;
  /** The answer instead of the upstream's. */
  readonly refusal?: { readonly status: number; readonly body: string };
  /** Base URL of an upstream that replaces the one of the name. */
  readonly upstream?: string;
};

type Headers = Readonly<Record<string, string>>;

export type FrontOptions = {
  /** Base URLs by name, as clients ask for it. Several names of public registries are 127.0.0.1 in the lab. */
  readonly upstreams: Readonly<Record<string, string>>;
  /** For a name that is not listed. */
  readonly otherwise?: string;
  /** Uses a certificate of the lab's authority. */
  readonly tls?: Pki;
  /** The newest TLS version that it accepts. */
  readonly maxTls?: SecureVersion;
  /** Default: a free one. */
  readonly port?: number;
  readonly says?: (call: FrontCall) => Said;
};

/** A proxy for registries and token servers, with their public names and behaviour. */
export type Front = {
  readonly port: number;
  /** All requests since the start. */
  readonly calls: readonly FrontCall[];
  readonly close: () => Promise<void>;
};

export async function startFront(options: FrontOptions): Promise<Front> {
  const { upstreams, otherwise, tls, maxTls, port = 0, says } = options;
  const calls: FrontCall[] = [];
  const answer: RequestListener = (request, response) => {
    const { method = 'GET', url: path = '/', headers } = request;
    const host = headers.host ?? '';
    const call: FrontCall = {
      method,
      host,
      path,
      authorization: headers.authorization,
      agent: headers['user-agent'] ?? '',
      status: 0,
    };
    calls.push(call);
    const said = says?.(call) ?? {};
    response.on('finish', () => (call.status = response.statusCode));
    const upstream = said.upstream ?? upstreams[host.replace(/:\d+$/, '')] ?? otherwise;
    if (said.refusal !== undefined) respond(response, said.refusal.status, said.refusal.body, said.headers);
    else if (upstream === undefined) respond(response, 404, '{}');
    else pass(new URL(path, upstream), request, response, said.headers ?? {});
  };
  const server =
    tls === undefined
      ? http.createServer(answer)
      : https.createServer({ ...certificateOf(tls), ...(maxTls === undefined ? {} : { maxVersion: maxTls }) }, answer);
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    calls,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

function certificateOf({ serverCertificate, serverKey }: Pki): https.ServerOptions {
  return { cert: readFileSync(serverCertificate), key: readFileSync(serverKey) };
}

/** The requested name is passed on, because registries write it into their answers. */
function pass(url: URL, request: IncomingMessage, response: ServerResponse, added: Headers): void {
  const outgoing = http.request(url, { method: request.method ?? 'GET', headers: request.headers });
  outgoing.on('response', (reply) => {
    response.writeHead(reply.statusCode ?? 502, { ...reply.headers, ...added });
    reply.pipe(response);
  });
  outgoing.on('error', () => response.destroy());
  request.pipe(outgoing);
}

function respond(response: ServerResponse, status: number, body: string, headers: Headers = {}): void {
  const described = { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) };
  response.writeHead(status, { ...described, ...headers }).end(body);
}

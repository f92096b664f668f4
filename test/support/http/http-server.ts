import { readFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect, type AddressInfo, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { SecureVersion } from 'node:tls';

export type SeenRequest = {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
};

/** `drop` destroys the connection, `hang` never answers. */
export type Reply =
  | { readonly status?: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string | Buffer }
  | 'drop'
  | 'hang';

export type Answer = (request: SeenRequest) => Reply | Promise<Reply>;

export type HttpServer = {
  /** `127.0.0.1:port` */
  readonly host: string;
  readonly url: string;
  readonly port: number;
  readonly seen: SeenRequest[];
  /** CONNECT requests. */
  readonly tunnels: { readonly url: string; readonly headers: IncomingHttpHeaders }[];
  /** The requests so far, for example `HEAD /v2/a/manifests/latest`. */
  readonly lines: () => string[];
  /** Connections that have ever been opened. */
  readonly connections: () => number;
  readonly dropConnections: () => void;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

export type HttpServerOptions = {
  /** Uses the certificate of `test/fixtures/registry-tls`. */
  readonly tls?: boolean;
  /** Another certificate, with its key. */
  readonly identity?: { readonly cert: Buffer; readonly key: Buffer };
  /** Requires a client certificate of the same authority. */
  readonly clientCertificate?: boolean;
  /** The newest TLS version that it accepts. */
  readonly maxTls?: SecureVersion;
  /** Default: a free one. */
  readonly port?: number;
  /** As a proxy: called for a CONNECT. */
  readonly onConnect?: (request: IncomingMessage, socket: Duplex) => void;
  /** As a proxy: every CONNECT leads to this port. */
  readonly tunnelTo?: number;
};

const fixture = (name: string): Buffer => readFileSync(new URL(`../../fixtures/registry-tls/${name}`, import.meta.url));

/** The authority of servers with `tls`. */
export const serverCa = fixture('ca.pem');
export const clientPair = { cert: fixture('server.pem'), key: fixture('server.key') };

/** A server on a free port of 127.0.0.1 with the answers of a function. */
export async function startHttpServer(answer: Answer, options: HttpServerOptions = {}): Promise<HttpServer> {
  const seen: SeenRequest[] = [];
  const tunnels: HttpServer['tunnels'] = [];
  const sockets = new Set<Socket>();
  let connections = 0;

  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      const entry = { method: request.method ?? '', url: request.url ?? '', headers: request.headers, body };
      seen.push(entry);
      Promise.resolve(answer(entry)).then(
        (reply) => send(reply, response),
        (error: unknown) => send({ status: 599, body: String(error) }, response),
      );
    });
  };
  const { cert, key } = options.identity ?? clientPair;
  const client = options.clientCertificate === true ? { requestCert: true, ca: serverCa } : {};
  const versions = options.maxTls === undefined ? {} : { maxVersion: options.maxTls };
  const server =
    options.tls === true ? createTlsServer({ cert, key, ...client, ...versions }, handle) : createServer(handle);
  server.on('connection', (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => undefined);
  });
  server.on('tlsClientError', () => undefined);
  const { tunnelTo } = options;
  const onConnect = options.onConnect ?? (tunnelTo === undefined ? undefined : tunnelBy(tunnelTo));
  server.on('connect', (request: IncomingMessage, socket: Duplex) => {
    tunnels.push({ url: request.url ?? '', headers: request.headers });
    if (onConnect === undefined) socket.destroy();
    else onConnect(request, socket);
  });
  await new Promise<void>((resolve) => {
    server.listen(options.port ?? 0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  const dropConnections = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    host: `127.0.0.1:${port}`,
    url: `${options.tls === true ? 'https' : 'http'}://127.0.0.1:${port}`,
    port,
    seen,
    tunnels,
    lines: () => seen.map(({ method, url }) => `${method} ${url}`),
    connections: () => connections,
    dropConnections,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        dropConnections();
      }),
  };
}

function tunnelBy(port: number): (request: IncomingMessage, socket: Duplex) => void {
  return function tunnel(_, socket) {
    const through = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      socket.pipe(through).pipe(socket);
    });
    socket.on('error', () => through.destroy());
    through.on('error', () => socket.destroy());
  };
}

function send(reply: Reply, response: ServerResponse): void {
  if (reply === 'hang') return;
  if (reply === 'drop') {
    response.destroy();
    return;
  }
  const { status = 200, headers = {}, body = '' } = reply;
  response.writeHead(status, { 'content-length': String(Buffer.byteLength(body)), ...headers });
  response.end(body);
}

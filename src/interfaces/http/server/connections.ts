import type { Server } from 'node:http';
import type { Socket, AddressInfo } from 'node:net';
import type { HttpResponse } from '../replies/errors.ts';
import { createRecencyList, type Used } from '../guards/clients.ts';
import { ServiceError } from '../../../domain/text/errors.ts';
import { quoted } from '../../../domain/text/printable.ts';
import type { HttpSettings } from '../../../domain/settings/http-settings.ts';

/** Open connections and their outstanding replies. */
export type Connections = {
  /** Call it for every request; it also follows the end of its reply. */
  readonly addReply: (response: HttpResponse) => void;
  readonly end: (response: HttpResponse) => void;
  /** Call it when a complete request is being answered: its connection is not idle until the end. */
  readonly markBusy: (response: HttpResponse) => void;
  /** Call it to ignore all further requests of its connection. */
  readonly refuse: (response: HttpResponse) => void;
  readonly isRefused: (socket: object) => boolean;
  /** Whether a request on the connection has no complete answer yet. */
  readonly hasPendingReply: (socket: object) => boolean;
  /** Whether a reply is being sent on the connection. */
  readonly isAnswering: (socket: object) => boolean;
  /** Closes the connection after its outstanding replies to complete requests. False if there are none. */
  readonly closeAfterReplies: (socket: object) => boolean;
  /** Closes connections without outstanding replies at once, and every other connection after its replies. */
  readonly closeIdle: () => void;
  readonly closeAll: () => void;
};

/**
 * At the limit, the connection that has been idle for longest is closed: first among those without a successful reply,
 * so that the kept-alive connections of a proxy survive a flood of others. Node's own functions do less:
 * `closeIdleConnections` spares connections that have not sent a request or finished the TLS handshake, and
 * `maxConnections` locks out everyone once idle connections fill it.
 */
export function trackConnections(server: Server, maxConnections: number): Connections {
  /** By the peer's address, because a TLS connection has two sockets. The TLS socket replaces the TCP socket. */
  const open = new Map<string, Connection>();
  const unproven = createRecencyList<Connection>();
  const known = createRecencyList<Connection>();
  const bySocket = new WeakMap<object, Connection>();
  let isClosing = false;

  function onConnection(socket: Socket): void {
    const peer = peerOf(socket);
    const connection: Connection = open.get(peer) ?? newConnection(socket);
    connection.socket = socket;
    open.set(peer, connection);
    bySocket.set(socket, connection);
    socket.once('close', () => {
      if (connection.socket !== socket) return;
      moveToIdleList(connection, 'closed');
      if (open.get(peer) === connection) open.delete(peer);
      for (const response of [...connection.replies]) response.abandon();
    });
    if (isClosing) return void socket.destroy();
    moveToIdleList(connection, 'idle');
    if (open.size > maxConnections) closeLongestIdle(connection);
  }

  /** If no other connection is idle, closes the newest one. */
  function closeLongestIdle(newest: Connection): void {
    const oldest = unproven.oldest() ?? known.oldest() ?? newest;
    const longest = oldest === newest ? (known.oldest() ?? newest) : oldest;
    moveToIdleList(longest, 'closed');
    open.delete(peerOf(longest.socket));
    longest.socket.destroy();
  }

  function moveToIdleList(connection: Connection, state: 'idle' | 'working' | 'closed'): void {
    unproven.remove(connection);
    known.remove(connection);
    if (state === 'idle') (connection.isKnown ? known : unproven).moveToEnd(connection);
  }

  server.on('connection', onConnection);
  server.on('secureConnection', onConnection);

  return {
    addReply(response) {
      bySocket.get(response.req.socket)?.replies.push(response);
    },
    end(response) {
      const { socket } = response.req;
      const { replies = [] } = bySocket.get(socket) ?? {};
      const place = replies.indexOf(response);
      if (place !== -1) replies.splice(place, 1);
      if (isClosing && replies.length === 0) socket.destroySoon();
    },
    refuse(response) {
      const connection = bySocket.get(response.req.socket);
      if (connection !== undefined) connection.isRefused = true;
    },
    isRefused: (socket) => bySocket.get(socket)?.isRefused === true,
    markBusy(response) {
      const connection = bySocket.get(response.req.socket);
      if (connection === undefined || connection.socket.destroyed) return;
      connection.working += 1;
      moveToIdleList(connection, 'working');
      const done = once(() => {
        connection.working -= 1;
        if (connection.socket.destroyed) return;
        connection.isKnown ||= response.statusCode < 400;
        if (connection.working === 0) moveToIdleList(connection, 'idle');
      });
      // Bytes that the peer has not read yet do not count as work.
      response.once('prefinish', done);
      response.once('close', done);
    },
    hasPendingReply: (socket) => (bySocket.get(socket)?.replies.length ?? 0) > 0,
    isAnswering: (socket) => bySocket.get(socket)?.replies.some(({ headersSent }) => headersSent) === true,
    closeAfterReplies(socket) {
      const last = bySocket.get(socket)?.replies.findLast(({ req }) => req.complete);
      last?.setHeader('Connection', 'close');
      return last !== undefined;
    },
    closeIdle() {
      isClosing = true;
      for (const { socket, replies } of open.values()) {
        for (const response of replies) if (!response.headersSent) response.setHeader('Connection', 'close');
        if (replies.length === 0) socket.destroy();
      }
    },
    closeAll() {
      for (const { socket } of open.values()) socket.destroy();
    },
  };
}

type Connection = Used & {
  socket: Socket;
  /** Unfinished replies, in no order. Usually one. */
  readonly replies: HttpResponse[];
  isRefused: boolean;
  /** Requests that are being answered. */
  working: number;
  /** Whether it has had a successful reply. */
  isKnown: boolean;
};

function newConnection(socket: Socket): Connection {
  return { socket, replies: [], isRefused: false, working: 0, isKnown: false, before: undefined, after: undefined };
}

function once(action: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    action();
  };
}

function peerOf({ remoteAddress = '', remotePort = 0 }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/** Listens, and returns the address: `http://127.0.0.1:8080`. Throws `invalid-input` when it cannot. */
export function listen(
  server: Server,
  { host, port, tls }: Pick<HttpSettings, 'host' | 'port' | 'tls'>,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const onError = (cause: Error & { readonly code?: string }): void => {
      const where = `${host === undefined ? '' : `${host} `}port ${port}`;
      const why = reasons[cause.code ?? ''] ?? cause.message;
      reject(new ServiceError('invalid-input', `Cannot listen on ${quoted(where)}: ${why}`, { cause }));
    };
    server.once('error', onError);
    server.listen({ port, ...(host !== undefined && { host }) }, () => {
      server.off('error', onError);
      // A server on a TCP port has an address of this type while it listens.
      resolve(urlOf(server.address() as AddressInfo, tls === undefined ? 'http' : 'https'));
    });
  });
}

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process listens there already',
  EACCES: 'this process may not use that port',
  EADDRNOTAVAIL: 'this machine does not have that address',
  ENOTFOUND: 'there is no host of that name',
};

/** All interfaces are shown as the loopback address, which a person can open. */
function urlOf({ address, port }: AddressInfo, scheme: string): string {
  const host = address === '::' || address === '0.0.0.0' ? '127.0.0.1' : address;
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

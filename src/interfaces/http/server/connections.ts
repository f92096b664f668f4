import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { HttpResponse } from '../replies/http-response.ts';
import { createRecencyList, type Used } from '../guards/recency-list.ts';

/** Open connections, and the replies they wait for. */
export type Connections = {
  /** To be told of every request, and of the end of its reply. */
  readonly begin: (response: HttpResponse) => void;
  readonly end: (response: HttpResponse) => void;
  /** To be told when a request has come as a whole and is answered: until that is done its connection is not idle. */
  readonly work: (response: HttpResponse) => void;
  /** To be told when no further request of its connection is answered. */
  readonly refuse: (response: HttpResponse) => void;
  readonly isRefused: (socket: object) => boolean;
  /** Whether a request from there has not been answered to its end. */
  readonly isOwed: (socket: object) => boolean;
  /** Whether a reply is on its way there. */
  readonly isAnswering: (socket: object) => boolean;
  /** Closes those that wait for nothing, silent ones too, and each of the others once it has its reply. */
  readonly closeIdle: () => void;
  readonly closeAll: () => void;
  readonly count: () => number;
};

/**
 * Node's own `closeIdleConnections` leaves those alone that have not asked for anything, or not finished
 * shaking hands; its `maxConnections` would lock out everybody else for those that ask for nothing. Here
 * at the bound the one that has been idle for longest gives way: first among those that have not had a
 * good reply yet, so that connections that a proxy keeps for the next request outlast a flood of others.
 */
export function trackConnections(server: Server, mostConnections: number): Connections {
  /** By the peer's address, since a connection under TLS has two sockets; the upper one takes the lower one's place. */
  const open = new Map<string, Connection>();
  const strangers = createRecencyList<Connection>();
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
      rest(connection, 'gone');
      if (open.get(peer) === connection) open.delete(peer);
    });
    if (isClosing) return void socket.destroy();
    rest(connection, 'idle');
    if (open.size > mostConnections) makeRoom(connection);
  }

  /** Where all are at work, the last one that came is one too many. */
  function makeRoom(newest: Connection): void {
    const oldest = strangers.oldest() ?? known.oldest() ?? newest;
    const longest = oldest === newest ? (known.oldest() ?? newest) : oldest;
    rest(longest, 'gone');
    open.delete(peerOf(longest.socket));
    longest.socket.destroy();
  }

  function rest(connection: Connection, state: 'idle' | 'working' | 'gone'): void {
    strangers.remove(connection);
    known.remove(connection);
    if (state === 'idle') (connection.isKnown ? known : strangers).touch(connection);
  }

  server.on('connection', onConnection);
  server.on('secureConnection', onConnection);

  return {
    begin(response) {
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
    work(response) {
      const connection = bySocket.get(response.req.socket);
      if (connection === undefined || connection.socket.destroyed) return;
      connection.working += 1;
      rest(connection, 'working');
      const done = once(() => {
        connection.working -= 1;
        if (connection.socket.destroyed) return;
        connection.isKnown ||= response.statusCode < 400;
        if (connection.working === 0) rest(connection, 'idle');
      });
      // Bytes that the peer has yet to read are no work of ours.
      response.once('prefinish', done);
      response.once('close', done);
    },
    isOwed: (socket) => (bySocket.get(socket)?.replies.length ?? 0) > 0,
    isAnswering: (socket) => bySocket.get(socket)?.replies.some(({ headersSent }) => headersSent) === true,
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
    count: () => open.size,
  };
}

type Connection = Used & {
  socket: Socket;
  /** Unfinished replies, in no order: mostly one. */
  readonly replies: HttpResponse[];
  isRefused: boolean;
  /** Requests that are being answered. */
  working: number;
  /** Whether it has had a reply that was no refusal. */
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

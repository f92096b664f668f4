import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { FrontResponse } from './front-response.ts';

/** Who is connected, and who of them waits for a reply. */
export type Connections = {
  /** To be told of every request, and of the end of its reply. */
  readonly begin: (response: FrontResponse) => void;
  readonly end: (response: FrontResponse) => void;
  /** Whether a reply is on its way there. */
  readonly isAnswering: (socket: unknown) => boolean;
  /** Closes those that wait for nothing, silent ones too, and each of the others once it has its reply. */
  readonly closeIdle: () => void;
  readonly closeAll: () => void;
};

/** Node's own `closeIdleConnections` leaves those alone that have not asked for anything, or not finished shaking hands. */
export function trackConnections(server: Server): Connections {
  /** By the peer's address, since a connection under TLS has two sockets; the upper one takes the lower one's place. */
  const open = new Map<string, Socket>();
  const replies: FrontResponse[] = [];
  let isClosing = false;

  function onConnection(socket: Socket): void {
    const peer = peerOf(socket);
    open.set(peer, socket);
    socket.once('close', () => open.delete(peer));
    if (isClosing) socket.destroy();
  }

  server.on('connection', onConnection);
  server.on('secureConnection', onConnection);

  return {
    begin(response) {
      response.place = replies.push(response) - 1;
    },
    end(response) {
      const last = replies.pop();
      if (last !== undefined && last !== response) {
        replies[response.place] = last;
        last.place = response.place;
      }
      if (!isClosing) return;
      const { socket } = response.req;
      if (!replies.some(({ req }) => req.socket === socket)) socket.destroySoon();
    },
    isAnswering: (socket) => replies.some(({ req, headersSent }) => req.socket === socket && headersSent),
    closeIdle() {
      isClosing = true;
      const waiting = new Set(replies.map(({ req }) => peerOf(req.socket)));
      for (const response of replies) if (!response.headersSent) response.setHeader('Connection', 'close');
      for (const [peer, socket] of open) if (!waiting.has(peer)) socket.destroy();
    },
    closeAll() {
      for (const socket of open.values()) socket.destroy();
    },
  };
}

function peerOf({ remoteAddress = '', remotePort = 0 }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

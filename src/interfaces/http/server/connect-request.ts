import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Connections } from './connections.ts';
import type { Door } from './door.ts';
import { HttpResponse } from '../replies/http-response.ts';

/**
 * Treats `CONNECT` like any other request, which is answered with 404 or 405. Node makes no response for it, and would
 * close the connection silently. https://nodejs.org/api/http.html#event-connect
 */
export function answerConnect(
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

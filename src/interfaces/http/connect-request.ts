import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Front } from './front.ts';
import { FrontResponse } from './front-response.ts';

/**
 * Hands `CONNECT` on like any other request, to be answered with 404 or 405: Node makes no response
 * for it, and would close the connection without a word. https://nodejs.org/api/http.html#event-connect
 */
export function answerConnect(listener: Front): (request: IncomingMessage, socket: Duplex) => void {
  return (request, socket) => {
    if (!(socket instanceof Socket)) return void socket.destroy();
    const response = new FrontResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    response.once('finish', () => socket.end());
    socket.on('error', () => socket.destroy());
    listener(request, response);
  };
}

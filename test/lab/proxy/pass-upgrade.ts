import http from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { headerPairs } from './header-pairs.ts';
import { strikeDead } from './pass-request.ts';
import type { Passage } from './pass-request.ts';

/**
 * A hijacked connection passes, or is reset before it begins, for every kind of fault:
 * https://docs.docker.com/reference/api/engine/ ("Attach to a container")
 */
export function passUpgrade({
  request,
  socket,
  head,
  call,
  fault,
  upstream,
}: Passage & { socket: Duplex; head: Buffer }): void {
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
    const headers = headerPairs(reply.rawHeaders).map(([name, value]) => `${name}: ${value}\r\n`);
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

import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Clock } from '../../domain/outside.ts';
import { errorBody, jsonType } from './errors.ts';

/** Answers what is not HTTP, or stops in the middle of it, where an answer can still be read. */
export function answerClientError(error: Error & { readonly code?: string }, socket: Duplex, clock: Clock): void {
  const isGone = error.code === 'ECONNRESET' || !socket.writable;
  // What has been answered, or is being answered, cannot be answered again.
  const hasReply = 'bytesWritten' in socket && Number(socket.bytesWritten) > 0;
  if (isGone || hasReply) {
    socket.destroy(error);
    return;
  }
  const { status, message } = problems[error.code ?? ''] ?? malformed;
  const body = errorBody(message, clock.nowMs());
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    `Content-Type: ${jsonType}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'X-Content-Type-Options: nosniff',
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

const malformed = { status: 400, message: 'the request is malformed' } as const;

/** https://nodejs.org/api/http.html#event-clienterror */
const problems: Readonly<Record<string, { readonly status: number; readonly message: string }>> = {
  HPE_HEADER_OVERFLOW: { status: 431, message: 'the request headers are too large' },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { status: 413, message: 'the chunk extensions are too large' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, message: 'the request did not come in time' },
};

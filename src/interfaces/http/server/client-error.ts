import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Clock } from '../../../domain/outside/outside.ts';
import type { Connections } from './connections.ts';
import { errorBody, jsonType, type Problem } from '../replies/errors.ts';
import type { RouteTable } from './route-table.ts';

type ClientError = Error & { readonly code?: string; readonly rawPacket?: Buffer };

export type ClientErrorParts = {
  readonly clock: Clock;
  readonly routes: RouteTable;
  readonly connections: () => Pick<Connections, 'isAnswering' | 'hasPendingReply' | 'isRefused' | 'closeAfterReplies'>;
};

/** Answers a malformed or unfinished request while its sender can still read the answer. */
export function answerClientError(error: ClientError, socket: Duplex, parts: ClientErrorParts): void {
  const { clock, routes, connections } = parts;
  const isClosed = error.code === 'ECONNRESET' || !socket.writable;
  // After the begin of a reply, the client would read another one as its continuation.
  if (isClosed || connections().isAnswering(socket)) {
    socket.destroy(error);
    return;
  }
  // The client would read the answer as the reply to its earlier request.
  if (connections().closeAfterReplies(socket)) return;
  const { status, message, headers = {} } = unknownMethod(error, routes) ?? problems[error.code ?? ''] ?? malformed;
  const body = errorBody(message, clock.nowMs());
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    `Content-Type: ${jsonType}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'X-Content-Type-Options: nosniff',
    'Connection: close',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

/** Node's parser knows only registered methods. Others are not supported either. */
function unknownMethod({ code, rawPacket }: ClientError, routes: RouteTable): Problem | undefined {
  if (code !== 'HPE_INVALID_METHOD') return undefined;
  const begin = rawPacket?.toString('latin1', 0, 4096) ?? '';
  // https://www.rfc-editor.org/rfc/rfc9112#section-3
  const [, method, target] = /^([\w!#$%&'*+.^`|~-]{1,64}) (\S+) HTTP\/1\.[01]\r?\n/.exec(begin) ?? [];
  if (method === undefined || target === undefined) return undefined;
  const found = routes.find(method, target);
  return found.kind === 'problem' ? found.problem : undefined;
}

const malformed: Problem = { status: 400, message: 'the request is malformed' };

/** https://nodejs.org/api/http.html#event-clienterror */
const problems: Readonly<Record<string, Problem>> = {
  HPE_HEADER_OVERFLOW: { status: 431, message: 'the request headers are too large' },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { status: 413, message: 'the chunk extensions are too large' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, message: 'the request did not come in time' },
};

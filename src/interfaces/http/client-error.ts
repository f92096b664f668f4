import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Clock } from '../../domain/outside.ts';
import { errorBody, jsonType, type Problem } from './errors.ts';
import type { JudgeRequest } from './gate.ts';

type ClientError = Error & { readonly code?: string; readonly rawPacket?: Buffer };

/** Answers what is not HTTP, or stops in the middle of it, where an answer can still be read. */
export function answerClientError(error: ClientError, socket: Duplex, clock: Clock, judge: JudgeRequest): void {
  const isGone = error.code === 'ECONNRESET' || !socket.writable;
  // What has been answered, or is being answered, cannot be answered again.
  const hasReply = 'bytesWritten' in socket && Number(socket.bytesWritten) > 0;
  if (isGone || hasReply) {
    socket.destroy(error);
    return;
  }
  const { status, message, headers = {} } = unknownMethod(error, judge) ?? problems[error.code ?? ''] ?? malformed;
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

/** Node's parser knows the registered methods only; another one is as unsupported as those. */
function unknownMethod({ code, rawPacket }: ClientError, judge: JudgeRequest): Problem | undefined {
  if (code !== 'HPE_INVALID_METHOD') return undefined;
  const begin = rawPacket?.toString('latin1', 0, 4096) ?? '';
  // https://www.rfc-editor.org/rfc/rfc9112#section-3
  const [, method, target] = /^([\w!#$%&'*+.^`|~-]{1,64}) (\S+) HTTP\/1\.[01]\r?\n/.exec(begin) ?? [];
  return method === undefined || target === undefined ? undefined : judge(method, target);
}

const malformed: Problem = { status: 400, message: 'the request is malformed' };

/** https://nodejs.org/api/http.html#event-clienterror */
const problems: Readonly<Record<string, Problem>> = {
  HPE_HEADER_OVERFLOW: { status: 431, message: 'the request headers are too large' },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { status: 413, message: 'the chunk extensions are too large' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, message: 'the request did not come in time' },
};

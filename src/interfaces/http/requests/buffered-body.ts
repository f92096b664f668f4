import type { IncomingMessage } from 'node:http';
import { type JsonObject, parseJsonObject } from '../../../domain/text/json.ts';
import { HttpError } from '../replies/errors.ts';

/** Keeps the body of a request, which is discarded otherwise. Call it before the body is read. */
export function bufferBody(request: IncomingMessage): void {
  const chunks: Buffer[] = [];
  let bytes = 0;
  bodies.set(request, () => (bytes > mostBytes ? undefined : Buffer.concat(chunks).toString('utf8')));
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= mostBytes) chunks.push(chunk);
    else chunks.length = 0;
  });
}

/** The JSON object in the kept body. Throws 400 for anything else. */
export function bufferedObject(request: IncomingMessage): JsonObject {
  const body = bodies.get(request);
  const text = body === undefined ? '' : body();
  if (text === undefined) throw new HttpError(413, `the request body is larger than ${mostBytes} bytes`);
  const value = parseJsonObject(text);
  if (value !== undefined) return value;
  throw new HttpError(400, 'invalid request body: expected a JSON object');
}

/** Enough for a decision, which has names, digests and times. */
const mostBytes = 16_384;

const bodies = new WeakMap<IncomingMessage, () => string | undefined>();

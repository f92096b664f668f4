import type { IncomingMessage, ServerResponse } from 'node:http';
import { type JsonObject, parseJsonObject } from '../../../domain/text/json.ts';
import { HttpError } from '../replies/errors.ts';

/** Keeps the body of a request, which is discarded otherwise, up to a size. Call it before the body is read. */
export function bufferBody(request: IncomingMessage, response: ServerResponse, maxBytes = maxOwnBytes): void {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let state: 'kept' | 'too large' | 'no room' = 'kept';
  const drop = (why: typeof state): void => {
    state = why;
    heldBytes -= chunks.splice(0).reduce((sum, { length }) => sum + length, 0);
  };
  bodies.set(request, () => {
    if (state === 'too large') throw new HttpError(413, `the request body is larger than ${maxBytes} bytes`);
    if (state === 'no room') throw new HttpError(503, 'too many request bodies at once', { 'Retry-After': '5' });
    return Buffer.concat(chunks);
  });
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (state !== 'kept') return;
    if (bytes > maxBytes) return drop('too large');
    if (heldBytes + chunk.length > maxHeldBytes) return drop('no room');
    heldBytes += chunk.length;
    chunks.push(chunk);
  });
  response.once('close', () => drop(state));
}

/** The kept body. Throws 413 if it was too large, and 503 if too many are kept already. */
export function bufferedBytes(request: IncomingMessage): Buffer {
  return bodies.get(request)?.() ?? Buffer.alloc(0);
}

/** The JSON object in the kept body. Throws 400 for anything else. */
export function bufferedObject(request: IncomingMessage): JsonObject {
  const value = parseJsonObject(bufferedBytes(request));
  if (value !== undefined) return value;
  throw new HttpError(400, 'invalid request body: expected a JSON object');
}

/** Enough for a decision, which has names, digests and times. */
const maxOwnBytes = 16_384;

const bodies = new WeakMap<IncomingMessage, () => Buffer>();

/** Of all requests together, because nobody has proved anything before the whole body is read. */
const maxHeldBytes = 16 * 1024 * 1024;
let heldBytes = 0;

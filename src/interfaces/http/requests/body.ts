import type { IncomingMessage, ServerResponse } from 'node:http';
import { errorBody, jsonType, HttpError } from '../replies/errors.ts';
import { parseJsonObject, type JsonObject } from '../../../domain/text/json.ts';

/** 1 MiB. Bodies are ignored, but a client may send one. */
const bodyLimitBytes = 1_048_576;

/**
 * Calls `next` with the size of the body after it was read and discarded, or at once without a body. Answers 413 to a
 * body that is too large.
 */
export function passBody(
  request: IncomingMessage,
  response: ServerResponse,
  { nowMs, next }: { readonly nowMs: () => number; readonly next: (bodyBytes: number) => void },
): void {
  if (!hasBody(request)) return next(0);
  if (announcesTooMuch(request)) return void refuseBody(request, response, nowMs());
  if (waitsForContinue(request)) response.writeContinue();
  skipBody(request, (bytes) => {
    if (bytes > bodyLimitBytes) void refuseBody(request, response, nowMs());
    else next(bytes);
  });
}

/** Whether the request announces a body. */
function hasBody({ headers }: IncomingMessage): boolean {
  const length = headers['content-length'];
  return headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
}

/** Whether the announced length is too large. */
function announcesTooMuch({ headers }: IncomingMessage): boolean {
  return Number(headers['content-length'] ?? 0) > bodyLimitBytes;
}

/**
 * Node does not answer this header itself, because `checkContinue` has a listener. A client of HTTP/1.0 would read the
 * interim reply as the final one: https://www.rfc-editor.org/rfc/rfc9110#section-10.1.1
 */
function waitsForContinue({ headers, httpVersion }: IncomingMessage): boolean {
  return httpVersion === '1.1' && headers.expect?.toLowerCase() === '100-continue';
}

/**
 * Reads and discards the body. Reports its bytes at its end, or those read so far as soon as they exceed the limit.
 * Never calls back for a client that has disconnected.
 */
function skipBody(request: IncomingMessage, callback: (bytes: number) => void): void {
  let bytes = 0;
  const onData = (chunk: Buffer): void => {
    bytes += chunk.length;
    if (bytes > bodyLimitBytes) finish();
  };
  function finish(): void {
    request.off('data', onData);
    request.off('end', finish);
    callback(bytes);
  }
  request.on('data', onData);
  request.on('end', finish);
}

async function refuseBody(request: IncomingMessage, response: ServerResponse, nowMs: number): Promise<void> {
  const body = errorBody(`the request body is larger than ${bodyLimitBytes} bytes`, nowMs);
  const headers = { 'Content-Type': jsonType, 'Content-Length': Buffer.byteLength(body), Connection: 'close' };
  response.writeHead(413, headers);
  if (request.method !== 'HEAD') response.write(body);
  else response.flushHeaders();
  await drainBriefly(request);
  response.end();
}

/**
 * Resolves when enough of a refused body has been read. An immediate close would reset the connection, and the client
 * might not get the reply.
 */
function drainBriefly(request: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    let bytes = 0;
    const timer = setTimeout(resolve, maxDrainMs);
    const finish = (): void => {
      clearTimeout(timer);
      resolve();
    };
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > 16 * bodyLimitBytes) finish();
    });
    request.once('end', finish);
    request.once('close', finish);
  });
}

const maxDrainMs = 2000;

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

import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { bufferBody, bufferedBytes } from './request.ts';

const maxBytes = 262_144;

/** A request whose body has not ended, and its reply. */
function sending(bytes: number) {
  const request = new EventEmitter() as IncomingMessage;
  const response = new EventEmitter() as ServerResponse;
  bufferBody(request, response, maxBytes);
  request.emit('data', Buffer.alloc(bytes));
  return { request, close: () => response.emit('close') };
}

test('a body is kept up to its limit', () => {
  const { request, close } = sending(maxBytes);
  expect(bufferedBytes(request)).toHaveLength(maxBytes);
  request.emit('data', Buffer.alloc(1));
  expect(() => bufferedBytes(request)).toThrow('larger than 262144 bytes');
  close();
});

test('bodies of many requests take a bounded memory, and the next one has room again when they have ended', () => {
  const all = Array.from({ length: 64 }, () => sending(maxBytes));
  const late = sending(1);
  expect(() => bufferedBytes(late.request)).toThrow('too many request bodies at once');
  expect(all.every(({ request }) => bufferedBytes(request).length === maxBytes)).toBe(true);
  for (const { close } of [...all, late]) close();
  const next = sending(maxBytes);
  expect(bufferedBytes(next.request)).toHaveLength(maxBytes);
  next.close();
});

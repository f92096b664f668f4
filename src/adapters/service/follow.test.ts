import { expect, test } from 'vitest';
import { framesIn, type EventFrame } from './client.ts';

const stream =
  'retry: 250\n\n: still here\n\nid: a-1\nevent: x\ndata: {"a":\ndata: "ä"}\n\nid: b\u0007\ndata:x\r\n\r\ndata: cut';

test.each([1, 2, 7, 1000])('frames are the same however they arrive: %i bytes at a time', async (size) => {
  expect(await framesOf(Buffer.from(stream), size)).toEqual([
    { data: '', retryMs: 250 },
    { data: '' },
    { id: 'a-1', data: '{"a":\n"ä"}' },
    { data: 'x' },
  ]);
});

test('a frame that does not end is refused before it fills the memory', async () => {
  await expect(framesOf(Buffer.alloc(3 * 1024 * 1024, 'x'), 65_536)).rejects.toThrow(RangeError);
});

async function framesOf(bytes: Uint8Array, size: number): Promise<readonly EventFrame[]> {
  async function* chunks() {
    for (let at = 0; at < bytes.length; at += size) yield await Promise.resolve(bytes.subarray(at, at + size));
  }
  const frames: EventFrame[] = [];
  for await (const frame of framesIn(chunks())) frames.push(frame);
  return frames;
}

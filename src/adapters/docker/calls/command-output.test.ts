import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createTextTail, logPayloads } from './exec.ts';

type Frame = { readonly stream: number; readonly payload: Uint8Array };

function encode(frames: readonly Frame[]): Buffer {
  return Buffer.concat(
    frames.map(({ stream, payload }) => {
      const header = Buffer.alloc(8);
      header[0] = stream;
      header.writeUInt32BE(payload.length, 4);
      return Buffer.concat([header, payload]);
    }),
  );
}

async function decode(chunks: readonly Uint8Array[]): Promise<Buffer> {
  async function* source(): AsyncGenerator<Uint8Array> {
    yield* chunks;
  }
  const payloads: Uint8Array[] = [];
  for await (const payload of logPayloads(source())) payloads.push(payload);
  return Buffer.concat(payloads);
}

describe('logPayloads()', () => {
  test('gives the same bytes however the stream is cut', async () => {
    const frame = fc.record({ stream: fc.integer({ min: 0, max: 2 }), payload: fc.uint8Array({ maxLength: 50 }) });
    await fc.assert(
      fc.asyncProperty(fc.array(frame), fc.infiniteStream(fc.integer({ min: 1, max: 30 })), async (frames, sizes) => {
        const bytes = encode(frames);
        const chunks: Uint8Array[] = [];
        for (let at = 0; at < bytes.length; at += chunks.at(-1)?.length ?? 0) {
          chunks.push(bytes.subarray(at, at + (sizes.next().value as number)));
        }
        expect(await decode(chunks)).toEqual(Buffer.concat(frames.map(({ payload }) => payload)));
      }),
    );
  });

  test('hands on what there is of a frame that breaks off', async () => {
    const whole = encode([{ stream: 1, payload: Buffer.from('hello world') }]);
    expect((await decode([whole.subarray(0, 13)])).toString()).toBe('hello');
    expect((await decode([whole.subarray(0, 5)])).toString()).toBe('');
  });

  test('survives any bytes', async () => {
    await fc.assert(fc.asyncProperty(fc.array(fc.uint8Array()), async (chunks) => void (await decode(chunks))));
  });
});

describe('createTextTail()', () => {
  test('keeps the end of any pieces', () => {
    const piece = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 200_000 });
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const tail = createTextTail();
        for (const one of pieces) tail.add(Buffer.from(one));
        expect(tail.text()).toBe(pieces.join('').slice(-65_536));
      }),
      { numRuns: 30 },
    );
  });

  test('holds none of its pieces, so that the memory does not grow with their number', () => {
    const tail = createTextTail();
    const piece = Buffer.alloc(1);
    for (let count = 0; count < 200_000; count += 1) {
      piece[0] = 97 + (count % 26);
      tail.add(piece);
    }
    const alphabet = 'abcdefghijklmnopqrstuvwxyz';
    expect(tail.text()).toBe(alphabet.repeat(7693).slice(0, 200_000).slice(-65_536));
  });

  test('begins with a whole character', () => {
    const tail = createTextTail();
    tail.add(Buffer.from(`€${'x'.repeat(65_535)}`));
    expect(tail.text()).toBe('x'.repeat(65_535));
  });
});

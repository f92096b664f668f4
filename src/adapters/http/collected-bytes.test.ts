import fc from 'fast-check';
import { expect, test } from 'vitest';
import { collectBytes } from './exchange.ts';

test('any chunks make the same bytes', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array()), (chunks) => {
      const collected = collectBytes();
      for (const chunk of chunks) collected.add(chunk);
      expect(collected.bytes()).toEqual(Buffer.concat(chunks));
    }),
  );
});

test('no chunk is held, so that the memory does not grow with their number', () => {
  const collected = collectBytes();
  const chunk = Buffer.alloc(1);
  for (const letter of 'abcdefg') {
    chunk.write(letter);
    collected.add(chunk);
  }
  expect(collected.bytes().toString()).toBe('abcdefg');
});

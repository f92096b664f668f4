import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createFrameReader } from './stream.ts';

const stream = ': still here\n\nid: a-1\nevent: x\ndata: {"a":1}\n\nid: a-2\r\ndata: one\r\ndata:two\r\n\r\n: x\n\n';
const expected = [
  { data: '{"a":1}', id: 'a-1' },
  { data: 'one\ntwo', id: 'a-2' },
];

test('frames are the same wherever the stream is cut', () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: stream.length }), { maxLength: 8 }), (cuts) => {
      const read = createFrameReader();
      const places = [0, ...cuts.toSorted((one, other) => one - other), stream.length];
      const frames = places.slice(1).flatMap((place, index) => read(stream.slice(places[index], place)));
      expect(frames).toEqual(expected);
    }),
  );
});

test('a frame beyond the bound is dropped, and the next one is read', () => {
  const read = createFrameReader(100);
  expect(read(`data: ${'x'.repeat(200)}`)).toEqual([]);
  expect(read(`${'x'.repeat(200)}\n\ndata: next\n\n`)).toEqual([{ data: 'next', id: '' }]);
});

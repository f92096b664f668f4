import { expect, test } from 'vitest';
import { hasTag } from './if-none-match.ts';

test.each([
  [undefined, false],
  ['', false],
  ['"abc"', true],
  ['W/"abc"', true],
  ['*', true],
  [' * ', true],
  ['"x", "abc"', true],
  ['"x",W/"abc" , "y"', true],
  ['"x, abc"', false],
  ['"ab"', false],
  ['abc', false],
  ['"*"', false],
  ['"abc', false],
])('If-None-Match: %s has the tag "abc": %s', (header, expected) => {
  expect(hasTag(header, '"abc"')).toBe(expected);
});

test('a long header is soon read', () => {
  const startedAtMs = performance.now();
  for (const piece of ['"', 'W/"', '"a",', ' ', '*']) hasTag(piece.repeat(100_000), '"abc"');
  expect(performance.now() - startedAtMs).toBeLessThan(2000);
});

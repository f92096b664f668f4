import { expect, test } from 'vitest';
import { hasTag } from './dashboard.ts';

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

test.each(['"', 'W/"', '"a",', ' ', '*'])('a header of a million %j is soon read', (piece) => {
  expect(hasTag(piece.repeat(1_000_000), '"abc"')).toBe(false);
});

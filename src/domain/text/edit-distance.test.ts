import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { editDistance, nearest } from './name-pattern.ts';

describe('editDistance()', () => {
  test.each([
    ['', '', 0],
    ['', 'abc', 3],
    ['enable', 'enable', 0],
    ['enable', 'enabel', 1],
    ['enable', 'enabled', 1],
    ['enable', 'nable', 1],
    ['enable', 'anable', 1],
    ['kitten', 'sitting', 3],
    ['ab', 'ba', 1],
  ])('from %j to %j is %d', (from, to, expected) => {
    expect(editDistance(from, to)).toBe(expected);
  });

  test('is the same both ways, nothing for the same, and no more than the longer one', () => {
    const word = fc.string({ maxLength: 12 });
    fc.assert(
      fc.property(word, word, (a, b) => {
        const distance = editDistance(a, b);
        expect(distance).toBe(editDistance(b, a));
        expect(distance === 0).toBe(a === b);
        expect(distance).toBeLessThanOrEqual(Math.max(a.length, b.length));
      }),
    );
  });
});

describe('nearest()', () => {
  test('finds the one that was meant, whatever the case', () => {
    expect(nearest('ENABEL', ['scope', 'enable'])).toBe('enable');
  });

  test('gives nothing when more than half would have to change, or the text is long', () => {
    expect(nearest('colour', ['scope', 'enable'])).toBeUndefined();
    expect(nearest('', ['scope'])).toBeUndefined();
    expect(nearest('x'.repeat(2 ** 20), ['x'.repeat(2 ** 20)])).toBeUndefined();
  });
});

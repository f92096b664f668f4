import * as fc from 'fast-check';
import { RE2JS } from 're2js';
import { describe, expect, test } from 'vitest';
import { patternSize } from '../src/domain/text/name-pattern.ts';

const atom = fc.constantFrom(
  ...['a', '.', 'ü', '\\.', '\\d', '\\pL', '\\PN', '\\p{Greek}', '[a-z]', '[^a]', '[[:alpha:]x]', '[\\]a]', '[]a]'],
  ...['\\Qa[b\\E', '[a\\pL[:^digit:]]', '^', '$', '\\b', 'ab', '{', '{x}', '\\x{10}', '\\101', ''],
);
const times = fc.constantFrom(
  '',
  '',
  '',
  '*',
  '+?',
  '?',
  '{3}',
  '{2,}',
  '{0,4}',
  '{1,3}?',
  '{0}',
  '{7}',
  '{00}',
  '{1,02}',
);
const group = fc.constantFrom('(', '(?:', '(?i)(', '(?P<n>', '(?s:');
const { pattern } = fc.letrec<{ pattern: string; piece: string; grouped: string }>((tie) => ({
  piece: fc.oneof({ depthSize: 'small' }, fc.tuple(atom, times).map(join), tie('grouped')),
  grouped: fc.tuple(group, tie('pattern'), fc.constant(')'), times).map(join),
  pattern: fc.array(fc.oneof(tie('piece'), fc.constant('|')), { maxLength: 6 }).map(join),
}));

function join(parts: readonly string[]): string {
  return parts.join('');
}

function compiledSize(text: string): number | undefined {
  try {
    return RE2JS.compile(text).programSize();
  } catch {
    return undefined;
  }
}

describe('patternSize()', () => {
  test('is at least the size of what the pattern compiles to', () => {
    fc.assert(
      fc.property(pattern, (text) => (compiledSize(text) ?? 0) <= patternSize(text)),
      { numRuns: 3000 },
    );
  });

  test('also for text that is hardly a pattern', () => {
    const letter = fc.constantFrom(...'ab()[]{}^$|*+?\\.QEpL:-,09i'.split(''));
    const text = fc.array(letter, { maxLength: 25 }).map(join);
    fc.assert(
      fc.property(text, (each) => (compiledSize(each) ?? 0) <= patternSize(each)),
      { numRuns: 5000 },
    );
  });

  test.each([
    ['web', 6],
    ['web-[0-9]+', 14],
    ['(?:nginx|redis)-.*', 30],
  ])('of %j is not more than %d', (text, most) => expect(patternSize(text)).toBeLessThanOrEqual(most));

  test.each(['\\PL{900}', '(?:a?b?){1000}', '((((a{9}){9}){9}){9}){9}', '(?:\\pL{30}){30}', '[\\pL\\pN]{500}'])(
    'of %j is large',
    (text) => expect(patternSize(text)).toBeGreaterThan(1500),
  );
});

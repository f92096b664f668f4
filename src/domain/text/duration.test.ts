import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fixtureTable } from '../../../test/support/fixture-table.ts';
import { formatDuration, parseDuration, type DurationGrammar } from './duration.ts';

describe('parseDuration()', () => {
  test.each(fixtureTable('duration.txt'))('reads %s as %s', (text = '', expected = '', grammar = '') => {
    expect(parseDuration(text, read(grammar))).toBe(expected === '-' ? undefined : Number(expected));
  });

  test('drops the spaces around', () => {
    expect(parseDuration(' 5s\n')).toBe(5000);
    expect(parseDuration('  ')).toBeUndefined();
    expect(parseDuration('')).toBeUndefined();
  });

  test('refuses a megabyte before reading it, though every part is right', () => {
    expect(parseDuration('1s'.repeat(2 ** 19))).toBeUndefined();
    expect(parseDuration(`${' '.repeat(2 ** 20)}1s`)).toBeUndefined();
  });

  test('gives a whole number that is not negative, or nothing', () => {
    fc.assert(
      fc.property(durationLike, (text) => {
        const ms = parseDuration(text, { bareUnit: 's', months: true });
        expect(ms === undefined || (Number.isSafeInteger(ms) && ms >= 0)).toBe(true);
      }),
    );
  });
});

describe('formatDuration()', () => {
  test.each([
    [0, '0s'],
    [-5, '0s'],
    [7, '7ms'],
    [999, '999ms'],
    [1000, '1s'],
    [1250, '1.25s'],
    [59_999, '59.999s'],
    [60_000, '1m'],
    [90_000, '1m30s'],
    [600_000, '10m'],
    [3_600_000, '1h'],
    [3_601_500, '1h1.5s'],
    [86_400_000, '1d'],
    [691_200_000, '8d'],
    [1250.4, '1.25s'],
  ])('shows %d as %s', (ms, expected) => {
    expect(formatDuration(ms)).toBe(expected);
  });

  test.each([
    [0, '0s', '1s'],
    [640.4, '640ms', '1s'],
    [1240, '1.2s', '1s'],
    [4000, '4s', '4s'],
    [59_499, '59.5s', '59s'],
    [59_960, '1m', '1m'],
    [72_300, '1m12s', '1m'],
    [59.7 * 60_000, '59m42s', '1h'],
    [47 * 3_600_000, '1d23h', '47h'],
    [86_400_000, '1d', '24h'],
    [47.8 * 3_600_000, '1d23h48m', '2d'],
    [12.4 * 86_400_000, '12d9h36m', '12d'],
  ])('shows %d rounded as %s, and in one unit as %s', (ms, rounded, oneUnit) => {
    expect([formatDuration(ms, 'rounded'), formatDuration(ms, 'one unit')]).toEqual([rounded, oneUnit]);
  });

  test('is read back as the same milliseconds', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 9_000_000_000_000 }), (ms) => {
        expect(parseDuration(formatDuration(ms))).toBe(ms);
      }),
    );
  });
});

function read(grammar: string): DurationGrammar {
  const bareUnit = (['s', 'm'] as const).find((unit) => grammar.includes(unit));
  return { bareUnit, months: grammar.includes('M') };
}

const durationLike = fc.oneof(
  fc.string(),
  fc
    .array(fc.constantFrom('1', '0', '9', '.', 's', 'm', 'h', 'd', 'w', 'M', 'ms', 'ns', '-', '99'))
    .map((parts) => parts.join('')),
);

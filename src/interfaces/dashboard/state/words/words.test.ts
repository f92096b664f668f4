import { describe, expect, test } from 'vitest';
import {
  dayOf,
  when,
  withNoBreakSpaces,
  preciseDuration,
  size,
  duration,
  capitalized,
  withPeriod,
  uncapitalized,
  joinedWords,
  plural,
} from '../words.ts';

const plain = (text: string) => text.replaceAll('\u00A0', ' ');
const hour = 3_600_000;

describe('numbers', () => {
  test.each([
    [0, '1s'],
    [59_499, '59s'],
    [60_000, '1m'],
    [47 * hour, '47h'],
    [48 * hour, '2d'],
  ])('span(%d) is %s', (ms, words) => expect(plain(duration(ms))).toBe(words));

  test.each([
    [0, '0s'],
    [949, '949ms'],
    [1240, '1.2s'],
    [59_960, '1m'],
    [134_000, '2m14s'],
  ])('precise(%d) is %s', (ms, words) => expect(plain(preciseDuration(ms))).toBe(words));

  test.each([
    [1, '1 kB'],
    [412_000_000, '412 MB'],
    [1_500_000_000, '1.5 GB'],
  ])('size(%d) is %s', (bytes, words) => expect(plain(size(bytes))).toBe(words));

  test('no line ends between a number and its unit, and nothing else is changed', () => {
    expect(withNoBreakSpaces('exited with code 1, 3 MB of 10 GB, 4 sheep, 2 %')).toBe(
      'exited with code 1, 3\u00A0MB of 10\u00A0GB, 4 sheep, 2\u00A0%',
    );
  });
});

describe('moments', () => {
  const now = new Date(2026, 10, 20, 14, 52).getTime();
  test.each([
    [new Date(2026, 10, 20, 4, 2), 'today 04:02'],
    [new Date(2026, 10, 21, 0, 0), 'tomorrow 00:00'],
    [new Date(2026, 10, 19, 23, 59), 'yesterday 23:59'],
    [new Date(2026, 10, 14, 4, 0), 'Sat 14 Nov 04:00'],
  ])('%s is %s', (date, words) => expect(when(date.getTime(), now)).toBe(words));

  test('another year is said', () => expect(dayOf(new Date(2024, 0, 2).getTime(), now)).toBe('2 Jan 2024'));

  test('the day after the clocks change is tomorrow', () => {
    const before = new Date(2026, 2, 28, 12).getTime();
    expect(dayOf(new Date(2026, 2, 29, 12).getTime(), before)).toBe('tomorrow');
  });
});

describe('sentences', () => {
  test('count, list and end', () => {
    expect([plural(1, 'update'), plural(2, 'update')]).toEqual(['1 update', '2 updates']);
    expect([joinedWords([]), joinedWords(['a']), joinedWords(['a', 'b', 'c'])]).toEqual(['', 'a', 'a, b and c']);
    expect([withPeriod('it failed'), withPeriod('why?'), withPeriod('')]).toEqual(['it failed.', 'why?', '']);
    expect([capitalized('\u{1F600}x'), capitalized('äpfel')]).toEqual(['\u{1F600}x', 'Äpfel']);
    expect([uncapitalized('The registry'), uncapitalized('DNS failed')]).toEqual(['the registry', 'DNS failed']);
  });
});

test('a rounded number never reaches the next unit', () => {
  expect(
    [duration(59_700), duration(59.7 * 60_000), size(999_700_000)].map((text) => text.replace('\u00A0', ' ')),
  ).toEqual(['1m', '1h', '1.0 GB']);
});

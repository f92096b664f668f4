import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseWindows } from './windows.ts';

const all = [0, 1, 2, 3, 4, 5, 6];

describe('parseWindows()', () => {
  test.each([
    ['02:00-05:00', [{ days: all, fromMinute: 120, untilMinute: 300 }]],
    ['2:00 – 5:00', [{ days: all, fromMinute: 120, untilMinute: 300 }]],
    ['Wed 23:00-02:00', [{ days: [3], fromMinute: 1380, untilMinute: 1560 }]],
    ['sat, SUNDAY 01:00-06:00', [{ days: [0, 6], fromMinute: 60, untilMinute: 360 }]],
    ['Fri-Mon 01:00-24:00', [{ days: [0, 1, 5, 6], fromMinute: 60, untilMinute: 1440 }]],
    ['Sun', [{ days: [0], fromMinute: 0, untilMinute: 1440 }]],
    [
      'Mon 01:00-02:00, 03:00-04:00;; Tue 00:00-24:00;',
      [
        { days: [1], fromMinute: 60, untilMinute: 120 },
        { days: [1], fromMinute: 180, untilMinute: 240 },
        { days: [2], fromMinute: 0, untilMinute: 1440 },
      ],
    ],
  ])('reads %j', (text, expected) => {
    expect(parseWindows(text)).toEqual(expected);
  });

  test.each([
    ['', 'it is empty'],
    [' ; ', 'it is empty'],
    ['2-5', '"2-5" is neither a day, as in Sat or Mon-Fri, nor a time, as in 02:00-05:00'],
    ['02:00', '"02:00" is neither a day'],
    ['25:00-26:00', '"25:00-26:00" is neither a day'],
    ['02:60-03:00', '"02:60-03:00" is neither a day'],
    ['24:00-02:00', '"24:00-02:00" is neither a day'],
    ['Sa 02:00-03:00', '"Sa" is neither a day'],
    ['Mon-Tue-Wed', '"Mon-Tue-Wed" is neither a day'],
    ['02:00-02:00', '"02:00-02:00" is empty; a whole day is 00:00-24:00'],
    ['02:00-03:00 Sat', 'the day "Sat" comes after a time; windows are separated by ";"'],
    ['x'.repeat(1001), 'it has more than 1000 characters'],
    ['\u001b[2J', '"\\x1b[2J" is neither a day'],
  ])('refuses %j', (text, fault) => {
    expect(parseWindows(text)).toEqual({ fault: expect.stringContaining(fault) as unknown });
  });

  test('reads any text without an error, and what it reads is in bounds', () => {
    const word = fc.constantFrom(
      'Mon',
      'sun',
      'Fri-Mon',
      '02:00-05:00',
      '23:00-1:30',
      ';',
      ',',
      ' ',
      '-',
      ':',
      '24:00',
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.array(word, { maxLength: 8 }).map((words) => words.join(' ')),
        ),
        (text) => {
          const windows = parseWindows(text);
          for (const { days, fromMinute, untilMinute } of 'fault' in windows ? [] : windows) {
            expect(days.length).toBeGreaterThan(0);
            expect(untilMinute - fromMinute).toBeGreaterThan(0);
            expect(untilMinute - fromMinute).toBeLessThanOrEqual(1440);
            expect(fromMinute).toBeLessThan(1440);
          }
        },
      ),
    );
  });
});

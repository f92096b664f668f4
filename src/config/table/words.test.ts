import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { readSchedule, wordsOf } from './times.ts';

test.each([
  ['0 4 * * *', 'every day at 04:00'],
  ['0 30 4 * * *', 'every day at 04:30'],
  ['5 4,16 * * *', 'every day at 04:05 and 16:05'],
  ['0 4 * * 0', 'every Sunday at 04:00'],
  ['0 4 * * 7', 'every Sunday at 04:00'],
  ['0 4 * * sun,WED', 'every Sunday and Wednesday at 04:00'],
  ['0 4 * * 1-5', 'every Monday to Friday at 04:00'],
  ['0 4 1 * *', 'on day 1 of every month at 04:00'],
  ['0 * * * *', 'every hour'],
  ['15 * * * *', 'every hour at minute 15'],
  ['*/15 * * * *', 'every 15m'],
  ['* * * * *', 'every minute'],
  ['0 */6 * * *', 'every 6h from midnight'],
  ['30 */6 * * *', 'every 6h from midnight at minute 30'],
])('wordsOf(%j) says %s', (fields, words) => expect(wordsOf(fields)).toBe(words));

test.each([
  '30 0 4 * * *',
  '*/7 * * * *',
  '0 */5 * * *',
  '0 1-3 * * *',
  '0 4 1 * 1',
  '0 4 1 6 *',
  '0 4 L * *',
  '0 4 * * 5L',
  '0 4 * * 1#2',
  '0 1,2,3,4,5 * * *',
  '*/15 4 * * *',
  '*/15 * * * 1',
  '0 4 * * 1-3-5',
])('wordsOf(%j) leaves it to the fields', (fields) => expect(wordsOf(fields)).toBeUndefined());

test('the words of days and times name each time at which the schedule comes up, and no other', () => {
  const number = (max: number) => fc.integer({ min: 0, max });
  fc.assert(
    fc.property(
      number(59),
      fc.uniqueArray(number(23), { minLength: 1, maxLength: 4 }),
      number(6),
      (minute, hours, day) => {
        const schedule = readSchedule(`${minute} ${hours.join(',')} * * ${day}`, 'UTC');
        const next = new Date(schedule?.kind === 'calendar' ? (schedule.nextRunAfter(Date.UTC(2026, 0, 1)) ?? 0) : 0);
        const weekday = new Intl.DateTimeFormat('en', { weekday: 'long', timeZone: 'UTC' }).format(next);
        const said = schedule?.words ?? '';
        expect(said).toContain(`every ${weekday} at `);
        expect(said).toContain(next.toISOString().slice(11, 16));
        expect(said.match(/\d\d:\d\d/g)).toHaveLength(hours.length);
      },
    ),
  );
});

import { describe, expect, test } from 'vitest';
import { intervalSchedule, readSchedule } from './times.ts';

const first = (text: string, zone = 'UTC') => {
  const schedule = readSchedule(text, zone);
  if (schedule?.kind !== 'calendar') return schedule?.words;
  const next = schedule.nextRunAfter(Date.parse('2026-01-31T12:00Z'));
  return new Date(next ?? Number.NaN).toISOString().replace(':00.000Z', 'Z');
};

test('readSchedule() is soon done with a text that is no schedule, however long', () => {
  for (const piece of [' ', '\t', '1,', '*/', 'a ', 'TZ=', '@every ', '1-', '\n'])
    expect(readSchedule(`a${piece.repeat(1_000_000)}!`, 'UTC')).toBeUndefined();
});

describe('readSchedule()', () => {
  test.each([
    ['0 4 * * *', '2026-02-01T04:00Z'],
    ['  0   4 * * *\t', '2026-02-01T04:00Z'],
    ['0 0 4 * * *', '2026-02-01T04:00Z'],
    ['0 0 4 ? * SUN', '2026-02-01T04:00Z'],
    ['0 4 */1 * MON', '2026-02-02T04:00Z'],
    ['0 4 15 * */1', '2026-02-15T04:00Z'],
    ['0 0 4 ?/1 * MON', '2026-02-02T04:00Z'],
    ['0 4 *,1 * MON', '2026-02-02T04:00Z'],
    ['0 4 1,? * MON', '2026-02-02T04:00Z'],
    ['0 4 5,*/1 * MON', '2026-02-02T04:00Z'],
    ['0 4 15 * *,1', '2026-02-15T04:00Z'],
    ['0 4 */2 * MON', '2026-02-01T04:00Z'],
    ['@daily', '2026-02-01T00:00Z'],
    ['@midnight', '2026-02-01T00:00Z'],
    ['@Hourly', '2026-01-31T13:00Z'],
    ['@weekly', '2026-02-01T00:00Z'],
    ['@monthly', '2026-02-01T00:00Z'],
    ['@yearly', '2027-01-01T00:00Z'],
    ['@annually', '2027-01-01T00:00Z'],
    ['TZ=Europe/Berlin 0 4 * * *', '2026-02-01T03:00Z'],
    ['CRON_TZ=Asia/Kolkata @daily', '2026-01-31T18:30Z'],
    ['@every 1h30m', 'every 1h30m'],
    ['@every 90', 'every 1m30s'],
    ['TZ=UTC @every 24h', 'every 1d'],
  ])('%j comes up first at %s', (text, expected) => {
    expect(first(text)).toBe(expected);
  });

  test('set-up five fields of a schedule: they begin with the minute, six with the second; */1 of a day counts as *', () => {
    expect([first('0 0 4 * *'), first('0 0 4 * * *')]).toEqual(['2026-02-04T00:00Z', '2026-02-01T04:00Z']);
    expect(first('0 4 */1 * MON')).toBe(first('0 4 * * MON'));
  });

  test('a bad value beside a star is refused', () => {
    for (const text of ['0 4 *,99 * *', '0 4 * * *,x', '0 4 */1, * *'])
      expect(readSchedule(text, 'UTC')).toBeUndefined();
  });

  test('is in the time zone it is given, unless it names one', () => {
    expect(first('0 4 * * *', 'Europe/Berlin')).toBe('2026-02-01T03:00Z');
    expect(first('TZ=UTC 0 4 * * *', 'Europe/Berlin')).toBe('2026-02-01T04:00Z');
  });

  test.each([
    '',
    '   ',
    '* * * *',
    '* * * * * * *',
    '0 4 * * 9',
    '0 0 30 2 *',
    '2026-01-01T00:00:00',
    '@reboot',
    '@every',
    '@every soon',
    '@every 10ms',
    '@every 0s',
    '@every -1h',
    'TZ=Europe/Nowhere 0 4 * * *',
    'TZ=Europe/Berlin',
    `${'1,'.repeat(600)}1 * * * *`,
  ])('cannot be read, or never comes up: %j', (text) => {
    expect(readSchedule(text, 'UTC')).toBeUndefined();
  });

  test('says in words what it is', () => {
    expect(readSchedule('@daily', 'Europe/Berlin')?.words).toBe('every day at 00:00 (Europe/Berlin)');
    expect(readSchedule('CRON_TZ=Asia/Tokyo 7 1-3 * * *', 'UTC')?.words).toBe(
      'on the schedule "7 1-3 * * *" (Asia/Tokyo)',
    );
    expect(intervalSchedule(21_600_000).words).toBe('every 6h');
  });
});

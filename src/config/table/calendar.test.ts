import * as fc from 'fast-check';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { readCalendar } from './times.ts';

function slots(pattern: string, zone: string, from: string, count: number): string[] {
  const nextRunAfter = readCalendar(pattern, zone);
  const found: string[] = [];
  let ms = Date.parse(from);
  for (let slot = 0; slot < count; slot += 1) {
    ms = nextRunAfter(ms) ?? Number.NaN;
    found.push(Number.isNaN(ms) ? 'never' : new Date(ms).toISOString().replace(':00.000Z', 'Z'));
  }
  return found;
}

describe('readCalendar()', () => {
  test.each([
    ['0 4 * * *', 'UTC', '2026-01-31T04:00Z', ['2026-02-01T04:00Z', '2026-02-02T04:00Z']],
    ['0 4 * * *', 'Europe/Berlin', '2026-01-31T12:00Z', ['2026-02-01T03:00Z', '2026-02-02T03:00Z']],
    ['30 0 4 * * *', 'UTC', '2026-01-31T12:00Z', ['2026-02-01T04:00:30.000Z']],
    ['*/20 * * * *', 'UTC', '2026-01-31T12:01Z', ['2026-01-31T12:20Z', '2026-01-31T12:40Z']],
    ['5/25 6 * * *', 'UTC', '2026-01-31T12:00Z', ['2026-02-01T06:05Z', '2026-02-01T06:30Z', '2026-02-01T06:55Z']],
    ['0 0 29 2 *', 'UTC', '2026-01-01T00:00Z', ['2028-02-29T00:00Z', '2032-02-29T00:00Z']],
    ['0 0 * * mon-tue', 'UTC', '2026-01-01T00:00Z', ['2026-01-05T00:00Z', '2026-01-06T00:00Z']],
    ['0 0 13 * fri', 'UTC', '2026-01-10T00:00Z', ['2026-01-13T00:00Z', '2026-01-16T00:00Z']],
    ['0 0 30 2 *', 'UTC', '2026-01-01T00:00Z', ['never']],
  ])('%s in %s comes up after %s at %j', (pattern, zone, from, expected) => {
    expect(slots(pattern, zone, from, expected.length)).toEqual(expected);
  });

  // New York sets its clocks on at 07:00Z (2:00 becomes 3:00) and back on 1 November at 06:00Z; Lord Howe by half an hour.
  test.each([
    ['30 2 * * *', 'America/New_York', '2026-03-08T05:30Z', ['2026-03-08T07:00Z', '2026-03-09T06:30Z']],
    ['15,45 2 * * *', 'America/New_York', '2026-03-08T05:30Z', ['2026-03-08T07:00Z', '2026-03-09T06:15Z']],
    ['30 2,14 * * *', 'America/New_York', '2026-03-08T05:30Z', ['2026-03-08T07:00Z', '2026-03-08T18:30Z']],
    ['0 2,3 * * *', 'America/New_York', '2026-03-08T05:30Z', ['2026-03-08T07:00Z', '2026-03-09T06:00Z']],
    ['15 * * * *', 'America/New_York', '2026-03-08T05:30Z', ['2026-03-08T06:15Z', '2026-03-08T07:15Z']],
    ['30 1 * * *', 'America/New_York', '2026-11-01T04:00Z', ['2026-11-01T05:30Z', '2026-11-02T06:30Z']],
    ['15,45 1 * * *', 'America/New_York', '2026-11-01T05:30Z', ['2026-11-01T05:45Z', '2026-11-02T06:15Z']],
    ['0 2 * * *', 'America/New_York', '2026-11-01T04:00Z', ['2026-11-01T07:00Z', '2026-11-02T07:00Z']],
    ['30 * * * *', 'America/New_York', '2026-11-01T05:00Z', ['2026-11-01T05:30Z', '2026-11-01T06:30Z']],
    ['15 2 * * *', 'Australia/Lord_Howe', '2026-10-03T00:00Z', ['2026-10-03T15:30Z', '2026-10-04T15:15Z']],
    ['0 0 * * *', 'Africa/Cairo', '2026-04-23T12:00Z', ['2026-04-23T22:00Z', '2026-04-24T21:00Z']],
    ['0 */6 * * *', 'Africa/Cairo', '2026-04-23T18:00Z', ['2026-04-23T22:00Z', '2026-04-24T03:00Z']],
    ['15 */3 * * *', 'Europe/Athens', '2026-03-28T22:30Z', ['2026-03-29T01:00Z', '2026-03-29T03:15Z']],
    ['30 */1 * * *', 'America/New_York', '2026-11-01T05:00Z', ['2026-11-01T05:30Z', '2026-11-01T06:30Z']],
  ])('%s in %s keeps every date once when clocks change, after %s at %j', (pattern, zone, from, expected) => {
    expect(slots(pattern, zone, from, expected.length)).toEqual(expected);
  });

  test('certain hours come up when a clock on a wall first shows them or has just skipped them: minute by minute', () => {
    const some = (most: number) => fc.uniqueArray(fc.nat({ max: most }), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(some(59), some(5), fc.constantFrom(...changes), (minutes, hours, [zone, day]) => {
        const nextRunAfter = readCalendar(`${minutes.join(',')} ${hours.join(',')} * * *`, zone);
        const from = Date.parse(day);
        const until = from + 2 * 86_400_000;
        const found: number[] = [];
        for (let ms = nextRunAfter(from); ms !== undefined && ms <= until; ms = nextRunAfter(ms)) found.push(ms);
        expect(found).toEqual(walk({ minutes, hours, zone, from, until }));
      }),
      { numRuns: 200 },
    );
  });

  test.each(['', '* * * *', '* * * * * * *', '60 * * * *', 'a b c d e', '*/0 * * * *'])('throws for %j', (pattern) => {
    expect(() => readCalendar(pattern, 'UTC')).toThrow();
  });

  test('throws for a time zone that does not exist', () => {
    for (const pattern of ['0 4 * * *', '0 * * * *'])
      expect(() => readCalendar(pattern, 'Europe/Nowhere')(0)).toThrow();
  });
});

/** Days with a clock change, and one without. */
const changes = [
  ['America/New_York', '2026-03-07T12:00Z'],
  ['America/New_York', '2026-10-31T12:00Z'],
  ['Europe/Berlin', '2026-03-28T12:00Z'],
  ['Europe/Berlin', '2026-10-24T12:00Z'],
  ['Australia/Lord_Howe', '2026-10-03T00:00Z'],
  ['Australia/Lord_Howe', '2026-04-04T00:00Z'],
  ['Africa/Cairo', '2026-04-23T00:00Z'],
  ['Asia/Kolkata', '2026-05-05T00:00Z'],
] as const;

type Walk = {
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly zone: string;
  readonly from: number;
  readonly until: number;
};

/** Walks through time minute by minute, with the latest local time so far. Each slot that it passes is due once. */
function walk({ minutes, hours, zone, from, until }: Walk): number[] {
  const wallMinute = wallClock(zone);
  const found: number[] = [];
  let latest = wallMinute(from);
  for (let ms = from + 60_000; ms <= until; ms += 60_000) {
    let passesSlot = false;
    for (const now = wallMinute(ms); latest < now;) {
      latest += 1;
      passesSlot ||= minutes.includes(latest % 60) && hours.includes(Math.floor(latest / 60) % 24);
    }
    if (passesSlot) found.push(ms);
  }
  return found;
}

const wallClocks = new Map<string, (ms: number) => number>();

/** Reads the clock on a wall of the zone, in minutes; each time is read once. */
function wallClock(zone: string): (ms: number) => number {
  const known = wallClocks.get(zone);
  if (known !== undefined) return known;
  const parts = { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric' } as const;
  const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, hourCycle: 'h23', ...parts });
  const read = new Map<number, number>();
  const clock = (ms: number): number => {
    const before = read.get(ms);
    if (before !== undefined) return before;
    const [month = 0, day = 0, year = 0, hour = 0, minute = 0] = format.format(ms).match(/\d+/g)?.map(Number) ?? [];
    const now = Date.UTC(year, month - 1, day, hour, minute) / 60_000;
    read.set(ms, now);
    return now;
  };
  wallClocks.set(zone, clock);
  return clock;
}

describe('a schedule in UTC', () => {
  const patterns = [
    '0 4 * * *',
    '30 * * * *',
    '*/7 * * * *',
    '5 4 3 * * *',
    '0 */6 * * 1-5',
    '59 23 L * *',
    '0 0 29 2 *',
  ];
  const times = Array.from({ length: 200 }, (_, place) => Date.UTC(2026, 0, 1) + place * 7_919_123_457);

  test.each(patterns)('%s runs at the same times as by the name of its zone', (pattern) => {
    const [byOffset, byName] = [readCalendar(pattern, 'UTC'), readCalendar(pattern, 'Etc/UTC')];
    expect(times.map((ms) => byOffset(ms))).toEqual(times.map((ms) => byName(ms)));
  });

  test.each(patterns)('%s loads no time zones', (pattern) => {
    const format = vi.spyOn(Intl.DateTimeFormat.prototype, 'formatToParts');
    onTestFinished(() => format.mockRestore());
    expect(readCalendar(pattern, 'UTC')(0)).toBeDefined();
    expect(format).not.toHaveBeenCalled();
  });
});

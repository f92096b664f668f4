import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createTimeZone, parseWindows, createWindows, type Window, type Windows } from './windows.ts';

const zones = ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kathmandu', 'Pacific/Apia'] as const;

/** Both changes of 2026 in each zone that has them; in Lord Howe by half an hour. */
const changes: Readonly<Record<(typeof zones)[number], readonly string[]>> = {
  'Europe/Berlin': ['2026-03-29T01:00:00Z', '2026-10-25T01:00:00Z'],
  'America/New_York': ['2026-03-08T07:00:00Z', '2026-11-01T06:00:00Z'],
  'Australia/Lord_Howe': ['2026-04-04T15:00:00Z', '2026-10-03T15:30:00Z'],
  'Asia/Kathmandu': ['2026-03-29T00:00:00Z', '2026-10-25T00:00:00Z'],
  'Pacific/Apia': ['2026-04-04T14:00:00Z', '2011-12-30T10:00:00Z'],
};

function windowsOf(text: string, zone = 'UTC'): Windows {
  const windows = parseWindows(text);
  if ('fault' in windows) throw new Error(windows.fault);
  return createWindows(windows, createTimeZone(zone));
}

describe('a window', () => {
  test.each([
    ['02:00-05:00', '2026-06-01T01:59:59.999Z', false],
    ['02:00-05:00', '2026-06-01T02:00:00Z', true],
    ['02:00-05:00', '2026-06-01T04:59:59.999Z', true],
    ['02:00-05:00', '2026-06-01T05:00:00Z', false],
    ['23:00-02:00', '2026-06-01T23:30:00Z', true],
    ['23:00-02:00', '2026-06-02T01:59:00Z', true],
    ['23:00-02:00', '2026-06-02T02:00:00Z', false],
    ['Sat,Sun 01:00-06:00', '2026-06-05T02:00:00Z', false],
    ['Sat,Sun 01:00-06:00', '2026-06-06T02:00:00Z', true],
    ['Wed 23:00-02:00', '2026-06-04T01:00:00Z', true],
    ['Wed 23:00-02:00', '2026-06-03T01:00:00Z', false],
    ['Sun', '2026-06-07T00:00:00Z', true],
    ['Sun', '2026-06-07T23:59:59.999Z', true],
    ['Sun', '2026-06-08T00:00:00Z', false],
    ['00:00-24:00', '2026-06-08T12:00:00Z', true],
    ['Sat 22:00-24:00', '2026-06-06T23:59:00Z', true],
    ['Sat 22:00-24:00', '2026-06-07T00:00:00Z', false],
  ])('%s at %s is open: %s', (text, at, expected) => {
    expect(windowsOf(text).isOpen(Date.parse(at))).toBe(expected);
  });

  test.each([
    ['02:00-05:00', 'UTC', '2026-06-01T05:00:00Z', '2026-06-02T02:00:00Z'],
    ['02:00-05:00', 'UTC', '2026-06-01T03:00:00Z', '2026-06-01T03:00:00Z'],
    ['Sat,Sun 01:00-06:00; Wed 23:00-02:00', 'UTC', '2026-06-01T00:00:00Z', '2026-06-03T23:00:00Z'],
    ['Sat,Sun 01:00-06:00; Wed 23:00-02:00', 'UTC', '2026-06-04T02:00:00Z', '2026-06-06T01:00:00Z'],
    ['Mon 09:00-10:00', 'UTC', '2026-06-01T10:00:00Z', '2026-06-08T09:00:00Z'],
    ['02:00-03:00; 02:30-05:00', 'UTC', '2026-06-01T01:00:00Z', '2026-06-01T02:00:00Z'],
    // The clocks skip 02:00 to 03:00. This covers one window completely, and the beginning of the other.
    ['02:00-03:00', 'Europe/Berlin', '2026-03-28T12:00:00Z', '2026-03-30T00:00:00Z'],
    ['02:30-05:00', 'Europe/Berlin', '2026-03-28T12:00:00Z', '2026-03-29T01:00:00Z'],
    ['Sun 02:00-03:00', 'Europe/Berlin', '2026-03-28T12:00:00Z', '2026-04-05T00:00:00Z'],
    // The clocks repeat 02:00 to 03:00.
    ['02:30-02:45', 'Europe/Berlin', '2026-10-25T00:00:00Z', '2026-10-25T00:30:00Z'],
    ['02:30-02:45', 'Europe/Berlin', '2026-10-25T00:50:00Z', '2026-10-25T01:30:00Z'],
    // Samoa went from Thursday to Saturday.
    ['Fri 10:00-11:00', 'Pacific/Apia', '2011-12-30T00:00:00Z', '2012-01-05T20:00:00Z'],
  ])('%s in %s after %s opens at %s', (text, zone, at, expected) => {
    expect(new Date(windowsOf(text, zone).nextOpening(Date.parse(at))).toISOString()).toBe(
      new Date(expected).toISOString(),
    );
  });
});

describe('any windows, around both changes of the clocks in five zones', () => {
  const anyWindow = fc
    .tuple(fc.uniqueArray(fc.nat(6), { minLength: 1 }), fc.nat(95), fc.integer({ min: 1, max: 96 }))
    .map(([days, from, length]): Window => ({ days, fromMinute: from * 15, untilMinute: from * 15 + length * 15 }));
  const anyWindows = fc.array(anyWindow, { minLength: 1, maxLength: 3 });
  const anyTime = fc
    .constantFrom(...zones)
    .chain((zone) =>
      fc
        .tuple(fc.constantFrom(...changes[zone]), fc.integer({ min: -4 * 24 * 60, max: 4 * 24 * 60 }))
        .map(([change, minutes]) => ({ zone, atMs: Date.parse(change) + minutes * 60_000 })),
    );

  test('are open when the clock on the wall shows a time inside one', () => {
    fc.assert(
      fc.property(anyWindows, anyTime, (windows, { zone, atMs }) => {
        expect(createWindows(windows, createTimeZone(zone)).isOpen(atMs)).toBe(showsInside(windows, zone, atMs));
      }),
      { numRuns: 500 },
    );
  });

  test('open next at the first quarter of an hour at which the wall says so', () => {
    fc.assert(
      fc.property(anyWindows, anyTime, (windows, { zone, atMs }) => {
        const found = createWindows(windows, createTimeZone(zone)).nextOpening(atMs);
        expect(found).toBeGreaterThanOrEqual(atMs);
        expect(showsInside(windows, zone, found)).toBe(true);
        const quarter = 15 * 60_000;
        let earlier = atMs;
        while (earlier < found && !showsInside(windows, zone, earlier))
          earlier = (Math.floor(earlier / quarter) + 1) * quarter;
        expect(earlier).toBe(found);
      }),
      { numRuns: 150 },
    );
  });
});

/** By the local time alone, as a person would decide. */
function showsInside(windows: readonly Window[], zone: string, atMs: number): boolean {
  const parts = formatOf(zone).formatToParts(atMs);
  const part = (type: string): string => parts.find((each) => each.type === type)?.value ?? '';
  const day = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'].indexOf(part('weekday'));
  const minute = Number(part('hour')) * 60 + Number(part('minute')) + Number(part('second')) / 60;
  const shown = [
    { day, minute },
    { day: dayBefore(zone, atMs), minute: minute + 1440 },
  ];
  return windows.some(({ days, fromMinute, untilMinute }) =>
    shown.some((at) => days.includes(at.day) && at.minute >= fromMinute && at.minute < untilMinute),
  );
}

function dayBefore(zone: string, atMs: number): number {
  const parts = formatOf(zone).formatToParts(atMs);
  const day = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'].indexOf(
    parts.find(({ type }) => type === 'weekday')?.value ?? '',
  );
  return (day + 6) % 7;
}

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known !== undefined) return known;
  const clock = { weekday: 'short', hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' } as const;
  const format = new Intl.DateTimeFormat('en-US', { timeZone, ...clock });
  formats.set(timeZone, format);
  return format;
}

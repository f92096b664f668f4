import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { releaseTimeOf } from '../../domain/notification/outbox.ts';
import { readDailyTime, readTimeSpan } from './times.ts';

const [minuteMs, hourMs] = [60_000, 3_600_000];

/** Zones with a change of half an hour, at midnight, in the south, and none at all. */
const changes: readonly (readonly [string, number])[] = [
  ['Europe/Berlin', Date.UTC(2026, 2, 29, 1)],
  ['Europe/Berlin', Date.UTC(2026, 9, 25, 1)],
  ['America/New_York', Date.UTC(2026, 2, 8, 7)],
  ['America/New_York', Date.UTC(2026, 10, 1, 6)],
  ['Australia/Lord_Howe', Date.UTC(2026, 3, 4, 15)],
  ['Australia/Lord_Howe', Date.UTC(2026, 9, 3, 15, 30)],
  ['Africa/Cairo', Date.UTC(2026, 3, 23, 22)],
  ['Africa/Cairo', Date.UTC(2026, 9, 29, 21)],
  ['Asia/Kolkata', Date.UTC(2026, 5, 1)],
];

const timeOfDay = fc.integer({ min: 0, max: 24 * 60 - 1 });
const written = (minute: number) => `${Math.floor(minute / 60)}:${String(minute % 60).padStart(2, '0')}`;

function wallMinute(ms: number, timeZone: string): number {
  const options = { timeZone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
  const [hour, minute] = new Intl.DateTimeFormat('en-GB', options).format(ms).split(':').map(Number);
  return (hour ?? 0) * 60 + (minute ?? 0);
}

/** Whether the local time shows each minute of the two hours around it exactly once. */
const isPlain = (ms: number, timeZone: string) =>
  [-1, 1].every(
    (hours) => wallMinute(ms + hours * hourMs, timeZone) === (wallMinute(ms, timeZone) + hours * 60 + 1440) % 1440,
  );

describe('by the clock on the wall, also on the days when it is put forward or back', () => {
  test('quiet hours hold what comes in them, and until their end', () => {
    const cases = fc.tuple(
      fc.constantFrom(...changes),
      timeOfDay,
      timeOfDay,
      fc.integer({ min: -36 * 60, max: 36 * 60 }),
    );
    fc.assert(
      fc.property(cases, ([[timeZone, changeMs], from, until, offset]) => {
        fc.pre(from !== until);
        const atMs = changeMs + offset * minuteMs;
        const quietHours = readTimeSpan(`${written(from)}-${written(until)}`, timeZone);
        const { dueAtMs, hold } = releaseTimeOf('info', atMs, { digest: undefined, quietHours, delayMs: 0 });
        expect(dueAtMs - atMs).toBeLessThanOrEqual(25 * hourMs);
        const now = wallMinute(atMs, timeZone);
        const isQuiet = from < until ? now >= from && now < until : now >= from || now < until;
        const edges = [from, until].map((edge) => Math.min((edge - now + 1440) % 1440, (now - edge + 1440) % 1440));
        // Within two hours of an edge that the clock change moves, two answers are right.
        const isClear = isPlain(atMs, timeZone) || edges.every((distance) => distance > 120);
        if (isClear) expect(hold === 'quiet').toBe(isQuiet);
        if (hold === 'quiet') {
          expect(dueAtMs).toBeGreaterThan(atMs);
          if (isPlain(dueAtMs, timeZone)) expect(wallMinute(dueAtMs, timeZone)).toBe(until);
        } else expect(dueAtMs).toBe(atMs);
      }),
      {
        numRuns: 400,
        // The change skips both edges: 00:00 becomes 01:00.
        examples: [
          [[['Africa/Cairo', Date.UTC(2026, 3, 23, 22)], 1, 0, -61]],
          [[['Africa/Cairo', Date.UTC(2026, 3, 23, 22)], 0, 1, -61]],
        ],
      },
    );
  });

  test('a digest comes once a day, and never twice in an hour that comes twice', () => {
    fc.assert(
      fc.property(fc.constantFrom(...changes), timeOfDay, ([timeZone, changeMs], minute) => {
        const next = readDailyTime(written(minute), timeZone);
        let atMs = changeMs - 2 * 24 * hourMs;
        for (let day = 0; day < 4; day += 1) {
          const dueAtMs = next?.(atMs) ?? 0;
          expect(dueAtMs).toBeGreaterThan(atMs);
          if (day > 0) expect(Math.abs(dueAtMs - atMs - 24 * hourMs)).toBeLessThanOrEqual(hourMs);
          if (isPlain(dueAtMs, timeZone)) expect(wallMinute(dueAtMs, timeZone)).toBe(minute);
          atMs = dueAtMs;
        }
      }),
      { numRuns: 200 },
    );
  });
});

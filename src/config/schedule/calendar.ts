import { Cron } from 'croner';
import { createTimeZone } from '../../domain/decision/windows.ts';

/** The first run after a time, both in milliseconds since the epoch. Undefined without a further run. */
export type NextRunAfter = (ms: number) => number | undefined;

/**
 * Parses five or six fields of cron in a time zone; throws if they are invalid. When the clocks change, an hourly
 * schedule follows elapsed time. A schedule of certain hours, also of every sixth, runs once for each of them, like
 * cron: a skipped time runs right after the change, and a repeated time runs once, at its first occurrence.
 * https://man7.org/linux/man-pages/man8/cron.8.html
 */
export function readCalendar(pattern: string, timeZone: string): NextRunAfter {
  const fields = pattern.trim().split(/\s+/);
  const options = { mode: '5-or-6-parts', sloppyRanges: true } as const;
  if (/^\*(?:\/1)?$/.test(fields.at(-4) ?? '')) {
    const cron = new Cron(fields.join(' '), { ...options, timezone: timeZone });
    return (ms) => cron.nextRun(new Date(ms))?.getTime();
  }
  // The fields describe the wall clock, which is treated here as UTC.
  const cron = new Cron(fields.join(' '), { ...options, timezone: 'UTC' });
  const zone = createTimeZone(timeZone);
  return (ms) => {
    let wall = cron.nextRun(new Date(ms + zone.offsetMs(ms)))?.getTime();
    while (wall !== undefined) {
      const slot = zone.firstInstantOf(wall);
      if (slot > ms) return slot;
      wall = cron.nextRun(new Date(wall))?.getTime();
    }
    return undefined;
  };
}

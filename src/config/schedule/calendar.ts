import { Cron } from 'croner';
import { createTimeZone } from '../../domain/schedule/time-zone.ts';

/** The first slot after a time, both milliseconds since the epoch; undefined when there is none any more. */
export type NextRunAfter = (ms: number) => number | undefined;

/**
 * Slots of five or six fields of cron in a time zone; throws for what it cannot read. Where the
 * clocks are changed, a schedule of every hour goes on by time that passes; one of certain hours
 * keeps each of them once, as cron has always done: what the clocks skip is made up for when they
 * have, and what they repeat counts the first time. https://man7.org/linux/man-pages/man8/cron.8.html
 */
export function readCalendar(pattern: string, timeZone: string): NextRunAfter {
  const fields = pattern.trim().split(/\s+/);
  const options = { mode: '5-or-6-parts', sloppyRanges: true } as const;
  if (fields.at(-4)?.startsWith('*')) {
    const cron = new Cron(fields.join(' '), { ...options, timezone: timeZone });
    return (ms) => cron.nextRun(new Date(ms))?.getTime();
  }
  // The fields are about what a clock on a wall shows: here as if that were UTC.
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

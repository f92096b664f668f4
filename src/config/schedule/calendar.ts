import { Cron } from 'croner';

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
  const zone = createZone(timeZone);
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

type Zone = {
  /** How far the clocks on the walls are ahead of UTC. */
  readonly offsetMs: (ms: number) => number;
  /** When the clocks first show a time, or have just skipped it. */
  readonly firstInstantOf: (wallMs: number) => number;
};

function createZone(timeZone: string): Zone {
  const format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' });

  function offsetMs(ms: number): number {
    const [, sign, hours = 0, minutes = 0] = /GMT([+-])(\d+):(\d+)/.exec(format.format(ms)) ?? [];
    return (sign === '-' ? -1 : 1) * (Number(hours) * hourMs + Number(minutes) * minuteMs);
  }

  return {
    offsetMs,
    firstInstantOf(wallMs) {
      const [before, after] = [offsetMs(wallMs - dayMs), offsetMs(wallMs + dayMs)];
      const byOld = wallMs - before;
      if (before === after || offsetMs(byOld) === before) return byOld;
      const byNew = wallMs - after;
      return offsetMs(byNew) === after ? byNew : findChange(byNew, byOld);
    },
  };

  /** The instant between the two at which the offset changes, by halves. */
  function findChange(fromMs: number, toMs: number): number {
    const after = offsetMs(toMs);
    let [low, high] = [fromMs, toMs];
    while (high - low > 1000) {
      const middle = Math.floor((low + high) / 2000) * 1000;
      if (offsetMs(middle) === after) high = middle;
      else low = middle;
    }
    return high;
  }
}

const minuteMs = 60_000;
const hourMs = 3_600_000;
const dayMs = 86_400_000;

/** A time zone by its clocks on the walls; all times in milliseconds, those on the wall as if it were UTC. */
export type TimeZone = {
  /** How far the clocks on the walls are ahead of UTC. */
  readonly offsetMs: (ms: number) => number;
  /** When the clocks first show a time, or have just skipped it. */
  readonly firstInstantOf: (wallMs: number) => number;
  /** When the clocks are changed between two instants, to the second; undefined if their offset is the same. */
  readonly changeBetween: (fromMs: number, toMs: number) => number | undefined;
};

/** Throws a `RangeError` for a name that is not in the database of IANA: https://www.iana.org/time-zones */
export function createTimeZone(name: string): TimeZone {
  const format = new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset' });

  function offsetMs(ms: number): number {
    const [, sign, hours = 0, minutes = 0] = /GMT([+-])(\d+):(\d+)/.exec(format.format(ms)) ?? [];
    return (sign === '-' ? -1 : 1) * (Number(hours) * hourMs + Number(minutes) * minuteMs);
  }

  function firstInstantOf(wallMs: number): number {
    const [before, after] = [offsetMs(wallMs - dayMs), offsetMs(wallMs + dayMs)];
    const byOld = wallMs - before;
    if (before === after || offsetMs(byOld) === before) return byOld;
    const byNew = wallMs - after;
    return offsetMs(byNew) === after ? byNew : findChange(byNew, byOld);
  }

  /** By halves. */
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

  return {
    offsetMs,
    firstInstantOf,
    changeBetween: (fromMs, toMs) => (offsetMs(fromMs) === offsetMs(toMs) ? undefined : findChange(fromMs, toMs)),
  };
}

const minuteMs = 60_000;
const hourMs = 3_600_000;
const dayMs = 86_400_000;

/** A time zone by its wall clock. All times are milliseconds; wall times are written as if they were UTC. */
export type TimeZone = {
  /** The difference between the wall clock and UTC. */
  readonly offsetMs: (ms: number) => number;
  /** The first instant at which the wall clock shows a time, or has just skipped it. */
  readonly firstInstantOf: (wallMs: number) => number;
  /** The time of a clock change between two instants, to the second. Undefined if both have the same offset. */
  readonly changeBetween: (fromMs: number, toMs: number) => number | undefined;
};

/** Throws a `RangeError` for a name that is not in the IANA database: https://www.iana.org/time-zones */
export function createTimeZone(name: string): TimeZone {
  const offsetMs = offsetIn(name);

  function firstInstantOf(wallMs: number): number {
    const [before, after] = [offsetMs(wallMs - dayMs), offsetMs(wallMs + dayMs)];
    const byOld = wallMs - before;
    if (before === after || offsetMs(byOld) === before) return byOld;
    const byNew = wallMs - after;
    return offsetMs(byNew) === after ? byNew : findChange(byNew, byOld);
  }

  /** By bisection. */
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

/** UTC needs no format, which takes 10 MiB for as long as the process runs. */
function offsetIn(name: string): TimeZone['offsetMs'] {
  if (name === 'UTC') return () => 0;
  const format = new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset' });
  return (ms) => {
    const [, sign, hours = 0, minutes = 0] = /GMT([+-])(\d+):(\d+)/.exec(format.format(ms)) ?? [];
    return (sign === '-' ? -1 : 1) * (Number(hours) * hourMs + Number(minutes) * minuteMs);
  };
}

const minuteMs = 60_000;
const hourMs = 3_600_000;
const dayMs = 86_400_000;

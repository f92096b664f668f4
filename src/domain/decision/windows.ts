import { printable } from '../text/printable.ts';

/**
 * The times at which updates may begin: while the wall clock of the time zone shows a time inside a window. A window is
 * longer when the clocks repeat one of its hours, and does not open when they skip the whole window.
 */
export type Windows = {
  /** Both in milliseconds since the epoch. */
  readonly isOpen: (atMs: number) => boolean;
  /** The first opening at or after `atMs`. */
  readonly nextOpening: (atMs: number) => number;
};

/** At least one window. */
export function createWindows(windows: readonly Window[], zone: TimeZone): Windows {
  function isOpen(atMs: number): boolean {
    const wallMs = atMs + zone.offsetMs(atMs);
    return windows.some((window) => isInside(window, wallMs));
  }

  function nextOpening(atMs: number): number {
    if (isOpen(atMs)) return atMs;
    const today = Math.floor((atMs + zone.offsetMs(atMs)) / dayMs);
    for (let day = today; day <= today + maxDays; day += 1) {
      const found = edgesOn(day).filter((edgeMs) => edgeMs > atMs && isOpen(edgeMs));
      if (found.length > 0) return Math.min(...found);
    }
    throw new Error('a window opens at least every second week');
  }

  /** All instants of a day at which a window may open: window starts and clock changes. */
  function edgesOn(day: number): readonly number[] {
    const [fromMs, untilMs] = [zone.firstInstantOf(day * dayMs), zone.firstInstantOf((day + 1) * dayMs)];
    const offsets = new Set([zone.offsetMs(fromMs), zone.offsetMs(untilMs)]);
    const beginnings = windows
      .filter(({ days }) => days.includes(weekdayOf(day)))
      .flatMap(({ fromMinute }) => [...offsets].map((offset) => day * dayMs + fromMinute * minuteMs - offset));
    return [fromMs, zone.changeBetween(fromMs, untilMs) ?? fromMs, ...beginnings];
  }

  return { isOpen, nextOpening };
}

/** The clocks can skip a window once, even a whole day as in Samoa in 2011, but not again a week later. */
const maxDays = 15;

const minuteMs = 60_000;
const dayMs = 86_400_000;

function isInside({ days, fromMinute, untilMinute }: Window, wallMs: number): boolean {
  const day = Math.floor(wallMs / dayMs);
  const minute = (wallMs - day * dayMs) / minuteMs;
  if (days.includes(weekdayOf(day)) && minute >= fromMinute && minute < untilMinute) return true;
  return days.includes(weekdayOf(day - 1)) && minute + dayMs / minuteMs < untilMinute;
}

/** The epoch began on a Thursday. */
function weekdayOf(day: number): number {
  return (((day + 4) % 7) + 7) % 7;
}

/** One window by the wall clock, which begins on each of its days. */
export type Window = {
  /** 0 is Sunday, as in `Date`. */
  readonly days: readonly number[];
  /** Minutes since midnight, 0 to 1439. */
  readonly fromMinute: number;
  /** Minutes since the same midnight, above `fromMinute`. Above 1440 the window ends on the next day. */
  readonly untilMinute: number;
};

/**
 * Reads `02:00-05:00`, `Sat,Sun 01:00-06:00; Wed 23:00-02:00`, `Mon-Fri 22:00-24:00 12:00-13:00` or `Sun`: days, then
 * times, both optional; without days it is every day, without times the whole day. The fault completes "Cannot read …: ".
 */
export function parseWindows(text: string): readonly Window[] | { readonly fault: string } {
  if (text.length > maxTextLength) return { fault: `it has more than ${maxTextLength} characters` };
  const parts = text
    .replaceAll(/[–—]/g, '-')
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  if (parts.length === 0) return { fault: 'it is empty' };
  const windows: Window[] = [];
  for (const part of parts) {
    const found = readPart(part);
    if ('fault' in found) return found;
    windows.push(...found.windows);
  }
  return windows;
}

const maxTextLength = 1000;

const minutesOfADay = 1440;

type Fault = { readonly fault: string };

function readPart(part: string): { readonly windows: readonly Window[] } | Fault {
  const words = part.replaceAll(/\s*-\s*/g, '-').split(/[\s,]+/);
  const days = new Set<number>();
  const spans: Pick<Window, 'fromMinute' | 'untilMinute'>[] = [];
  for (const word of words.filter((each) => each !== '')) {
    const named = daysOf(word);
    const span = named === undefined ? readSpan(word) : undefined;
    if (named !== undefined && spans.length > 0)
      return { fault: `the day "${shown(word)}" comes after a time; windows are separated by ";"` };
    if (span !== undefined && 'fault' in span) return span;
    for (const day of named ?? []) days.add(day);
    if (span !== undefined) spans.push(span);
  }
  const onDays = days.size === 0 ? everyDay : everyDay.filter((day) => days.has(day));
  const wholeDay = [{ fromMinute: 0, untilMinute: minutesOfADay }];
  return { windows: (spans.length === 0 ? wholeDay : spans).map((span) => ({ days: onDays, ...span })) };
}

const dayNames = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'] as const;

const everyDay: readonly number[] = dayNames.map((_, day) => day);

/** `Sat`, `saturday`, or `Fri-Mon` across the end of a week. Undefined for a text that does not begin with a day. */
function daysOf(word: string): readonly number[] | undefined {
  const [first, last = first, ...rest] = word.toLowerCase().split('-').map(dayOf);
  if (first === undefined || last === undefined || rest.length > 0) return undefined;
  return Array.from({ length: ((last - first + 7) % 7) + 1 }, (_, at) => (first + at) % 7);
}

function dayOf(word: string): number | undefined {
  const day = dayNames.findIndex((name) => word === name || (word.length >= 3 && name.startsWith(word)));
  return day < 0 ? undefined : day;
}

function readSpan(word: string): Pick<Window, 'fromMinute' | 'untilMinute'> | Fault {
  const [from, until, ...rest] = word.split('-').map(minuteOf);
  if (from === undefined || until === undefined || rest.length > 0 || from === minutesOfADay)
    return { fault: `"${shown(word)}" is neither a day, as in Sat or Mon-Fri, nor a time, as in 02:00-05:00` };
  if (from === until) return { fault: `"${shown(word)}" is empty; a whole day is 00:00-24:00` };
  return { fromMinute: from, untilMinute: until > from ? until : until + minutesOfADay };
}

/** `24:00` is the midnight at the end of a day. */
function minuteOf(time: string): number | undefined {
  const [, hour, minute] = /^(\d{1,2}):(\d{2})$/.exec(time) ?? [];
  if (hour === undefined || Number(minute) > 59) return undefined;
  const minutes = Number(hour) * 60 + Number(minute);
  return minutes <= minutesOfADay ? minutes : undefined;
}

function shown(word: string): string {
  return printable(word, 40);
}

/** A time zone by its wall clock. All times are milliseconds; wall times are written as if they were UTC. */
type TimeZone = {
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

const hourMs = 3_600_000;

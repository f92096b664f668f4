import { printable } from '../text/printable.ts';

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
  if (text.length > longestText) return { fault: `it has more than ${longestText} characters` };
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

const longestText = 1000;

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

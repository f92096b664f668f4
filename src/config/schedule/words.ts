/**
 * The fields of a schedule in words: `every day at 04:00`, `every Monday to Friday at 04:00 and 16:00`. Undefined for
 * fields that need more than a line.
 */
export function wordsOf(fields: string): string | undefined {
  const parts = fields.trim().toUpperCase().split(/\s+/);
  const [second, minute = '', hour = '', day = '', month, weekday = ''] = parts.length === 5 ? ['0', ...parts] : parts;
  if (second !== '0' && second !== '00') return undefined;
  if (month !== '*') return undefined;
  const days = daysOf(day, weekday);
  const often = oftenOf(minute, hour);
  if (often !== undefined) return days === everyDay ? often : undefined;
  const times = timesOf(minute, hour);
  return days === undefined || times === undefined ? undefined : `${days} at ${times}`;
}

const everyDay = 'every day';

function daysOf(day: string, weekday: string): string | undefined {
  if (day === '*' && weekday === '*') return everyDay;
  if (weekday === '*') return isNumber(day, 1, 31) ? `on day ${Number(day)} of every month` : undefined;
  if (day !== '*') return undefined;
  const [, first, last] = /^(\w+)-(\w+)$/.exec(weekday) ?? [];
  if (first !== undefined && last !== undefined) {
    const [from, to] = [dayNamed(first), dayNamed(last)];
    return from === undefined || to === undefined ? undefined : `every ${from} to ${to}`;
  }
  const names = weekday.split(',').map(dayNamed);
  return names.every((name) => name !== undefined) ? `every ${joined(names)}` : undefined;
}

function dayNamed(text: string): string | undefined {
  const number = /^[0-7]$/.test(text)
    ? Number(text) % 7
    : dayNames.findIndex((name) => name.slice(0, 3).toUpperCase() === text);
  return dayNames[number];
}

const dayNames = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

/** For a schedule with runs in every hour, or every few hours from midnight. */
function oftenOf(minute: string, hour: string): string | undefined {
  const minutes = stepOf(minute, 60);
  if (hour === '*' && minutes !== undefined) return minutes === 1 ? 'every minute' : `every ${minutes} minutes`;
  if (!isNumber(minute, 0, 59)) return undefined;
  const past = Number(minute) === 0 ? '' : `, ${Number(minute)} min past the hour`;
  const hours = stepOf(hour, 24);
  if (hours === undefined) return undefined;
  return hours === 1 ? `every hour${past}` : `every ${hours} hours from midnight${past}`;
}

/** `*`, or a star with a step such as 15. Undefined if the steps of a whole round differ. */
function stepOf(text: string, round: number): number | undefined {
  if (text === '*') return 1;
  const [, step] = /^\*\/(\d{1,2})$/.exec(text) ?? [];
  return step !== undefined && isNumber(step, 1, round - 1) && round % Number(step) === 0 ? Number(step) : undefined;
}

function timesOf(minute: string, hour: string): string | undefined {
  const hours = hour.split(',');
  if (!isNumber(minute, 0, 59) || hours.length > mostTimes || !hours.every((one) => isNumber(one, 0, 23)))
    return undefined;
  return joined(hours.map((one) => `${one.padStart(2, '0')}:${minute.padStart(2, '0')}`));
}

const mostTimes = 4;

function isNumber(text: string, least: number, most: number): boolean {
  return /^\d{1,2}$/.test(text) && Number(text) >= least && Number(text) <= most;
}

function joined(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1) ?? ''}`;
}

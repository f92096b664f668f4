import { formatDuration, parseDuration } from '../../domain/text/duration.ts';
import type { Schedule } from '../../domain/run/event.ts';
import type { NextTime, QuietHours } from '../../domain/notification/message.ts';
import { Cron } from 'croner';
import { createTimeZone } from '../../domain/decision/windows.ts';
import { readlinkSync } from 'node:fs';

/** A fixed interval, counted from the start. */
export function intervalSchedule(everyMs: number): Schedule {
  return { kind: 'interval', words: `every ${formatDuration(everyMs)}`, everyMs };
}

/**
 * Reads the notations of the Watchtower family: cron with five fields, or six with seconds first; `@daily` and similar
 * names; `@every 1h30m`; each with an optional `TZ=Europe/Berlin` before it. Undefined for any other text, and for a
 * schedule without a run. https://pkg.go.dev/github.com/robfig/cron/v3#hdr-CRON_Expression_Format
 */
export function readSchedule(text: string, timeZone: string): Schedule | undefined {
  const whole = text.trim();
  if (whole.length > maxText) return undefined;
  const [, ownZone, pattern = ''] = /^(?:(?:CRON_)?TZ=(\S+)\s+)?(.*)$/s.exec(whole) ?? [];
  const everyMs = parseDuration(/^@every\s+(\S+)$/i.exec(pattern)?.[1] ?? '', { bareUnit: 's' });
  if (everyMs !== undefined) return everyMs < shortestMs ? undefined : intervalSchedule(everyMs);
  return readFields(pattern, ownZone ?? timeZone);
}

/** Whether a cron expression has the sixth field, the seconds. */
export function namesSecond(text: string): boolean {
  return (
    text
      .replace(/^\s*(?:CRON_)?TZ=\S+/, '')
      .trim()
      .split(/\s+/).length === 6
  );
}

/** Checked first, because parsing a long text is slow. */
const maxText = 1000;

const shortestMs = 1000;

/**
 * A star means any value, also with a step of 1 or beside other values. It matters for the two fields of days, which are
 * alternatives only if neither of them is `*`: https://github.com/robfig/cron/blob/v3.0.1/parser.go
 */
function plainStar(field: string): string {
  return field.split(',').some((item) => /^\*(?:\/0*1)?$/.test(item)) ? '*' : field;
}

/** Other names for common fields: https://man7.org/linux/man-pages/man5/crontab.5.html */
const nicknames: ReadonlyMap<string, string> = new Map([
  ['@yearly', '0 0 1 1 *'],
  ['@annually', '0 0 1 1 *'],
  ['@monthly', '0 0 1 * *'],
  ['@weekly', '0 0 * * 0'],
  ['@daily', '0 0 * * *'],
  ['@midnight', '0 0 * * *'],
  ['@hourly', '0 * * * *'],
]);

function readFields(pattern: string, timeZone: string): Schedule | undefined {
  const written = nicknames.get(pattern.toLowerCase()) ?? pattern.replaceAll('?', '*');
  const fields = written.split(/\s+/).map(plainStar).join(' ');
  if (![5, 6].includes(fields.split(/\s+/).length)) return undefined;
  try {
    // Throws for a bad value beside a star, which is not in the fields.
    if (written !== fields) readCalendar(written, timeZone);
    const nextRunAfter = readCalendar(fields, timeZone);
    if (nextRunAfter(0) === undefined) return undefined;
    const words = `${wordsOf(fields) ?? `on the schedule "${pattern}"`} (${timeZone})`;
    return { kind: 'calendar', words, nextRunAfter };
  } catch {
    return undefined;
  }
}

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
  if (hour === '*' && minutes !== undefined) return minutes === 1 ? 'every minute' : `every ${minutes}m`;
  if (!isNumber(minute, 0, 59)) return undefined;
  const past = Number(minute) === 0 ? '' : ` at minute ${Number(minute)}`;
  const hours = stepOf(hour, 24);
  if (hours === undefined) return undefined;
  return hours === 1 ? `every hour${past}` : `every ${hours}h from midnight${past}`;
}

/** `*`, or a star with a step such as 15. Undefined if the steps of a whole round differ. */
function stepOf(text: string, round: number): number | undefined {
  if (text === '*') return 1;
  const [, step] = /^\*\/(\d{1,2})$/.exec(text) ?? [];
  return step !== undefined && isNumber(step, 1, round - 1) && round % Number(step) === 0 ? Number(step) : undefined;
}

function timesOf(minute: string, hour: string): string | undefined {
  const hours = hour.split(',');
  if (!isNumber(minute, 0, 59) || hours.length > maxTimes || !hours.every((one) => isNumber(one, 0, 23)))
    return undefined;
  return joined(hours.map((one) => `${one.padStart(2, '0')}:${minute.padStart(2, '0')}`));
}

const maxTimes = 4;

function isNumber(text: string, least: number, most: number): boolean {
  return /^\d{1,2}$/.test(text) && Number(text) >= least && Number(text) <= most;
}

function joined(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1) ?? ''}`;
}

/** `8:00`, `08:00` */
export function isDailyTime(text: string): boolean {
  return dailyPattern(text) !== undefined;
}

/** `22:00-07:00` */
export function isTimeSpan(text: string): boolean {
  return spanPatterns(text) !== undefined;
}

/** By the wall clock of the time zone, also across clock changes. */
export function readDailyTime(text: string, timeZone: string): NextTime | undefined {
  const pattern = dailyPattern(text);
  return pattern === undefined ? undefined : readCalendar(pattern, timeZone);
}

export function readTimeSpan(text: string, timeZone: string): QuietHours | undefined {
  const patterns = spanPatterns(text);
  return patterns && { from: readCalendar(patterns.from, timeZone), until: readCalendar(patterns.until, timeZone) };
}

function spanPatterns(text: string): { readonly from: string; readonly until: string } | undefined {
  const [from, until, ...rest] = text.split(/[-–]/).map((time) => dailyPattern(time));
  return from === undefined || until === undefined || from === until || rest.length > 0 ? undefined : { from, until };
}

/** The cron pattern of a time of day such as `18:30`. Undefined for other text. */
function dailyPattern(text: string): string | undefined {
  const [, hour, minute] = /^(\d{1,2}):(\d{2})$/.exec(text.trim()) ?? [];
  if (Number(hour) > 23 || Number(minute) > 59) return undefined;
  return hour === undefined ? undefined : `${Number(minute)} ${Number(hour)} * * *`;
}

/** The first run after a time, both in milliseconds since the epoch. Undefined without a further run. */
type NextRunAfter = (ms: number) => number | undefined;

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
    const zone = timeZone === 'UTC' ? { utcOffset: 0 } : { timezone: timeZone };
    const cron = new Cron(fields.join(' '), { ...options, ...zone });
    return (ms) => cron.nextRun(new Date(ms))?.getTime();
  }
  // The fields describe the wall clock, which is treated here as UTC: by its offset, because its name loads the zones of
  // `Intl`, see below.
  const cron = new Cron(fields.join(' '), { ...options, utcOffset: 0 });
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

/** The configured zone, else the machine's. */
export function timeZoneOf({ timeZone = '/etc/localtime' }: { readonly timeZone: string | undefined }): string {
  return zoneNameIn(timeZone) ?? localTimeZone();
}

/**
 * The time zone of the machine, as Node finds it. UTC is detected from the files alone, because the first use of
 * `Intl.DateTimeFormat` takes 10 MiB for as long as the process runs. https://man7.org/linux/man-pages/man5/localtime.5.html
 */
export function localTimeZone(): string {
  // Node cannot read that path. Without the variable it reads the file.
  if (zoneNameIn(process.env['TZ'] ?? '') === undefined) delete process.env['TZ'];
  return isOnUtc() ? 'UTC' : Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/**
 * The zone in a value of TZ, also in the notation of Go and C: `:Europe/Berlin`, or the path of a file. Undefined for the
 * zone of the machine. https://man7.org/linux/man-pages/man3/tzset.3.html
 */
export function zoneNameIn(text: string): string | undefined {
  const name = text.replace(/^:?(?:\/usr\/share\/zoneinfo\/)?/, '');
  return name === '/etc/localtime' ? undefined : name;
}

function isOnUtc(): boolean {
  if (process.env['TZ']) return false;
  try {
    return /\/zoneinfo\/(Etc\/)?UTC$/.test(readlinkSync('/etc/localtime'));
  } catch {
    // No link: the file may be missing, or a copy of any zone.
    return false;
  }
}

/**
 * Sets the time zone of the process, for all times in logs and tables. Node reads the variable again when it is set:
 * https://nodejs.org/api/cli.html#tz
 */
export function setProcessTimeZone(zone: string): void {
  process.env['TZ'] = zone;
}

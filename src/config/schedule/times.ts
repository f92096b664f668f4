import type { NextTime, QuietHours } from '../../domain/notification/message.ts';
import { readCalendar } from './calendar.ts';

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

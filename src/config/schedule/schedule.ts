import { formatDuration, parseDuration } from '../../domain/text/duration.ts';
import type { Schedule } from '../../domain/run/event.ts';
import { readCalendar } from './calendar.ts';
import { wordsOf } from './words.ts';

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
  if (whole.length > longestText) return undefined;
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
const longestText = 1000;

const shortestMs = 1000;

/**
 * `?` and a step of 1 mean any value. It matters for the two fields of days, which are alternatives only if neither of them
 * is `*`: https://github.com/robfig/cron/blob/v3.0.1/parser.go
 */
function plainStar(field: string): string {
  const starred = field.replaceAll('?', '*');
  return /^\*\/0*1$/.test(starred) ? '*' : starred;
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
  const fields = nicknames.get(pattern.toLowerCase()) ?? pattern.split(/\s+/).map(plainStar).join(' ');
  if (![5, 6].includes(fields.split(/\s+/).length)) return undefined;
  try {
    const nextRunAfter = readCalendar(fields, timeZone);
    if (nextRunAfter(0) === undefined) return undefined;
    const words = `${wordsOf(fields) ?? `on the schedule "${pattern}"`} (${timeZone})`;
    return { kind: 'calendar', words, nextRunAfter };
  } catch {
    return undefined;
  }
}

import type { Moment } from './moment.ts';
import { abbreviationOf } from './abbreviation.ts';

/** The local time in a zone. */
export type WallClock = {
  readonly year: number;
  /** 1 to 12. */
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  readonly millisecond: number;
  /** 0 is Sunday. */
  readonly weekday: number;
  /** 1 to 366. */
  readonly yearDay: number;
  /** East of Greenwich. */
  readonly offsetSeconds: number;
};

export function wallClock({ unixMs, zone }: Moment): WallClock {
  const offsetSeconds = typeof zone === 'number' ? zone * 60 : offsetOf(unixMs, zone);
  const local = new Date(unixMs + offsetSeconds * 1000);
  const year = local.getUTCFullYear();
  const startOfYear = new Date(0).setUTCFullYear(year, 0, 1);
  return {
    year,
    month: local.getUTCMonth() + 1,
    day: local.getUTCDate(),
    hour: local.getUTCHours(),
    minute: local.getUTCMinutes(),
    second: local.getUTCSeconds(),
    millisecond: local.getUTCMilliseconds(),
    weekday: local.getUTCDay(),
    yearDay: Math.floor((local.getTime() - startOfYear) / 86_400_000) + 1,
    offsetSeconds,
  };
}

/** `CET`, or Go's numeric form for a zone without an abbreviation. Empty for an offset without a zone. */
export function zoneAbbreviation({ unixMs, zone }: Moment, { offsetSeconds }: WallClock): string {
  if (typeof zone === 'number') return '';
  return zone === 'UTC' ? 'UTC' : abbreviationOf(unixMs, zone, offsetSeconds);
}

/** Bounded, because zones come from settings: usually one. */
const formats = new Map<string, Intl.DateTimeFormat>();
const mostFormats = 32;

function offsetOf(unixMs: number, zone: string): number {
  if (zone === 'UTC') return 0;
  const parts = offsetFormat(zone).formatToParts(unixMs);
  const name = parts.find(({ type }) => type === 'timeZoneName')?.value ?? '';
  const [, sign, hours, minutes, seconds] = /([+-])(\d+)(?::(\d+))?(?::(\d+))?/.exec(name) ?? [];
  const size = Number(hours ?? 0) * 3600 + Number(minutes ?? 0) * 60 + Number(seconds ?? 0);
  return sign === '-' ? -size : size;
}

function offsetFormat(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone);
  if (known !== undefined) return known;
  if (formats.size >= mostFormats) formats.clear();
  const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' });
  formats.set(zone, format);
  return format;
}

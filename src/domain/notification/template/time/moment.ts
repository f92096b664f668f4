import { abbreviationOf } from './abbreviation.ts';

/** A point in time in a template: Go's `time.Time`. */
export class Moment {
  readonly unixMs: number;
  /** An IANA name, `UTC`, or minutes east of Greenwich without a name. */
  readonly zone: string | number;
  /** The IANA name that `.Local` means. */
  readonly localZone: string;
  constructor(unixMs: number, zone: string | number, localZone: string = typeof zone === 'string' ? zone : 'UTC') {
    this.unixMs = unixMs;
    this.zone = zone;
    this.localZone = localZone;
  }
}

/** Go's zero time, 1 January of the year 1. */
export const zeroUnixMs = -62_135_596_800_000;

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

/** The time in an RFC 3339 text, to the millisecond. It is in the local zone if its offset is the local one. */
export function parseRfc3339(text: string, localZone: string): Moment | undefined {
  const parts = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(Z|([+-])(\d\d):(\d\d))$/.exec(text);
  const unixMs = parts === null || text.length > 64 ? NaN : Date.parse(text.replace(',', '.'));
  if (parts === null || Number.isNaN(unixMs)) return undefined;
  const [, zone, sign, hours, minutes] = parts;
  if (zone === 'Z') return new Moment(unixMs, 'UTC', localZone);
  const offset = (Number(hours) * 60 + Number(minutes)) * (sign === '-' ? -1 : 1);
  const local = new Moment(unixMs, localZone);
  return wallClock(local).offsetSeconds === offset * 60 ? local : new Moment(unixMs, offset, localZone);
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

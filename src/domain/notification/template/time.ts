/** A time in a Go layout, an example that shows the reference time: https://pkg.go.dev/time#pkg-constants */
export function formatMoment(moment: Moment, layout: string): string {
  const clock = wallClock(moment);
  return layout.replace(elements, (element) => (writers[element] ?? otherWriter(element))(clock, moment));
}

/** The longest first. `Jan` and `Mon` are parts of a word if a small letter follows. */
const elements =
  /January|Jan(?![a-z])|Monday|Mon(?![a-z])|MST|0[1-6]|002|15|1|2006|2|_2(?!006)|__2|3|4|5|PM|pm|-070000|-07:00:00|-0700|-07:00|-07|Z070000|Z07:00:00|Z0700|Z07:00|Z07|[.,](?:0+|9+)(?!\d)/g;

export const monthNames = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
] as const;

export const weekdayNames = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'] as const;

type Writer = (clock: WallClock, moment: Moment) => string;

const writers: Readonly<Partial<Record<string, Writer>>> = {
  January: ({ month }) => monthNames[month - 1] ?? '',
  Jan: ({ month }) => (monthNames[month - 1] ?? '').slice(0, 3),
  Monday: ({ weekday }) => weekdayNames[weekday] ?? '',
  Mon: ({ weekday }) => (weekdayNames[weekday] ?? '').slice(0, 3),
  MST: (clock, moment) => zoneAbbreviation(moment, clock) || offset(clock.offsetSeconds, '-0700'),
  '01': ({ month }) => pad(month, 2),
  '1': ({ month }) => String(month),
  '02': ({ day }) => pad(day, 2),
  '2': ({ day }) => String(day),
  _2: ({ day }) => String(day).padStart(2),
  '002': ({ yearDay }) => pad(yearDay, 3),
  __2: ({ yearDay }) => String(yearDay).padStart(3),
  '15': ({ hour }) => pad(hour, 2),
  '03': ({ hour }) => pad(hour % 12 || 12, 2),
  '3': ({ hour }) => String(hour % 12 || 12),
  '04': ({ minute }) => pad(minute, 2),
  '4': ({ minute }) => String(minute),
  '05': ({ second }) => pad(second, 2),
  '5': ({ second }) => String(second),
  '2006': ({ year }) => (year < 0 ? `-${pad(-year, 4)}` : pad(year, 4)),
  '06': ({ year }) => pad(Math.abs(year) % 100, 2),
  PM: ({ hour }) => (hour < 12 ? 'AM' : 'PM'),
  pm: ({ hour }) => (hour < 12 ? 'am' : 'pm'),
};

function otherWriter(element: string): Writer {
  const [first] = element;
  if (first === '.' || first === ',') return ({ millisecond }) => fraction(millisecond, element);
  if (first === 'Z') return ({ offsetSeconds }) => (offsetSeconds === 0 ? 'Z' : offset(offsetSeconds, element));
  return ({ offsetSeconds }) => offset(offsetSeconds, element);
}

function fraction(millisecond: number, element: string): string {
  const [separator = '.', kind] = element;
  const digits = pad(millisecond, 3)
    .padEnd(9, '0')
    .slice(0, element.length - 1)
    .padEnd(Math.min(element.length - 1, 9), '0');
  if (kind === '0') return separator + digits;
  const kept = digits.replace(/0+$/, '');
  return kept === '' ? '' : separator + kept;
}

/** In the shape of `-07`, `-0700` or `-07:00:00`, after its first letter. */
function offset(offsetSeconds: number, shape: string): string {
  const size = Math.abs(offsetSeconds);
  const parts = [Math.floor(size / 3600), Math.floor(size / 60) % 60, size % 60].map((part) => pad(part, 2));
  const shown = parts.slice(0, shape.replaceAll(':', '').length >> 1);
  return (offsetSeconds < 0 ? '-' : '+') + shown.join(shape.includes(':') ? ':' : '');
}

function pad(value: number, width: number): string {
  return String(value).padStart(width, '0');
}

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
type WallClock = {
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

/** Empty for an offset without a zone. */
function zoneAbbreviation({ unixMs, zone }: Moment, { offsetSeconds }: WallClock): string {
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
const maxFormats = 32;

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
  if (formats.size >= maxFormats) formats.clear();
  const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' });
  formats.set(zone, format);
  return format;
}

/** The abbreviation of a zone at a time (`CET`), or its offset (`+08`) where Node has none. */
function abbreviationOf(unixMs: number, zone: string, offsetSeconds: number): string {
  const key = `${zone} ${offsetSeconds}`;
  const known = names.get(key);
  if (known !== undefined) return known;
  if (names.size >= maxNames) names.clear();
  const name = inLocales(unixMs, zone) ?? numeric(offsetSeconds);
  names.set(key, name);
  return name;
}

/** By zone and offset, because each lookup costs some milliseconds. */
const names = new Map<string, string>();
const maxNames = 64;

/** Node has the abbreviations of a zone only in the locale of its country. */
const locales = ['en-US', 'en-GB', 'en-IE', 'en-CA', 'en-AU', 'en-IN', 'ja-JP', 'en-ZA'] as const;

function inLocales(unixMs: number, zone: string): string | undefined {
  for (const locale of locales) {
    const parts = new Intl.DateTimeFormat(locale, { timeZone: zone, timeZoneName: 'short' }).formatToParts(unixMs);
    const name = parts.find(({ type }) => type === 'timeZoneName')?.value ?? '';
    if (/^[A-Z]{3,5}$/.test(name)) return name;
  }
  return undefined;
}

/** Go's form for a zone without letters. */
function numeric(offsetSeconds: number): string {
  const size = Math.abs(offsetSeconds);
  const [hours, minutes] = [Math.floor(size / 3600), Math.floor(size / 60) % 60].map((part) =>
    String(part).padStart(2, '0'),
  );
  return `${offsetSeconds < 0 ? '-' : '+'}${hours}${minutes === '00' ? '' : minutes}`;
}

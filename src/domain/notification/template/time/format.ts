import { type Moment, type WallClock, wallClock, zoneAbbreviation } from './moment.ts';

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

/** A time in a Go layout, an example that shows the reference time: https://pkg.go.dev/time#pkg-constants */
export function formatMoment(moment: Moment, layout: string): string {
  const clock = wallClock(moment);
  return layout.replace(elements, (element) => (writers[element] ?? otherWriter(element))(clock, moment));
}

/** The longest first. `Jan` and `Mon` are parts of a word if a small letter follows. */
const elements =
  /January|Jan(?![a-z])|Monday|Mon(?![a-z])|MST|0[1-6]|002|15|1|2006|2|_2(?!006)|__2|3|4|5|PM|pm|-070000|-07:00:00|-0700|-07:00|-07|Z070000|Z07:00:00|Z0700|Z07:00|Z07|[.,](?:0+|9+)(?!\d)/g;

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

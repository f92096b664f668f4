import { formatDuration } from '../../../domain/text/duration.ts';
import { sentence } from '../../../domain/text/words.ts';

/** `3 containers` */
export function plural(count: number, one: string): string {
  return `${count} ${one}${count === 1 ? '' : 's'}`;
}

/** `a, b and c` */
export function joinedWords(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}

/** A word or sentence with a capital letter. Names keep their case. */
export function capitalized(text: string): string {
  return sentence(text);
}

/** A sentence within another one. Names and abbreviations keep their first letter. */
export function uncapitalized(text: string): string {
  return /^[A-Z][a-z]* /.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text;
}

/** Adds the period that reasons lack. */
export function withPeriod(sentence: string): string {
  const text = sentence.trim();
  return text === '' || /[.!?…]$/.test(text) ? text : `${text}.`;
}

/** A no-break space, so that a number and its unit stay on one line. */
const space = '\u00A0';

const minuteMs = 60_000;
export const dayMs = 24 * 60 * minuteMs;

/** `4m`: a duration in one unit. */
export function duration(ms: number): string {
  return formatDuration(ms, 'one unit');
}

/** Like `duration`, but at least a minute, because seconds would change every row each time. */
export function age(ms: number): string {
  return duration(Math.max(minuteMs, ms));
}

/** `640ms`, `4.9s`, `1m12s`: a downtime or the time of a step. */
export function preciseDuration(ms: number): string {
  return formatDuration(ms, 'rounded');
}

/** `412 MB`: decimal units, as in registries. */
export function size(bytes: number): string {
  const megabytes = bytes / 1e6;
  if (megabytes < 0.9995) return `${Math.max(1, Math.round(bytes / 1000))}${space}kB`;
  return megabytes < 999.5 ? `${Math.round(megabytes)}${space}MB` : `${(megabytes / 1000).toFixed(1)}${space}GB`;
}

/** Keeps numbers and units of a given sentence on one line. */
export function withNoBreakSpaces(sentence: string): string {
  return sentence.replaceAll(/(\d) (?=(?:kB|MB|GB|%)(?![\p{L}\p{N}]))/gu, `$1${space}`);
}

const timeFormat = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const dayFormat = new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric', month: 'short' });
const longDayFormat = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' });

/** `04:02`, in the time zone of the browser. */
export function clock(atMs: number): string {
  return timeFormat.format(atMs);
}

/** `today`, `tomorrow`, `yesterday`, `Fri 20 Nov`, or with the year beyond 300 days. */
export function dayOf(atMs: number, nowMs: number): string {
  const days = Math.round((midnight(atMs) - midnight(nowMs)) / dayMs);
  if (days === 0) return 'today';
  if (days === 1) return 'tomorrow';
  if (days === -1) return 'yesterday';
  const isFar = Math.abs(days) > 300;
  return (isFar ? longDayFormat : dayFormat).format(atMs).replace(',', '');
}

/** `today 04:02` */
export function when(atMs: number, nowMs: number): string {
  return `${dayOf(atMs, nowMs)} ${clock(atMs)}`;
}

function midnight(atMs: number): number {
  return new Date(atMs).setHours(0, 0, 0, 0);
}

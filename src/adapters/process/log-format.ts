import { printable, printableJson } from '../../domain/text/printable.ts';
import { columnsOf, cutToColumns } from './columns.ts';
import type { Field } from './redact.ts';

export type LogLevel = 'error' | 'warn' | 'info' | 'debug';

export type LogLine = {
  readonly atMs: number;
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: readonly Field[];
};

/** The formats of a line, without its end. All formats escape control characters. */
export const formats: Readonly<Record<'pretty' | 'json' | 'logfmt', (line: LogLine, colour: boolean) => string>> = {
  pretty,
  json,
  logfmt,
};

/**
 * One line of at most 160 columns; warnings and errors are never cut. Omits fields that the message repeats or that only
 * programs read. The other formats have all fields.
 */
function pretty({ atMs, level, message, fields }: LogLine, colour: boolean): string {
  const paint = (code: number, text: string) => (colour && text !== '' ? `\u001b[${code}m${text}\u001b[0m` : text);
  const [time, severity, text] = [localTime(atMs), level.padEnd(5), shown(message)];
  const isCut = level === 'info' || level === 'debug';
  const room = isCut ? widest - time.length - severity.length - 2 : Infinity;
  const cutText = cutToColumns(text, room);
  const rest = fittingPairs(fields, message, room - columnsOf(cutText) - 1);
  const parts = [paint(grey, time), paint(colours[level], severity), cutText, paint(grey, rest)];
  return parts.filter((part) => part !== '').join(' ');
}

const widest = 160;

/** Names of fields with identifiers for programs. */
const machineFields = /^(?:event|purpose|at_ms|(?:\w+_)?(?:id|digest))$/;

/** Fields of an event that its message contains. */
const ofMessage = /^(?:status|phases|log|container|containers|outcome|image|from|to)$/;

function fittingPairs(fields: readonly Field[], message: string, room: number): string {
  const isEvent = fields.some(([name]) => name === 'event');
  let text = '';
  for (const field of fields) {
    const [name, value] = field;
    if (machineFields.test(name) || (isEvent && ofMessage.test(name)) || value === '') continue;
    if (typeof value === 'string' && isIn(message, value)) continue;
    const space = text === '' ? '' : ' ';
    const pair = fittingPair(field, room - columnsOf(text + space));
    if (pair !== undefined) text += space + pair;
  }
  return text;
}

/** Undefined without room for a useful part. */
function fittingPair(field: Field, room: number): string | undefined {
  const whole = pairs([field]);
  if (columnsOf(whole) <= room) return whole;
  if (typeof field[1] !== 'string' || room < leastCut) return undefined;
  return whole.endsWith('"') ? `${cutToColumns(whole, room - 1)}"` : cutToColumns(whole, room);
}

const leastCut = 30;

/** True if the message contains the value as a whole word: the container `app` is not in "happens". */
function isIn(message: string, value: string): boolean {
  for (let at = message.indexOf(value); at >= 0; at = message.indexOf(value, at + 1)) {
    const [before = ' ', after = ' '] = [message[at - 1], message[at + value.length]];
    if (!inName.test(before) && !inName.test(after)) return true;
  }
  return false;
}

const inName = /[\w.-]/;

/** A field with the name of one of the line's own three fields gets an underscore. */
function json({ atMs, level, message, fields }: LogLine): string {
  const own = { time: utcTime(atMs), level, msg: message };
  const others = fields.map(([name, value]) => [Object.hasOwn(own, name) ? `${name}_` : name, value] as const);
  return printableJson(JSON.stringify({ ...own, ...Object.fromEntries(others) }));
}

/** https://brandur.org/logfmt */
function logfmt({ atMs, level, message, fields }: LogLine): string {
  return `time=${utcTime(atMs)} level=${level} msg=${quotedWhereNeeded(message)} ${pairs(fields)}`.trimEnd();
}

function utcTime(atMs: number): string {
  return new Date(atMs).toISOString();
}

/** SGR codes: https://en.wikipedia.org/wiki/ANSI_escape_code#Colors */
const colours: Readonly<Record<LogLevel, number>> = { error: 31, warn: 33, info: 32, debug: 36 };
const grey = 90;

const longest = 8000;

function shown(text: string): string {
  return printable(text, longest);
}

/** `2026-11-20 12:30:17`, in the process's own time zone. */
function localTime(atMs: number): string {
  const at = new Date(atMs);
  const two = (number: number) => String(number).padStart(2, '0');
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

function pairs(fields: readonly Field[]): string {
  return fields
    .map(([name, value]) => `${shown(name).replaceAll(/[\s="]/g, '_')}=${quotedWhereNeeded(value)}`)
    .join(' ');
}

function quotedWhereNeeded(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const safe = shown(text);
  return /^[^\s="\\]+$/.test(safe) ? safe : `"${safe.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}

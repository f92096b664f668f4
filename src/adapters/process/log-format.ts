import { printable, printableJson } from '../../domain/text/printable.ts';
import type { Field } from './redact.ts';
import { remembering } from './remembering.ts';

export type LogLevel = 'error' | 'warn' | 'info' | 'debug';

export type LogLine = {
  readonly atMs: number;
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: readonly Field[];
};

/** How a line looks, without its end; none of them lets a control character through. */
export const formats: Readonly<Record<'pretty' | 'json' | 'logfmt', (line: LogLine, colour: boolean) => string>> = {
  pretty,
  json,
  logfmt,
};

/**
 * One line of at most 160 columns: fields that the message repeats or that only programs read are left out, and the
 * others stand as far as they fit. A warning or an error is never cut.
 */
function pretty({ atMs, level, message, fields }: LogLine, colour: boolean): string {
  const paint = (code: number, text: string) => (colour && text !== '' ? `\u001b[${code}m${text}\u001b[0m` : text);
  const [time, severity, text] = [localTime(atMs), level.padEnd(5), shown(message)];
  const room = widest - time.length - severity.length - 2;
  const isGrave = level === 'error' || level === 'warn';
  const said = isGrave || text.length <= room ? text : `${text.slice(0, room - 1)}…`;
  const rest = fittingPairs(fields, message, room - said.length - 1);
  const parts = [paint(grey, time), paint(colours[level], severity), said, paint(grey, rest)];
  return parts.filter((part) => part !== '').join(' ');
}

const widest = 160;

/** Names of fields that identify things for programs, or that the line's message is made of. */
const forPrograms =
  /^(?:event|purpose|run_id|request_id|status|phases|log|container|containers|outcome|image|from|to|(?:\w+_)?(?:id|digest|image_id|container_id))$/;

function fittingPairs(fields: readonly Field[], message: string, room: number): string {
  let text = '';
  for (const field of fields) {
    const [name, value] = field;
    if (forPrograms.test(name) || value === '' || isRepeated(value, message)) continue;
    const next = text === '' ? pairs([field]) : `${text} ${pairs([field])}`;
    if (next.length <= room) text = next;
  }
  return text;
}

function isRepeated(value: unknown, message: string): boolean {
  return typeof value === 'string' && message.includes(value);
}

/** Written piece by piece, which is twice as fast. */
function json({ atMs, level, message, fields }: LogLine): string {
  let text = `{"time":"${utcTime(atMs)}","level":"${level}","msg":${inJson(message)}`;
  for (const [name, value] of fields) text += keyInJson(name) + inJson(value);
  return `${text}}`;
}

/** A field that would hide one of the line's own three gets an underscore. */
const keyInJson = remembering((name) => `,${inJson(ownNames.has(name) ? `${name}_` : name)}:`);

/** Most values need no escape, so a plain text skips `JSON.stringify`. */
function inJson(value: unknown): string {
  return typeof value === 'string' && plainInJson.test(value) ? `"${value}"` : printableJson(JSON.stringify(value));
}

const plainInJson = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/;

const ownNames: ReadonlySet<string> = new Set(['time', 'level', 'msg']);

/** https://brandur.org/logfmt */
function logfmt({ atMs, level, message, fields }: LogLine): string {
  return `time=${utcTime(atMs)} level=${level} msg=${quotedWhereNeeded(message)} ${pairs(fields)}`.trimEnd();
}

let lastSecond = { startMs: Number.NaN, text: '' };

/** Many lines fall into one second. */
function utcTime(atMs: number): string {
  const ms = atMs - lastSecond.startMs;
  if (!(ms >= 0 && ms < 1000)) {
    const startMs = Math.floor(atMs / 1000) * 1000;
    lastSecond = { startMs, text: new Date(startMs).toISOString().slice(0, -4) };
  }
  return `${lastSecond.text}${String(Math.floor(atMs - lastSecond.startMs)).padStart(3, '0')}Z`;
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

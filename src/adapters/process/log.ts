import type { Log, LogFields } from '../../domain/outside/outside.ts';
import { printable, printableJson } from '../../domain/text/printable.ts';

export type LogOptions = {
  /** `auto` is `pretty` on a terminal and `json` elsewhere. */
  readonly format: 'auto' | 'pretty' | 'json' | 'logfmt';
  /** The least severe level that is written. */
  readonly level: LogLevel;
  readonly stream: { readonly write: (text: string) => unknown; readonly isTTY?: boolean | undefined };
  readonly colour: boolean;
  /** Values that are never written. */
  readonly secrets?: readonly string[];
  /** Wall clock, milliseconds since the epoch. */
  readonly nowMs: () => number;
};

/**
 * Writes one line per message. Escapes control characters, hides secrets and cuts long values, so that no container,
 * registry or request can forge a line.
 */
export function createLog({ format, level, stream, colour, secrets = [], nowMs }: LogOptions): Log {
  const chosen = format === 'auto' ? (stream.isTTY === true ? 'pretty' : 'json') : format;
  const redaction = createRedaction(secrets);
  const writer =
    (of: LogLevel) =>
    (message: string, fields: LogFields = {}) => {
      if (severity[of] > severity[level]) return;
      const line = { atMs: nowMs(), level: of, message: redaction.text(message), fields: redaction.fields(fields) };
      stream.write(`${formats[chosen](line, colour)}\n`);
    };
  return { error: writer('error'), warn: writer('warn'), info: writer('info'), debug: writer('debug') };
}

const severity: Readonly<Record<LogLevel, number>> = { error: 0, warn: 1, info: 2, debug: 3 };

type LogLevel = 'error' | 'warn' | 'info' | 'debug';

type LogLine = {
  readonly atMs: number;
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: readonly Field[];
};

/** The formats of a line, without its end. All formats escape control characters. */
const formats: Readonly<Record<'pretty' | 'json' | 'logfmt', (line: LogLine, colour: boolean) => string>> = {
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

/**
 * The largest number of columns that a text can take on a terminal: a non-ASCII character counts as two. The exact
 * width needs tables that a service would load at its start and rarely use.
 */
function columnsOf(text: string): number {
  if (plain.test(text)) return text.length;
  let columns = 0;
  for (const character of text) columns += plain.test(character) ? 1 : 2;
  return columns;
}

/** Cuts the text to the columns. A cut text ends in `…`; characters keep their combining marks. */
function cutToColumns(text: string, columns: number): string {
  if (columnsOf(text) <= columns) return text;
  let [kept, room] = ['', columns - 1];
  for (const { segment } of new Intl.Segmenter('en', { granularity: 'grapheme' }).segment(text)) {
    room -= columnsOf(segment);
    if (room < 0) break;
    kept += segment;
  }
  return `${kept.trimEnd()}…`;
}

/** ASCII, and the mark of a cut. */
const plain = /^[\x20-\x7e…]*$/;

/** Removes secrets from messages and fields. */
type Redaction = {
  readonly text: (text: string) => string;
  /** Names and values, as plain data with at most four levels, and 50 entries per object or list. */
  readonly fields: (fields: LogFields) => readonly Field[];
};

/**
 * Hides the given values, passwords in URLs, and fields with a sensitive name. Values of fewer than four characters
 * stay, because they would match ordinary text.
 */
function createRedaction(secrets: readonly string[]): Redaction {
  const known = secrets.filter(({ length }) => length >= 4);
  const text = (raw: string): string => {
    let shown = raw.slice(0, maxText);
    for (const secret of known) if (shown.includes(secret)) shown = shown.replaceAll(secret, hidden);
    return shown.includes('://') ? shown.replace(passwordInUrl, `$1${hidden}@`) : shown;
  };
  const name = (raw: string): Name => ({ shown: text(raw), isSensitive: sensitiveName.test(raw) });
  return { text, fields: (fields) => plainEntries(fields, { text, name }, 1) };
}

const hidden = '***';
const maxText = 4000;
const maxEntries = 50;
const deepest = 4;

const passwordInUrl = /([a-z][a-z\d+.-]{0,20}:\/\/)[^\s/:]{0,256}:[^\s/]{0,1024}@/gi;
const sensitiveName = /pass(?:word|wd)?$|secret|token|authorization|credential|cookie|api[-_]?key/i;

/** A field's name. The value of a sensitive name, e.g. `password`, is a secret. */
type Name = { readonly shown: string; readonly isSensitive: boolean };

type Redact = { readonly text: (raw: string) => string; readonly name: (raw: string) => Name };

/** Names are in snake case at every depth, as in the documents of the API. Names of an engine (`MaximumRetryCount`) stay. */
function snakeCase(name: string): string {
  if (!/^[a-z][A-Za-z\d]*$/.test(name)) return name;
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** A name, and plain data. */
type Field = readonly [string, unknown];

function plainEntries(entries: LogFields, redact: Redact, depth: number): readonly Field[] {
  const shown: Field[] = [];
  for (const name of Object.keys(entries)) {
    const value = entries[name];
    if (value === undefined) continue;
    if (shown.length === maxEntries) break;
    const { shown: shownName, isSensitive } = redact.name(snakeCase(name));
    const isSecret = isSensitive && typeof value === 'string' && value !== '';
    shown.push([shownName, isSecret ? hidden : plainValue(value, redact, depth)]);
  }
  return shown;
}

function plainValue(value: unknown, redact: Redact, depth: number): unknown {
  if (typeof value === 'string') return redact.text(value);
  if (typeof value === 'number') return Math.round(value * 10) / 10;
  if (typeof value === 'boolean' || value === null) return value;
  if (value instanceof Error) return redact.text(value.message);
  if (typeof value !== 'object') return typeof value === 'bigint' ? String(value) : typeof value;
  if (depth >= deepest) return Array.isArray(value) ? '[…]' : '{…}';
  if (Array.isArray(value))
    return value.slice(0, maxEntries).map((item: unknown) => plainValue(item, redact, depth + 1));
  return Object.fromEntries(plainEntries({ ...value }, redact, depth + 1));
}

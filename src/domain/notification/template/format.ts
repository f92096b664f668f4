import {
  typeName,
  NamedInt,
  showMoment,
  isDictionary,
  Struct,
  listOf,
  sortedEntries,
  type FunctionContext,
  type Sink,
  type Value,
} from './values.ts';
import { Moment } from './time.ts';

/** Go's `fmt.Sprintf`. A verb that does not fit its operand is reported in the text, as `%!d(string=x)`. */
export function printf(format: string, args: readonly Value[], { createSink, meter }: FunctionContext): string {
  const sink = createSink();
  const reader: ArgumentReader = { args, next: 0, isReordered: false };
  let at = 0;
  for (const found of format.matchAll(verbs)) {
    sink.write(format.slice(at, found.index));
    at = found.index + found[0].length;
    meter.spend(5);
    writeVerb(sink, found, reader);
  }
  sink.write(format.slice(at));
  if (!reader.isReordered) writeExtra(sink, args.slice(reader.next));
  return sink.text();
}

/** Flags, argument number, width, precision with its number, argument number, verb. */
const verbs = /%([-+# 0]*)(\[[^\]]{0,9}\])?(\*|\d+)?(?:\.(\[[^\]]{0,9}\])?(\*|\d+)?)?(\[[^\]]{0,9}\])?([\s\S]?)/gu;

/** A larger width is an error, as in Go. */
const widest = 1_000_000;

type ArgumentReader = { readonly args: readonly Value[]; next: number; isReordered: boolean };

function writeVerb(sink: Sink, found: RegExpMatchArray, reader: ArgumentReader): void {
  const [whole, flags = '', index, widthText, precisionIndex, precisionText, lastIndex, letter = ''] = found;
  let isIndexGood = moveTo(index, reader);
  const minus = flags.includes('-');
  const width = readSize(sink, widthText, reader, '%!(BADWIDTH)');
  isIndexGood = moveTo(precisionIndex, reader) && isIndexGood;
  const hasPrecision = /\.(?:\[|\*|\d|.$)/su.test(whole.slice(1 + flags.length));
  const precision = readSize(sink, precisionText, reader, '%!(BADPREC)') ?? (hasPrecision ? 0 : undefined);
  isIndexGood = moveTo(lastIndex, reader) && isIndexGood;
  if (letter === '') return sink.write('%!(NOVERB)');
  if (letter === '%') return sink.write('%');
  if (!isIndexGood) return sink.write(`%!${letter}(BADINDEX)`);
  if (reader.next >= reader.args.length) return sink.write(`%!${letter}(MISSING)`);
  const isLeft = minus || (width !== undefined && width < 0);
  writeArgument(sink, reader.args[reader.next], {
    letter,
    minus: isLeft,
    plus: flags.includes('+') && letter !== 'v',
    sharp: flags.includes('#'),
    space: flags.includes(' '),
    zero: flags.includes('0') && !isLeft,
    width: width === undefined ? undefined : Math.abs(width),
    precision: precision !== undefined && precision < 0 ? undefined : precision,
  });
  reader.next += 1;
}

/** `[2]` makes the second argument the next one. False if there is no such argument. */
function moveTo(index: string | undefined, reader: ArgumentReader): boolean {
  if (index === undefined) return true;
  reader.isReordered = true;
  const place = /^\[\d{1,7}\]$/.test(index) ? Number(index.slice(1, -1)) : 0;
  if (place < 1 || place > reader.args.length) return false;
  reader.next = place - 1;
  return true;
}

function readSize(sink: Sink, text: string | undefined, reader: ArgumentReader, bad: string): number | undefined {
  if (text === undefined) return undefined;
  if (text !== '*') return Number(text) > widest ? undefined : Number(text);
  const given = reader.args[reader.next];
  const value = given instanceof NamedInt ? given.value : given;
  reader.next += 1;
  if (typeof value === 'bigint' && value <= widest && value >= -widest) return Number(value);
  sink.write(bad);
  return undefined;
}

function writeArgument(sink: Sink, value: Value, verb: Verb): void {
  if (verb.letter === 'T')
    return sink.write(pad(value === undefined || value === null ? '<nil>' : typeName(value), verb));
  writeValue(sink, value, (out, leaf) => out.write(formatLeaf(leaf, verb) ?? mismatch(leaf, verb)));
}

function formatLeaf(value: Leaf, verb: Verb): string | undefined {
  if (value === undefined || value === null) return verb.letter === 'v' ? pad('<nil>', verb) : undefined;
  if (typeof value === 'string') return formatText(value, verb);
  if (typeof value === 'boolean') return 'tv'.includes(verb.letter) ? pad(String(value), verb) : undefined;
  if (typeof value === 'bigint') return formatInteger(value, verb);
  if (typeof value === 'number') return formatReal(value, verb);
  return 'vsxXq'.includes(verb.letter) ? formatText(value.text, verb) : formatInteger(value.value, verb);
}

function formatText(text: string, verb: Verb): string | undefined {
  const { precision, letter, sharp } = verb;
  if (letter === 'x' || letter === 'X') return hex(text, verb);
  const cut = precision === undefined ? text : Array.from(text).slice(0, precision).join('');
  if (letter === 'q' && sharp && canBackQuote(cut)) return pad(`\`${cut}\``, verb);
  if (letter === 'q' || (letter === 'v' && sharp)) return pad(quoteText(cut, verb.plus), verb);
  return letter === 's' || letter === 'v' ? pad(cut, verb) : undefined;
}

/** The bytes of its UTF-8. */
function hex(text: string, verb: Verb): string {
  const { precision, sharp, space, letter } = verb;
  const bytes = [...new TextEncoder().encode(text).subarray(0, precision)].map((byte) =>
    byte.toString(16).padStart(2, '0'),
  );
  const prefix = sharp && bytes.length > 0 ? '0x' : '';
  const joined = prefix + bytes.join(space ? ` ${prefix}` : '');
  return pad(letter === 'X' ? joined.toUpperCase() : joined, verb);
}

function mismatch(value: Leaf, { letter }: Verb): string {
  if (value === undefined || value === null) return `%!${letter}(<nil>)`;
  const type = value instanceof NamedInt ? 'int' : typeName(value);
  return `%!${letter}(${type}=${showLeaf(value)})`;
}

function writeExtra(sink: Sink, extra: readonly Value[]): void {
  if (extra.length === 0) return;
  sink.write('%!(EXTRA ');
  for (const [place, value] of extra.entries()) {
    if (place > 0) sink.write(', ');
    if (value !== undefined && value !== null) sink.write(`${typeName(value)}=`);
    writeValue(sink, value);
  }
  sink.write(')');
}

/** Go's `fmt.Sprint`: a space between two operands if neither is a string. `nothing` is the text for nil. */
export function print(args: readonly Value[], { createSink }: FunctionContext, nothing = '<nil>'): string {
  const [only] = args;
  if (args.length === 1 && typeof only === 'string') return only;
  const sink = createSink();
  for (const [place, arg] of args.entries()) {
    const isBetween = place > 0 && typeof arg !== 'string' && typeof args[place - 1] !== 'string';
    if (isBetween) sink.write(' ');
    if (arg === undefined) sink.write(nothing);
    else writeValue(sink, arg);
  }
  return sink.text();
}

/** Go's `fmt.Sprintln`: a space between operands, and a line end at the end. */
export function println(args: readonly Value[], { createSink }: FunctionContext): string {
  const sink = createSink();
  for (const [place, arg] of args.entries()) {
    if (place > 0) sink.write(' ');
    writeValue(sink, arg);
  }
  sink.write('\n');
  return sink.text();
}

type WriteLeaf = (sink: Sink, value: Leaf) => void;

type Leaf = undefined | null | boolean | string | bigint | number | NamedInt;

/** Writes like `%v`. `writeLeaf` writes numbers, texts and other values without parts. */
function writeValue(sink: Sink, value: Value, writeLeaf: WriteLeaf = writePlainLeaf): void {
  const list = listOf(value);
  if (list !== undefined) writeList(sink, list, writeLeaf);
  else if (isDictionary(value)) writeMap(sink, value, writeLeaf);
  else if (value instanceof Moment) writeLeaf(sink, showMoment(value));
  else if (!(value instanceof Struct)) writeLeaf(sink, value as Leaf);
  else if (value.forms.text !== undefined) writeLeaf(sink, value.forms.text);
  else writeStruct(sink, value, writeLeaf);
}

function writePlainLeaf(sink: Sink, value: Leaf): void {
  sink.write(showLeaf(value));
}

function showLeaf(value: Leaf): string {
  if (value === undefined || value === null) return '<nil>';
  if (value instanceof NamedInt) return value.text;
  return typeof value === 'number' ? formatFloat(value, 'g') : String(value);
}

function writeList(sink: Sink, list: readonly Value[], writeLeaf: WriteLeaf): void {
  for (const [place, element] of list.entries()) {
    sink.write(place === 0 ? '[' : ' ');
    writeValue(sink, element, writeLeaf);
  }
  sink.write(list.length === 0 ? '[]' : ']');
}

function writeMap(sink: Sink, map: ReadonlyMap<string, Value>, writeLeaf: WriteLeaf): void {
  sink.write('map[');
  for (const [place, [key, value]] of sortedEntries(map).entries()) {
    if (place > 0) sink.write(' ');
    writeLeaf(sink, key);
    sink.write(':');
    writeValue(sink, value, writeLeaf);
  }
  sink.write(']');
}

function writeStruct(sink: Sink, { fields }: Struct, writeLeaf: WriteLeaf): void {
  sink.write('{');
  for (const [place, value] of [...fields.values()].entries()) {
    if (place > 0) sink.write(' ');
    writeValue(sink, value, writeLeaf);
  }
  sink.write('}');
}

/** An int of 64 bits. Undefined for a verb that does not apply to ints. */
function formatInteger(value: bigint, verb: Verb): string | undefined {
  const base = bases[verb.letter];
  if (base !== undefined) return digits(value, base, verb);
  switch (verb.letter) {
    case 'X':
      return digits(value, 16, verb).toUpperCase();
    case 'c':
      return pad(characterOf(value), verb);
    case 'q':
      return pad(quoteCharacter(characterOf(value), verb.plus), verb);
    case 'U':
      return pad(unicode(value, verb), verb, false);
    default:
      return undefined;
  }
}

const bases: Readonly<Partial<Record<string, number>>> = { v: 10, d: 10, b: 2, o: 8, O: 8, x: 16 };

function digits(value: bigint, base: number, verb: Verb): string {
  const { letter, precision, width = 0, zero, plus, space, sharp } = verb;
  if (precision === 0 && value === 0n) return ' '.repeat(width);
  const isSigned = value < 0n || plus || space;
  const least = precision ?? (zero ? width - (isSigned ? 1 : 0) : 0);
  let text = (value < 0n ? -value : value).toString(base).padStart(least, '0');
  if (sharp && base === 8 && !text.startsWith('0')) text = `0${text}`;
  else if (sharp && base !== 10 && base !== 8) text = `0${base === 2 ? 'b' : 'x'}${text}`;
  if (letter === 'O') text = `0o${text}`;
  const sign = value < 0n ? '-' : plus ? '+' : space ? ' ' : '';
  return pad(sign + text, verb, false);
}

function characterOf(value: bigint): string {
  const isCharacter = value >= 0n && value <= 0x10ffffn && !(value >= 0xd800n && value < 0xe000n);
  return isCharacter ? String.fromCodePoint(Number(value)) : '\ufffd';
}

function unicode(value: bigint, { precision = 4, sharp }: Verb): string {
  const hex = BigInt.asUintN(64, value).toString(16).toUpperCase().padStart(Math.max(precision, 4), '0');
  const character = characterOf(value);
  return `U+${hex}${sharp && character !== '\ufffd' && isPrintable(character) ? ` '${character}'` : ''}`;
}

/** A float64; undefined for a verb that floats do not have. */
function formatReal(value: number, verb: Verb): string | undefined {
  const { letter, precision, plus, space, zero, width = 0 } = verb;
  const kind = floatVerbs[letter];
  if (kind === undefined) return undefined;
  const standard = kind === 'g' ? undefined : 6;
  const lower = formatFloat(value, kind, precision ?? standard);
  const text = letter === 'E' || letter === 'G' ? lower.toUpperCase() : lower;
  const size = text.replace(/^[+-]/, '');
  const isPlain = Number.isFinite(value);
  const sign = text.startsWith('-') ? '-' : plus || text === '+Inf' ? '+' : space ? ' ' : '';
  if (isPlain && zero) return sign + size.padStart(width - sign.length, '0');
  return pad((Number.isNaN(value) && !plus && !space ? '' : sign) + size, verb, false);
}

const floatVerbs: Readonly<Partial<Record<string, 'e' | 'f' | 'g'>>> = {
  v: 'g',
  g: 'g',
  G: 'g',
  e: 'e',
  E: 'e',
  f: 'f',
  F: 'f',
};

/** `value` by the verbs `e`, `f` and `g`; no precision means as many digits as identify it. */
function formatFloat(value: number, verb: 'e' | 'f' | 'g', precision?: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'NaN' : value < 0 ? '-Inf' : '+Inf';
  const digits = precision === undefined ? undefined : Math.min(precision, 100);
  if (verb === 'e') return withLongExponent(value.toExponential(digits));
  if (digits === undefined) return withLongExponent(String(value));
  if (verb === 'f' && Math.abs(value) >= 1e21) return `${BigInt(value)}${digits === 0 ? '' : `.${'0'.repeat(digits)}`}`;
  if (verb === 'f') return value.toFixed(digits);
  return withLongExponent(String(Number(value.toPrecision(Math.max(digits, 1)))));
}

/** Go writes `1e+06`, JavaScript `1e+6`. */
function withLongExponent(text: string): string {
  return text.replace(/e([-+])(\d)$/, 'e$10$2');
}

/** Go's `%q` of a string. `isAscii`: escapes all other characters. */
function quoteText(text: string, isAscii: boolean): string {
  let quoted = '"';
  for (const character of text) quoted += escapeCharacter(character, '"', isAscii);
  return `${quoted}"`;
}

function quoteCharacter(character: string, isAscii: boolean): string {
  return `'${escapeCharacter(character, "'", isAscii)}'`;
}

/** Whether a string can stand between back quotes. */
function canBackQuote(text: string): boolean {
  return !/[`\ufeff\p{Cs}]|(?!\t)\p{Cc}/u.test(text);
}

/** Go's `IsPrint`: letters, marks, numbers, punctuation, symbols and the ASCII space. */
function isPrintable(character: string): boolean {
  return character === ' ' || /^[\p{L}\p{M}\p{N}\p{P}\p{S}]$/u.test(character);
}

const named: ReadonlyMap<string, string> = new Map([
  ['\u0007', String.raw`\a`],
  ['\b', String.raw`\b`],
  ['\f', String.raw`\f`],
  ['\n', String.raw`\n`],
  ['\r', String.raw`\r`],
  ['\t', String.raw`\t`],
  ['\v', String.raw`\v`],
]);

function escapeCharacter(character: string, quote: string, isAscii: boolean): string {
  if (character === quote || character === '\\') return `\\${character}`;
  const code = character.codePointAt(0) ?? 0;
  if (isPrintable(character) && (!isAscii || code < 0x80)) return character;
  const name = named.get(character);
  if (name !== undefined) return name;
  if (code < 0x80) return String.raw`\x` + code.toString(16).padStart(2, '0');
  if (code < 0x10000) return String.raw`\u` + code.toString(16).padStart(4, '0');
  return String.raw`\U` + code.toString(16).padStart(8, '0');
}

/** Escapes for HTML text and attributes. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/["'&<>\0]/g, (character) => htmlEscapes[character] ?? '\ufffd');
}

const htmlEscapes: Readonly<Record<string, string>> = {
  '"': '&#34;',
  "'": '&#39;',
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
};

/** Escapes for a JavaScript string. */
export function escapeJavaScript(text: string): string {
  return text.replaceAll(/[\\'"<>&=]|[^ -\u{7f}]/gu, (character) => {
    if (character === '\\' || character === "'" || character === '"') return `\\${character}`;
    const code = character.codePointAt(0) ?? 0;
    if (code >= 0x80 && isPrintable(character)) return character;
    return String.raw`\u` + code.toString(16).toUpperCase().padStart(4, '0');
  });
}

/** Escapes for the query of a URL, in the encoding of forms. */
export function escapeQuery(text: string): string {
  const wellFormed = text.replaceAll(/\p{Cs}/gu, '\ufffd');
  return encodeURIComponent(wellFormed)
    .replaceAll('%20', '+')
    .replaceAll(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** One verb of a format with its flags: https://pkg.go.dev/fmt#hdr-Printing */
type Verb = {
  readonly letter: string;
  readonly minus: boolean;
  readonly plus: boolean;
  readonly sharp: boolean;
  readonly space: boolean;
  readonly zero: boolean;
  readonly width: number | undefined;
  readonly precision: number | undefined;
};

/** Pads to the width in characters, with zeros if the verb asks for them. */
function pad(text: string, { width = 0, minus, zero }: Verb, mayZero = true): string {
  const missing = width - characterCount(text);
  if (missing <= 0) return text;
  if (minus) return text + ' '.repeat(missing);
  return (zero && mayZero ? '0' : ' ').repeat(missing) + text;
}

function characterCount(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at += 1) if ((text.charCodeAt(at) & 0xfc00) !== 0xdc00) count += 1;
  return count;
}

import type { FunctionContext, Sink } from '../values/limits.ts';
import { typeName } from '../values/truth.ts';
import { NamedInt, type Value } from '../values/value.ts';
import { formatInteger, formatReal } from './number.ts';
import { type Leaf, showLeaf, writeValue } from './print.ts';
import { canBackQuote, quoteText } from './escape.ts';
import { pad, type Verb } from './verb.ts';

/** Go's `fmt.Sprintf`. A verb that does not fit its operand is reported in the text, as `%!d(string=x)`. */
export function printf(format: string, args: readonly Value[], { createSink, meter }: FunctionContext): string {
  const sink = createSink();
  const reader: ArgumentReader = { args, next: 0, isReordered: false };
  let at = 0;
  for (const found of format.matchAll(verbs)) {
    sink.write(format.slice(at, found.index));
    at = found.index + found[0].length;
    // Rounding a float exactly takes hundreds of digits.
    meter.spend(found[0].includes('.') ? 30 : 5);
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

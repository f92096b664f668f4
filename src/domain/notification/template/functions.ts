import {
  TemplateError,
  equals,
  isLess,
  isTrue,
  typeName,
  isDictionary,
  listOf,
  NamedInt,
  isList,
  Struct,
  sortedEntries,
  type FunctionContext,
  type Value,
  type Sink,
  type Meter,
} from './values.ts';
import { escapeHtml, escapeJavaScript, escapeQuery, print, println, printf } from './format.ts';
import { formatMoment, parseRfc3339, Moment } from './time.ts';

/** `least` and `most` count arguments. `shortCircuit`: the truth that ends the evaluation of arguments. */
export type TemplateFunction = {
  readonly least: number;
  readonly most: number;
  readonly call: (args: readonly Value[], context: FunctionContext) => Value;
  readonly shortCircuit?: boolean;
};

function fixed(count: number, call: TemplateFunction['call']): TemplateFunction {
  return { least: count, most: count, call };
}

function open(least: number, call: TemplateFunction['call']): TemplateFunction {
  return { least, most: Infinity, call };
}

function neverCalled(): never {
  throw new TemplateError('and, or are decided by the evaluator');
}

/** Go's own functions, Watchtower's, and six that users know from other tools. None reads the environment or files. */
export const templateFunctions: ReadonlyMap<string, TemplateFunction> = new Map([
  ['and', { ...open(1, neverCalled), shortCircuit: false }],
  ['or', { ...open(1, neverCalled), shortCircuit: true }],
  ['not', fixed(1, ([value]) => !isTrue(value))],
  ['eq', open(2, ([first, ...others]) => others.some((other) => equals(first, other)))],
  ['ne', fixed(2, ([one, other]) => !equals(one, other))],
  ['lt', fixed(2, ([one, other]) => isLess(one, other))],
  ['le', fixed(2, ([one, other]) => isLess(one, other) || equals(one, other))],
  ['gt', fixed(2, ([one, other]) => !(isLess(one, other) || equals(one, other)))],
  ['ge', fixed(2, ([one, other]) => !isLess(one, other))],
  ['len', fixed(1, ([value]) => length(value))],
  ['index', open(1, ([value, ...keys]) => index(value, keys))],
  ['slice', open(1, ([value, ...bounds]) => slice(value, bounds))],
  ['print', open(0, print)],
  ['println', open(0, println)],
  ['printf', open(1, ([format, ...values], context) => printf(textArgument(format, 'printf'), values, context))],
  ['html', open(0, (args, context) => escapeHtml(print(args, context, '<no value>')))],
  ['js', open(0, (args, context) => escapeJavaScript(print(args, context, '<no value>')))],
  ['urlquery', open(0, (args, context) => escapeQuery(print(args, context, '<no value>')))],
  ['ToUpper', fixed(1, ([value]) => toUpper(textArgument(value, 'ToUpper')))],
  ['ToLower', fixed(1, ([value]) => toLower(textArgument(value, 'ToLower')))],
  ['Title', fixed(1, ([value]) => toTitle(textArgument(value, 'Title')))],
  ['ToJSON', fixed(1, ([value], context) => toJson(value, context))],
  ['ToPorcelainJSON', fixed(1, ([value], context) => toPorcelainJson(value, context))],
  ['RFC1123', fixed(1, ([value], context) => rfc1123(textArgument(value, 'RFC1123'), context))],
  ['replace', fixed(3, ([from, to, text], { meter }) => replace(text, from, to, meter))],
  ['join', fixed(2, ([one, other], { meter }) => join(one, other, meter))],
  ['split', fixed(2, ([separator, text], { meter }) => split(text, separator, meter))],
  ['contains', fixed(2, ([part, whole]) => contains(whole, part))],
  ['default', fixed(2, ([standard, value]) => (isTrue(value) ? value : standard))],
  ['now', fixed(0, (_args, { now }) => now)],
]);

export const functionNames: readonly string[] = [...templateFunctions.keys()];

function rfc1123(text: string, { now: { localZone }, meter }: FunctionContext): string {
  meter.spend(50);
  const moment = parseRfc3339(text, localZone);
  return moment === undefined ? text : formatMoment(moment, 'Mon, 02 Jan 2006 15:04:05 MST');
}

/** Length; of a string in bytes of UTF-8. A nil value has length 0 here; Go refuses it. */
function length(value: Value): bigint {
  if (value === undefined || value === null) return 0n;
  if (typeof value === 'string') return BigInt(new TextEncoder().encode(value).length);
  if (isDictionary(value)) return BigInt(value.size);
  const list = listOf(value);
  if (list === undefined) throw new TemplateError(`a ${typeName(value)} has no length`);
  return BigInt(list.length);
}

/** `index x 1 "a"` is `x[1]["a"]`; a byte's value for a string; a missing key of a map is nothing. */
function index(value: Value, keys: readonly Value[]): Value {
  let found = value;
  if (found === undefined || found === null) throw new TemplateError('index of nothing');
  for (const key of keys) {
    const list = listOf(found);
    if (isDictionary(found)) {
      if (typeof key !== 'string') throw new TemplateError(`a map is indexed by a string, not by a ${typeName(key)}`);
      found = found.get(key) ?? undefined;
    } else if (list !== undefined) found = list[place(key, list.length - 1)];
    else if (typeof found === 'string') {
      const bytes = new TextEncoder().encode(found);
      found = BigInt(bytes[place(key, bytes.length - 1)] ?? 0);
    } else throw new TemplateError(`a ${typeName(found)} cannot be indexed`);
  }
  return found;
}

/** `slice x 1 3` is `x[1:3]`, in bytes for a string. */
function slice(value: Value, bounds: readonly Value[]): Value {
  const list = listOf(value);
  if (list === undefined && typeof value !== 'string') throw new TemplateError(`a ${typeName(value)} cannot be sliced`);
  if (bounds.length > (list === undefined ? 2 : 3)) throw new TemplateError('slice has too many bounds');
  if (list !== undefined) return list.slice(...range(bounds, list.length));
  const bytes = new TextEncoder().encode(typeof value === 'string' ? value : '');
  return new TextDecoder().decode(bytes.subarray(...range(bounds, bytes.length)));
}

function range(bounds: readonly Value[], size: number): [number, number] {
  const places = bounds.map((bound) => place(bound, size));
  const [from = 0, to = size, most = size] = places;
  if (from > to || to > most) throw new TemplateError(`slice goes backwards, from ${from} to ${to}`);
  return [from, to];
}

function place(key: Value, last: number): number {
  const number = key instanceof NamedInt ? key.value : key;
  if (typeof number !== 'bigint') throw new TemplateError(`a place is an int, not a ${typeName(key)}`);
  if (number < 0n || number > BigInt(last)) throw new TemplateError(`the place ${number} is out of range`);
  return Number(number);
}

/** Like Go's `json.MarshalIndent` with two spaces: keys of maps are sorted, fields of structs keep their order. */
function toJson(value: Value, { createSink }: FunctionContext): string {
  const sink = createSink();
  write(sink, value, '\n');
  return sink.text();
}

/** The list of containers that `--porcelain json` prints; a missing report has none. */
function toPorcelainJson(report: Value, context: FunctionContext): string {
  if (report === undefined || report === null) return toJson(noContainers, context);
  const porcelain = report instanceof Struct ? report.forms.porcelain : undefined;
  if (porcelain === undefined) throw new TemplateError(`ToPorcelainJSON takes a report, not a ${typeName(report)}`);
  return toJson(porcelain, context);
}

const noContainers = new Struct('porcelain', { containers: [] });

function write(sink: Sink, value: Value, newline: string): void {
  if (value === undefined || value === null) sink.write('null');
  else if (typeof value === 'string') sink.write(quoteJson(value));
  else if (value instanceof Moment) sink.write(`"${formatMoment(value, '2006-01-02T15:04:05.999999999Z07:00')}"`);
  else if (value instanceof NamedInt) sink.write(String(value.value));
  else if (isList(value)) writeList(sink, value, newline);
  else if (isDictionary(value)) writeObject(sink, sortedEntries(value), newline);
  else if (!(value instanceof Struct)) sink.write(typeof value === 'number' ? showFloat(value) : String(value));
  else if (value.forms.json !== undefined) write(sink, value.forms.json, newline);
  else writeObject(sink, [...value.fields], newline);
}

function writeList(sink: Sink, list: readonly Value[], newline: string): void {
  if (list.length === 0) return sink.write('[]');
  const inner = `${newline}  `;
  for (const [place, element] of list.entries()) {
    sink.write((place === 0 ? '[' : ',') + inner);
    write(sink, element, inner);
  }
  sink.write(`${newline}]`);
}

function writeObject(sink: Sink, entries: readonly (readonly [string, Value])[], newline: string): void {
  if (entries.length === 0) return sink.write('{}');
  const inner = `${newline}  `;
  for (const [place, [key, value]] of entries.entries()) {
    sink.write(`${place === 0 ? '{' : ','}${inner}${quoteJson(key)}: `);
    write(sink, value, inner);
  }
  sink.write(`${newline}}`);
}

/** Go escapes characters that could end an HTML element or a line of JavaScript, and does not use `\b` and `\f`. */
function quoteJson(text: string): string {
  const json = JSON.stringify(text.replaceAll(/\p{Cs}/gu, '\ufffd'));
  return json.replaceAll(/\\\\|\\[bf]|[<>&\u2028\u2029]/g, (part) => escapes[part] ?? part);
}

const escapes: Readonly<Record<string, string>> = {
  [String.raw`\b`]: String.raw`\u0008`,
  [String.raw`\f`]: String.raw`\u000c`,
  '<': String.raw`\u003c`,
  '>': String.raw`\u003e`,
  '&': String.raw`\u0026`,
  '\u2028': String.raw`\u2028`,
  '\u2029': String.raw`\u2029`,
};

/** Text of a float in Go's JSON; the exponent has no leading zero. */
function showFloat(value: number): string {
  if (!Number.isFinite(value)) throw new TemplateError(`JSON has no ${value}`);
  return Object.is(value, -0) ? '-0' : String(value);
}

/** The string that a function needs. */
function textArgument(value: Value, name: string): string {
  if (typeof value !== 'string') throw new TemplateError(`${name} takes a string, not a ${typeName(value)}`);
  return value;
}

/** Character by character, as in Go: a character whose capital form has two characters stays. */
function toUpper(text: string): string {
  return mapCharacters(text, (character) => character.toUpperCase());
}

function toLower(text: string): string {
  return mapCharacters(text, (character) => character.toLowerCase());
}

function mapCharacters(text: string, change: (character: string) => string): string {
  let changed = '';
  for (const character of text) {
    const other = change(character);
    changed += Array.from(other).length === 1 ? other : character;
  }
  return changed;
}

/**
 * Capitalises the first letter of each word that has a capital form, and lowers the rest. Words end as in
 * https://unicode.org/reports/tr29/#Word_Boundaries, like `Title` of the Watchtower family.
 */
function toTitle(text: string): string {
  return text.replace(/[\p{L}\p{M}\p{N}_]+(?:['’‘.․·‧:][\p{L}\p{M}\p{N}_]+)*/gu, titleWord);
}

function titleWord(word: string): string {
  const place = word.search(/\p{Cased}/u);
  if (place === -1) return word;
  const [first = '', ...others] = word.slice(place);
  // The small form of a letter can depend on its neighbours: Σ is ς at the end of a word.
  const rest = [first, ...others].join('').toLowerCase().slice(first.toLowerCase().length);
  return word.slice(0, place) + titleLetter(first) + rest;
}

/** If a capital form has several letters, only the first stays capital: ﬁ becomes Fi, ß becomes Ss. */
function titleLetter(letter: string): string {
  const digraph = digraphs.find((one) => one.includes(letter));
  if (digraph !== undefined) return digraph.slice(1, 2);
  const [, before = '', capital = '', rest = ''] = /^(\P{Cased}*)(\p{Cased}?)(.*)$/su.exec(letter.toUpperCase()) ?? [];
  return before + capital + rest.toLowerCase();
}

/** Capital, title and small forms: https://www.unicode.org/versions/Unicode15.0.0/ch05.pdf#G29675 */
const digraphs = ['Ǆǅǆ', 'Ǉǈǉ', 'Ǌǋǌ', 'Ǳǲǳ'];

/** `replace "from" "to" text`: the text is last, for pipes. */
function replace(text: Value, from: Value, to: Value, meter: Meter): string {
  const [whole, old, fresh] = [text, from, to].map((value) => textArgument(value, 'replace'));
  if (whole === undefined || old === undefined || fresh === undefined || old === '') return whole ?? '';
  const parts = whole.split(old);
  meter.handle(whole.length + (parts.length - 1) * (fresh.length - old.length));
  return parts.join(fresh);
}

/** `join "," list` or `join list ","`: both orders are common. */
function join(one: Value, other: Value, meter: Meter): string {
  const [list, separator] = typeof one === 'string' ? [other, one] : [one, textArgument(other, 'join')];
  const parts = listOf(list)?.map((part) => textArgument(part, 'join'));
  if (parts === undefined) throw new TemplateError(`join takes a list and a string, not a ${typeName(list)}`);
  let size = 0;
  for (const part of parts) size += part.length + separator.length;
  meter.spend(parts.length);
  meter.handle(size);
  return parts.join(separator);
}

/** `split "," text`. */
function split(text: Value, separator: Value, meter: Meter): readonly string[] {
  const parts = textArgument(text, 'split').split(textArgument(separator, 'split'));
  meter.spend(parts.length);
  return parts;
}

/** `contains "part" text`. */
function contains(whole: Value, part: Value): boolean {
  return textArgument(whole, 'contains').includes(textArgument(part, 'contains'));
}

import { TemplateError } from '../values/fault.ts';
import type { Meter } from '../values/limits.ts';
import { typeName } from '../values/truth.ts';
import { listOf, type Value } from '../values/value.ts';

/** The string that a function needs. */
export function textArgument(value: Value, name: string): string {
  if (typeof value !== 'string') throw new TemplateError(`${name} takes a string, not a ${typeName(value)}`);
  return value;
}

/** Character by character, as in Go: a character whose capital form has two characters stays. */
export function toUpper(text: string): string {
  return mapCharacters(text, (character) => character.toUpperCase());
}

export function toLower(text: string): string {
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
export function toTitle(text: string): string {
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
export function replace(text: Value, from: Value, to: Value, meter: Meter): string {
  const [whole, old, fresh] = [text, from, to].map((value) => textArgument(value, 'replace'));
  if (whole === undefined || old === undefined || fresh === undefined || old === '') return whole ?? '';
  const parts = whole.split(old);
  meter.handle(whole.length + (parts.length - 1) * (fresh.length - old.length));
  return parts.join(fresh);
}

/** `join "," list` or `join list ","`: both orders are common. */
export function join(one: Value, other: Value, meter: Meter): string {
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
export function split(text: Value, separator: Value, meter: Meter): readonly string[] {
  const parts = textArgument(text, 'split').split(textArgument(separator, 'split'));
  meter.spend(parts.length);
  return parts;
}

/** `contains "part" text`. */
export function contains(whole: Value, part: Value): boolean {
  return textArgument(whole, 'contains').includes(textArgument(part, 'contains'));
}

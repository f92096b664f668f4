import { formatFloat } from './float.ts';
import { isPrintable, quoteCharacter } from './escape.ts';
import { pad, type Verb } from './verb.ts';

/** An int of 64 bits. Undefined for a verb that does not apply to ints. */
export function formatInteger(value: bigint, verb: Verb): string | undefined {
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
export function formatReal(value: number, verb: Verb): string | undefined {
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

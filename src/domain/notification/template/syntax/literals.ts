import { TemplateError } from '../values/fault.ts';

/** The value of a quoted string as in Go. A raw one, in back quotes, loses its carriage returns. */
export function unquote(text: string, at: number): string {
  if (text.startsWith('`')) return text.slice(1, -1).replaceAll('\r', '');
  return unescape(text.slice(1, -1), at, '"');
}

/** The code of `'c'`. */
export function charCode(text: string, at: number): bigint {
  const characters = Array.from(unescape(text.slice(1, -1), at, "'"));
  const [character] = characters;
  if (character === undefined || characters.length > 1) throw new TemplateError(`${text} is not one character`, at);
  return BigInt(character.codePointAt(0) ?? 0);
}

const named: Readonly<Record<string, string>> = {
  a: '\u0007',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
};

/** https://go.dev/ref/spec#String_literals */
const escapes = /\\(?:x([\da-fA-F]{2})|([0-7]{3})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|([\s\S]?))/g;

function unescape(text: string, at: number, quote: string): string {
  const bytes: string[] = [];
  const plain = text.replace(
    escapes,
    (whole, hex?: string, octal?: string, short?: string, long?: string, name: string = '') => {
      const byte = hex === undefined ? parseInt(octal ?? '', 8) : parseInt(hex, 16);
      if (!Number.isNaN(byte)) {
        if (byte > 255) throw new TemplateError(`unknown escape ${whole}`, at);
        if (byte < 128) return String.fromCharCode(byte);
        bytes.push(byte.toString(16));
        return `\u{f0000}${byte.toString(16)}`;
      }
      const code = parseInt(short ?? long ?? '', 16);
      if (!Number.isNaN(code)) return codePoint(code, whole, at);
      const character = name === quote ? quote : named[name];
      if (character === undefined) throw new TemplateError(`unknown escape ${whole}`, at);
      return character;
    },
  );
  return bytes.length === 0 ? plain : joinBytes(plain);
}

function codePoint(code: number, whole: string, at: number): string {
  const isSurrogate = code >= 0xd800 && code < 0xe000;
  if (code > 0x10ffff || isSurrogate) throw new TemplateError(`${whole} is no character`, at);
  return String.fromCodePoint(code);
}

/** Adjacent bytes, each marked by a private character, are decoded as UTF-8. */
function joinBytes(marked: string): string {
  return marked.replace(/(?:\u{f0000}[\da-f]{2})+/gu, (run) => {
    const bytes = run.split('\u{f0000}').slice(1);
    return new TextDecoder().decode(Uint8Array.from(bytes, (byte) => parseInt(byte, 16)));
  });
}

/** An int as bigint, a float as number. Go decides by the notation: https://go.dev/ref/spec#Integer_literals */
export function readNumber(text: string, at: number): bigint | number {
  const isInteger = /^[+-]?(?:0[xX](?:_?[\da-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+|0(?:_?[0-7])*|[1-9](?:_?\d)*)$/;
  if (isInteger.test(text)) return readInteger(text, at);
  const float = /^[+-]?(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?$/;
  if (!float.test(text) || text.includes('_') || !/[.eE]/.test(text)) throw malformed(text, at);
  const value = Number(text);
  if (!Number.isFinite(value)) throw malformed(text, at);
  return value;
}

function readInteger(text: string, at: number): bigint {
  const digits = text.replace(/^[+-]/, '').replaceAll('_', '').toLowerCase();
  const magnitude = BigInt(/^0\d/.test(digits) ? `0o${digits.slice(1)}` : digits);
  const value = text.startsWith('-') ? -magnitude : magnitude;
  if (BigInt.asIntN(64, value) !== value) throw new TemplateError(`${text.slice(0, 40)} is too large`, at);
  return value;
}

function malformed(text: string, at: number): TemplateError {
  return new TemplateError(`${text.slice(0, 40)} is not a number that can be read`, at);
}

import { printable } from '../../text/printable.ts';
import { TemplateError } from './values.ts';

/** `open` and `close` are the delimiters; `sign` is one of `( ) | , = :=`. */
type TokenKind =
  | 'text'
  | 'open'
  | 'close'
  | 'dot'
  | 'field'
  | 'variable'
  | 'word'
  | 'number'
  | 'char'
  | 'string'
  | 'sign'
  | 'end';

/** `text` is as written; for a field, without its dot. `isSpaced`: white space precedes it. */
export type Token = {
  readonly kind: TokenKind;
  readonly text: string;
  readonly at: number;
  readonly isSpaced: boolean;
};

/** The tokens of a whole template, with `end` last. Comments are removed, and text is trimmed at dashes. */
export function lex(template: string): readonly Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (at < template.length) {
    const open = template.indexOf('{{', at);
    const isTrimmed = open !== -1 && /^-[ \t\r\n]/.test(template.slice(open + 2, open + 4));
    const text = open === -1 ? template.slice(at) : template.slice(at, open);
    const kept = isTrimmed ? trimEnd(text) : text;
    if (kept !== '') tokens.push({ kind: 'text', text: kept, at, isSpaced: false });
    if (open === -1) break;
    const start = open + (isTrimmed ? 4 : 2);
    at = template.startsWith('/*', start) ? skipComment(template, start) : lexAction(template, open, start, tokens);
  }
  tokens.push({ kind: 'end', text: '', at: template.length, isSpaced: false });
  return tokens;
}

/** Cuts the white space that Go knows. A regular expression would search back from every space. */
function trimEnd(text: string): string {
  let end = text.length;
  while (end > 0 && isSpace(text[end - 1])) end -= 1;
  return text.slice(0, end);
}

function isSpace(character: string | undefined): boolean {
  return character === ' ' || character === '\t' || character === '\r' || character === '\n';
}

function skipComment(template: string, start: number): number {
  const end = template.indexOf('*/', start + 2);
  if (end === -1) throw new TemplateError('the comment has no end', start);
  const after = closeAt(template, end + 2);
  if (after === undefined) throw new TemplateError('a comment must be alone in its action', start);
  return after;
}

/** The position after a closing delimiter at `at`, trimming or not; undefined without one. */
function closeAt(template: string, at: number): number | undefined {
  if (template.startsWith('}}', at)) return at + 2;
  if (!isSpace(template[at]) || !template.startsWith('-}}', at + 1)) return undefined;
  let after = at + 4;
  while (isSpace(template[after])) after += 1;
  return after;
}

function lexAction(template: string, open: number, start: number, tokens: Token[]): number {
  tokens.push({ kind: 'open', text: '{{', at: open, isSpaced: false });
  let at = start;
  let isSpaced = false;
  for (;;) {
    const after = closeAt(template, at);
    if (after !== undefined) {
      tokens.push({ kind: 'close', text: '}}', at, isSpaced });
      return after;
    }
    if (at >= template.length) throw new TemplateError('the action has no end', open);
    if (isSpace(template[at])) {
      isSpaced = true;
      at += 1;
      continue;
    }
    const token = lexToken(template, at, isSpaced);
    tokens.push(token.kind === 'field' ? { ...token, text: token.text.slice(1) } : token);
    at += token.text.length;
    isSpaced = false;
  }
}

/** In this order, because a number may begin with a dot like a field. */
const patterns: readonly (readonly [TokenKind, RegExp])[] = [
  ['number', /[+-]?(?:0[xX][\da-fA-F_]*(?:\.[\da-fA-F_]*)?(?:[pP][+-]?[\d_]*)?|\.?\d[\d_]*(?:[\w.]|(?<=[eE])[+-])*)/y],
  ['field', /\.[\p{L}\p{Nd}_]+/uy],
  ['dot', /\./y],
  ['variable', /\$[\p{L}\p{Nd}_]*/uy],
  ['word', /[\p{L}\p{Nd}_]+/uy],
  ['string', /"(?:[^"\\\n]|\\[^\n])*"|`[^`]*`/y],
  ['char', /'(?:[^'\\\n]|\\[^\n])*'/y],
  ['sign', /:=|[()|,=]/y],
];

/** Characters that may follow a name without white space. */
const terminator = /[\s.,|:()]|\}\}|$/y;

function lexToken(template: string, at: number, isSpaced: boolean): Token {
  for (const [kind, pattern] of patterns) {
    pattern.lastIndex = at;
    const [text] = pattern.exec(template) ?? [];
    if (text === undefined) continue;
    if (kind === 'field' || kind === 'variable' || kind === 'word') checkEnd(template, at + text.length);
    return { kind, text, at, isSpaced };
  }
  if (template[at] === '"' || template[at] === '`') throw new TemplateError('the string has no end', at);
  throw new TemplateError(`unexpected ${characterAt(template, at)}`, at);
}

function checkEnd(template: string, at: number): void {
  terminator.lastIndex = at;
  if (!terminator.test(template)) throw new TemplateError(`unexpected ${characterAt(template, at)}`, at);
}

function characterAt(template: string, at: number): string {
  return printable(String.fromCodePoint(template.codePointAt(at) ?? 0), 10);
}

/** Reads the tokens once, in order, with the state that the grammar needs. */
export type Reader = {
  readonly peek: () => Token;
  readonly next: () => Token;
  /** Steps over the next token if it is this one. */
  readonly accept: (kind: TokenKind, text?: string) => Token | undefined;
  readonly expect: (kind: TokenKind, where: string) => Token;
  /** Runs one level deeper, up to a bound. */
  readonly nested: <Result>(read: () => Result) => Result;
};

/** Real templates are not deeper. Deeper ones could exhaust the stack. */
const deepest = 100;

export function createReader(tokens: readonly Token[]): Reader {
  const end: Token = tokens.at(-1) ?? { kind: 'end', text: '', at: 0, isSpaced: false };
  let index = 0;
  let depth = 0;
  const peek = () => tokens[index] ?? end;
  function next(): Token {
    const token = peek();
    index += 1;
    return token;
  }
  return {
    peek,
    next,
    accept: (kind, text) => (peek().kind === kind && (text ?? peek().text) === peek().text ? next() : undefined),
    expect(kind, where) {
      const token = next();
      if (token.kind !== kind) throw unexpected(token, where);
      return token;
    },
    nested(read) {
      depth += 1;
      if (depth > deepest) throw new TemplateError(`more than ${deepest} blocks are inside each other`, peek().at);
      const result = read();
      depth -= 1;
      return result;
    },
  };
}

export function unexpected(token: Token, where: string): TemplateError {
  const shown = token.kind === 'end' ? 'end of the template' : printable(token.text, 40);
  return new TemplateError(`unexpected ${shown} in ${where}`, token.at);
}

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

import type { HttpRequest } from './exchange.ts';

/** `{"a":1}` as a POST, without undefined fields. */
export function jsonPost(url: string, body: unknown, headers: Headers = {}): HttpRequest {
  return post(url, JSON.stringify(body), { 'content-type': 'application/json', ...headers });
}

/** `a=1&b=2` as a POST, without undefined fields. */
export function formPost(url: string, fields: Fields, headers: Headers = {}): HttpRequest {
  const type = 'application/x-www-form-urlencoded';
  return post(url, String(formOf(fields)), { 'content-type': type, ...headers });
}

type Headers = HttpRequest['headers'];
type Fields = Readonly<Record<string, string | undefined>>;

function post(url: string, body: string, headers: Headers): HttpRequest {
  return { method: 'POST', url: new URL(url), headers, body };
}

export function formOf(fields: Fields): URLSearchParams {
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) form.append(name, value);
  return form;
}

/** Undefined for an empty text or list: requests omit undefined fields. */
export function orNone<Value extends string | readonly unknown[]>(value: Value): Value | undefined {
  return value.length === 0 ? undefined : value;
}

/**
 * A text as the value of a header, on one line. Text outside ASCII, which Node refuses, becomes encoded words:
 * https://www.rfc-editor.org/rfc/rfc2047
 */
export function headerText(text: string): string {
  const line = text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim();
  return /^[\x20-\x7e]*$/.test(line) ? line : encodedWords(line).join(' ');
}

/** A word has at most 75 bytes and contains whole characters. */
function encodedWords(line: string): readonly string[] {
  const words: string[] = [];
  let word = '';
  for (const character of line) {
    if (Buffer.byteLength(word + character) > maxBytes) {
      words.push(word);
      word = '';
    }
    word += character;
  }
  return [...words, word].map((each) => `=?UTF-8?B?${Buffer.from(each).toString('base64')}?=`);
}

const maxBytes = 45;

export function basicLogin(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}

/** The limit of a service: in UTF-16 units, code points, or bytes of UTF-8. */
export type TextLimit = {
  readonly max: number;
  readonly unit: 'units' | 'characters' | 'bytes';
  /** The most pieces of a text; 10 by default. The last piece counts the omitted lines. */
  readonly maxPieces?: number;
};

/**
 * Splits a text into pieces of the limit: at line ends if possible, else at white space, else within a word, never
 * within a character. `piecesOf(text).join('')` is the text, except for the part beyond `maxPieces`.
 */
export function piecesOf(text: string, { max, unit, maxPieces = 10 }: TextLimit): readonly string[] {
  const pieces: string[] = [];
  let rest = text;
  while (rest !== '') {
    const size = lengthThatFits(rest, max, unit);
    if (size < rest.length && pieces.length + 1 === maxPieces) return [...pieces, cutText(rest, { max, unit })];
    const piece = rest.slice(0, size < rest.length ? breakPosition(rest, size) : size);
    pieces.push(piece);
    rest = rest.slice(piece.length);
  }
  return pieces;
}

/** The pieces to send: without line ends around them and without blank pieces, but at least one. */
export function messagePieces(text: string, limit: TextLimit): readonly string[] {
  const pieces = piecesOf(text, limit).map((piece) => piece.replaceAll(/^\n+|\s+$/g, ''));
  const filled = pieces.filter((piece) => piece !== '');
  return filled.length === 0 ? [''] : filled;
}

/** The beginning of a text that fits. A cut text ends with the number of missing lines. */
export function cutText(text: string, { max, unit }: TextLimit): string {
  if (lengthThatFits(text, max, unit) === text.length) return text;
  const lines = text.split('\n').length;
  const room = Math.max(1, max - sizeOf(omittedLinesNote(lines), unit) - 1);
  const kept = text.slice(0, breakPosition(text, lengthThatFits(text, room, unit))).trimEnd();
  const missing = text.slice(kept.length).trim().split('\n').length;
  const shown = `${kept}\n${omittedLinesNote(missing)}`;
  return shown.slice(0, lengthThatFits(shown, max, unit));
}

/** One line, cut with an ellipsis. */
export function cutLine(text: string, { max, unit }: TextLimit): string {
  const line = text.replaceAll(/\s*[\r\n]+\s*/g, ' ').trim();
  if (lengthThatFits(line, max, unit) === line.length) return line;
  return `${line.slice(0, lengthThatFits(line, max - sizeOf('…', unit), unit)).trimEnd()}…`;
}

function omittedLinesNote(lines: number): string {
  return lines === 1 ? '… 1 more line' : `… ${lines} more lines`;
}

function sizeOf(text: string, unit: TextLimit['unit']): number {
  if (unit === 'units') return text.length;
  return unit === 'bytes' ? new TextEncoder().encode(text).length : Array.from(text).length;
}

/** The number of UTF-16 units from the start that fit; at least one character, because loops must end. */
function lengthThatFits(text: string, max: number, unit: TextLimit['unit']): number {
  let size = 0;
  let end = 0;
  for (const character of text) {
    size += unit === 'characters' ? 1 : sizeOf(character, unit);
    if (size > max && end > 0) return end;
    end += character.length;
    if (size > max) return end;
  }
  return end;
}

/** After the last line end in the second half, else after the last white space of the last 100 units, else `end`. */
function breakPosition(text: string, end: number): number {
  const line = text.lastIndexOf('\n', end - 1);
  if (line >= end / 2) return line + 1;
  const tail = /^[^]*\s/.exec(text.slice(Math.max(0, end - 100), end));
  return tail === null || end <= 100 ? end : end - 100 + tail[0].length;
}

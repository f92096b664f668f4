/**
 * Foreign text, made safe for a terminal, a log line or an error: at most `maxLength` characters (a cut ends in `…`).
 * Characters that move the cursor, change colours, or hide or reorder text become `\n`, `\x1b` or `\u202e`.
 */
export function printable(text: string, maxLength: number): string {
  if (text.length <= maxLength && !unsafe.test(text)) return text;
  let shown = '';
  let roomForCut = '';
  for (const character of text) {
    const next = shown + (unsafe.test(character) ? escape(character) : character);
    if (next.length > maxLength) return maxLength < 1 ? '' : `${roomForCut}…`;
    shown = next;
    if (shown.length < maxLength) roomForCut = shown;
  }
  return shown;
}

/** `"text"` for a message: like `printable`, with quotes escaped, and backslashes that would cancel an escape. */
export function quoted(text: string, maxLength = 100): string {
  return `"${printable(text, maxLength).replaceAll(/\\*(?:"|$)/g, escapeQuote)}"`;
}

function escapeQuote(end: string): string {
  return end.replaceAll(/["\\]/g, String.raw`\$&`);
}

/** The text between a pair of quotation marks, as compose's list form passes on `KEY="value"`; any other text as it is. */
export function withoutQuotes(text: string): string {
  const [, mark = '', inner = ''] = /^(["'])(.*)\1$/s.exec(text) ?? [];
  return mark === '' || inner.includes(mark) ? text : inner.trim();
}

/** JSON that is safe for a terminal or a log line. The value is the same; unsafe characters become JSON escapes. */
export function printableJson(json: string): string {
  return allPrintableAscii.test(json) ? json : json.replace(unsafeInJson, unicodeEscape);
}

/** Matches most texts, which then need no slower test. */
const allPrintableAscii = /^[\n\x20-\x7e]*$/;

/** Characters that `JSON.stringify` does not escape: C1 controls, bidirectional overrides, other line ends. */
const unsafeInJson = /[\u007f-\u009f]|[\p{Cf}\p{Zl}\p{Zp}]/gu;

function unicodeEscape(character: string): string {
  return Array.from(
    { length: character.length },
    (_, index) => String.raw`\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`,
  ).join('');
}

/**
 * Controls and line ends (Cc, Zl, Zp), invisible formatting such as the bidirectional overrides of
 * https://trojansource.codes (Cf), and lone halves of surrogate pairs (Cs).
 */
const unsafe = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

const named: Readonly<Record<string, string>> = { '\n': String.raw`\n`, '\r': String.raw`\r`, '\t': String.raw`\t` };

function escape(character: string): string {
  const name = named[character];
  if (name !== undefined) return name;
  const hex = (character.codePointAt(0) ?? 0).toString(16);
  if (hex.length <= 2) return `\\x${hex.padStart(2, '0')}`;
  return hex.length <= 4 ? `\\u${hex.padStart(4, '0')}` : `\\u{${hex}}`;
}

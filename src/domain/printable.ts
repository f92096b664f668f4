/**
 * Text from outside made safe for a terminal, a log line or an error message: at most `maxLength`
 * characters (a cut ends in `…`), and nothing in it moves the cursor, changes colours, hides or
 * reorders what is around it. What would do so becomes `\n`, `\x1b` or `\u202e`.
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

/** `"text"` for a message: as `printable`, with quotes escaped too. */
export function quoted(text: string, maxLength = 100): string {
  return `"${printable(text, maxLength).replaceAll('"', String.raw`\"`)}"`;
}

/**
 * Controls and line ends (Cc, Zl, Zp), invisible formatting such as the bidirectional overrides of
 * https://trojansource.codes (Cf), and lone halves of surrogate pairs (Cs).
 */
const unsafe = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

const named: Readonly<Record<string, string>> = {
  '\n': String.raw`\n`,
  '\r': String.raw`\r`,
  '\t': String.raw`\t`,
};

function escape(character: string): string {
  const name = named[character];
  if (name !== undefined) return name;
  const hex = (character.codePointAt(0) ?? 0).toString(16);
  if (hex.length <= 2) return `\\x${hex.padStart(2, '0')}`;
  return hex.length <= 4 ? `\\u${hex.padStart(4, '0')}` : `\\u{${hex}}`;
}

/**
 * Text from outside made safe for a terminal, a log line or an error message: at most `maxLength`
 * characters (a cut ends in `…`), and nothing in it moves the cursor, changes colours, hides itself
 * or reorders what follows. Such characters become `\n`, `\x1b` or `\u202e`.
 */
export function printable(text: string, maxLength: number): string {
  let shown = '';
  let shownBeforeCut = '';
  for (const character of text) {
    const next = shown + (invisible.test(character) ? escape(character) : character);
    if (next.length > maxLength) return maxLength < 1 ? '' : `${shownBeforeCut}…`;
    shown = next;
    if (shown.length < maxLength) shownBeforeCut = shown;
  }
  return shown;
}

/** `"text"` for a message, at most 100 characters of it unless told otherwise. */
export function quoted(text: string, maxLength = 100): string {
  return `"${printable(text, maxLength).replaceAll('"', String.raw`\"`)}"`;
}

/**
 * Controls and line ends (Cc, Zl, Zp), formatting such as the bidirectional overrides of
 * https://trojansource.codes (Cf), lone halves of surrogate pairs (Cs), private and unassigned ones.
 */
const invisible = /[\p{C}\p{Zl}\p{Zp}]/u;

const short: Readonly<Record<string, string>> = { '\n': String.raw`\n`, '\r': String.raw`\r`, '\t': String.raw`\t` };

function escape(character: string): string {
  const known = short[character];
  if (known !== undefined) return known;
  const hex = (character.codePointAt(0) ?? 0).toString(16);
  if (hex.length <= 2) return String.raw`\x` + hex.padStart(2, '0');
  return hex.length <= 4 ? String.raw`\u` + hex.padStart(4, '0') : String.raw`\u` + `{${hex}}`;
}

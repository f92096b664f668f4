/** Go's `%q` of a string. `isAscii`: escapes all other characters. */
export function quoteText(text: string, isAscii: boolean): string {
  let quoted = '"';
  for (const character of text) quoted += escapeCharacter(character, '"', isAscii);
  return `${quoted}"`;
}

export function quoteCharacter(character: string, isAscii: boolean): string {
  return `'${escapeCharacter(character, "'", isAscii)}'`;
}

/** Whether a string can stand between back quotes. */
export function canBackQuote(text: string): boolean {
  return !/[`\ufeff\p{Cs}]|(?!\t)\p{Cc}/u.test(text);
}

/** Go's `IsPrint`: letters, marks, numbers, punctuation, symbols and the ASCII space. */
export function isPrintable(character: string): boolean {
  return character === ' ' || /^[\p{L}\p{M}\p{N}\p{P}\p{S}]$/u.test(character);
}

const named: ReadonlyMap<string, string> = new Map([
  ['\u0007', String.raw`\a`],
  ['\b', String.raw`\b`],
  ['\f', String.raw`\f`],
  ['\n', String.raw`\n`],
  ['\r', String.raw`\r`],
  ['\t', String.raw`\t`],
  ['\v', String.raw`\v`],
]);

function escapeCharacter(character: string, quote: string, isAscii: boolean): string {
  if (character === quote || character === '\\') return `\\${character}`;
  const code = character.codePointAt(0) ?? 0;
  if (isPrintable(character) && (!isAscii || code < 0x80)) return character;
  const name = named.get(character);
  if (name !== undefined) return name;
  if (code < 0x80) return String.raw`\x` + code.toString(16).padStart(2, '0');
  if (code < 0x10000) return String.raw`\u` + code.toString(16).padStart(4, '0');
  return String.raw`\U` + code.toString(16).padStart(8, '0');
}

/** Escapes for HTML text and attributes. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/["'&<>\0]/g, (character) => htmlEscapes[character] ?? '\ufffd');
}

const htmlEscapes: Readonly<Record<string, string>> = {
  '"': '&#34;',
  "'": '&#39;',
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
};

/** Escapes for a JavaScript string. */
export function escapeJavaScript(text: string): string {
  return text.replaceAll(/[\\'"<>&=]|[^ -\u{7f}]/gu, (character) => {
    if (character === '\\' || character === "'" || character === '"') return `\\${character}`;
    const code = character.codePointAt(0) ?? 0;
    if (code >= 0x80 && isPrintable(character)) return character;
    return String.raw`\u` + code.toString(16).toUpperCase().padStart(4, '0');
  });
}

/** Escapes for the query of a URL, in the encoding of forms. */
export function escapeQuery(text: string): string {
  const wellFormed = text.replaceAll(/\p{Cs}/gu, '\ufffd');
  return encodeURIComponent(wellFormed)
    .replaceAll('%20', '+')
    .replaceAll(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
}

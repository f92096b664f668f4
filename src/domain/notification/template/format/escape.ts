import { isPrintable } from './quote.ts';

/** Escapes text for HTML, attributes included. */
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

/** Escapes text for a JavaScript string. */
export function escapeJavaScript(text: string): string {
  return text.replaceAll(/[\\'"<>&=]|[^ -\u{7f}]/gu, (character) => {
    if (character === '\\' || character === "'" || character === '"') return `\\${character}`;
    const code = character.codePointAt(0) ?? 0;
    if (code >= 0x80 && isPrintable(character)) return character;
    return String.raw`\u` + code.toString(16).toUpperCase().padStart(4, '0');
  });
}

/** Escapes text for a URL's query, as in a form. */
export function escapeQuery(text: string): string {
  const wellFormed = text.replaceAll(/\p{Cs}/gu, '\ufffd');
  return encodeURIComponent(wellFormed)
    .replaceAll('%20', '+')
    .replaceAll(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
}

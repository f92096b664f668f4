/**
 * Escapes one line of text, so that CommonMark shows it unchanged:
 * https://spec.commonmark.org/0.31.2/#backslash-escapes
 */
export function escapeMarkdown(text: string): string {
  return text.replaceAll(/[\\`*_{}[\]<>#+!|~&]|^[-=]/g, String.raw`\$&`);
}

/** Text of one line that means itself in CommonMark: https://spec.commonmark.org/0.31.2/#backslash-escapes */
export function escapeMarkdown(text: string): string {
  return text.replaceAll(/[\\`*_{}[\]<>#+!|~&]|^[-=]/g, String.raw`\$&`);
}

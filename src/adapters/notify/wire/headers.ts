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
    if (Buffer.byteLength(word + character) > mostBytes) {
      words.push(word);
      word = '';
    }
    word += character;
  }
  return [...words, word].map((each) => `=?UTF-8?B?${Buffer.from(each).toString('base64')}?=`);
}

const mostBytes = 45;

export function basicLogin(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}

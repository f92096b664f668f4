/**
 * Text of a service that received these secrets, or a placeholder if the text repeats one: verbatim, in base64,
 * hexadecimal or URL encoding, backwards, in another case, spaced out, or in part. When in doubt the text is hidden.
 */
export function withoutSecrets(words: string, secrets: Iterable<string>): string {
  return repeatsOne(words, secrets) ? withheld : words;
}

const withheld = 'its message is withheld, because it repeats a secret that was sent';

function repeatsOne(words: string, secrets: Iterable<string>): boolean {
  const clear = decoded(words);
  const shown = [...new Set([words, clear].flatMap((text) => [text.toLowerCase(), plain(text)]))];
  for (const secret of secrets) {
    if (secret !== '' && (words.includes(secret) || shown.some((text) => sharesRun(text, secret)))) return true;
  }
  return false;
}

/** `text` must be short. */
function sharesRun(text: string, secret: string): boolean {
  // Four equal characters reveal much of a password. In a token of kilobytes they occur by chance.
  const most = secret.length > 32 ? 8 : 4;
  for (const form of formsOf(secret)) {
    const length = Math.min(most, form.length);
    if (length < shortestRun) continue;
    for (let start = 0; start + length <= text.length; start += 1) {
      if (form.includes(text.slice(start, start + length))) return true;
    }
  }
  return false;
}

/** A shorter run occurs in any sentence, so it is compared verbatim only. */
const shortestRun = 3;

function formsOf(secret: string): readonly string[] {
  const bytes = new TextEncoder().encode(secret.slice(0, longestRead));
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  const backwards = Array.from(secret.slice(0, longestRead)).toReversed().join('');
  const encoded = [0, 1, 2].map((before) => base64Within(bytes, before));
  return [...new Set([secret.toLowerCase(), ...[secret, backwards, hex, ...encoded].map(plain)])];
}

/** The digits of base64 that do not depend on surrounding bytes. `before`: the offset within a group of three bytes. */
function base64Within(bytes: Uint8Array, before: number): string {
  const padded = [...Array.from<number>({ length: before }).fill(0), ...bytes];
  const text = btoa(padded.map((byte) => String.fromCodePoint(byte)).join('')).replaceAll('=', '');
  const isCut = padded.length % 3 !== 0;
  return text.slice(Math.ceil((before * 4) / 3), isCut ? -1 : undefined);
}

/** Keeps letters and digits: case and separators do not matter. */
function plain(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}

function decoded(text: string): string {
  let clear = text;
  for (let round = 0; round < mostEncodings; round += 1) {
    const before = clear;
    clear = before.replace(/(?:%[0-9a-f]{2})+/gi, decodedRun);
    if (clear === before) break;
  }
  return clear;
}

function decodedRun(run: string): string {
  try {
    return decodeURIComponent(run);
  } catch {
    return run;
  }
}

/** Each encoding takes two characters at least, and the callers cut their texts to 1,000. */
const mostEncodings = 500;

/** Tokens are 2 to 4 kB. */
const longestRead = 32_768;

/** A token of the HTTP API. `name` is its holder, if the file names one. */
export type NamedToken = { readonly name: string | undefined; readonly token: string };

/** `why` names the line, and never has content of the file. */
export type ReadTokens =
  | { readonly kind: 'tokens'; readonly tokens: readonly NamedToken[] }
  | { readonly kind: 'refused'; readonly why: string };

/**
 * The tokens in the text of a token file: one alone, or a line `NAME: TOKEN` for each holder. A line that begins with
 * `#` is a comment. A token contains no space, so the space after the colon distinguishes the two:
 * https://www.rfc-editor.org/rfc/rfc6750#section-2.1
 */
export function readTokens(text: string): ReadTokens {
  const lines = text
    .split(/\r\n?|\n/)
    .map((line, index) => ({ text: line.trim(), number: index + 1 }))
    .filter((line) => line.text !== '');
  const written = lines.filter((line) => !line.text.startsWith('#'));
  if (written.length === 0) {
    const why = 'the file has no token';
    return { kind: 'refused', why: lines.length === 0 ? why : `${why}: each of its lines is a comment` };
  }
  const tokens: NamedToken[] = [];
  for (const { text: line, number } of written) {
    const read = tokens.length === maxTokens ? tooMany : readLine(line, written.length === 1);
    if (typeof read === 'string') return { kind: 'refused', why: `line ${number} ${read}` };
    tokens.push(read);
  }
  return { kind: 'tokens', tokens };
}

/** Each request is compared with all tokens. */
const maxTokens = 100;
const tooMany = `is one token more than the ${maxTokens} that are possible`;

/** A token, or the end of a sentence about the line. */
function readLine(line: string, isOnly: boolean): NamedToken | string {
  const [, name, token] = /^([^:]+):(?:\s+(.*))?$/s.exec(line) ?? [];
  if (name === undefined) return isOnly ? { name: undefined, token: line } : unnamed;
  if (token === undefined) return 'has a name without a token';
  if (/\s/.test(token)) return 'has a token with a space in it';
  return namePattern.test(name) ? { name, token } : badName;
}

const unnamed = 'is not NAME: TOKEN, as each line of several has to be';
const namePattern = /^[\p{L}\p{N}][\p{L}\p{N} ._@-]{0,49}$/u;
const badName = 'has a name that is not 1 to 50 letters, digits, spaces or . _ @ -';

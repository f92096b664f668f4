/** A token of the HTTP API. `name` is its holder, if the file names one. */
export type NamedToken = { readonly name: string | undefined; readonly token: string };

/**
 * The tokens in the text of a token file: one for all, or a line `NAME: TOKEN` for each holder. A token contains no
 * space, so the space after the colon distinguishes the two: https://www.rfc-editor.org/rfc/rfc6750#section-2.1
 */
export function readTokens(text: string): readonly NamedToken[] {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const named = lines.map(readLine);
  if (named.every(({ name }) => name === undefined)) return [{ name: undefined, token: text.trim() }];
  return named.slice(0, mostTokens);
}

function readLine(line: string): NamedToken {
  const [, name, token] = namedPattern.exec(line) ?? [];
  return name === undefined || token === undefined ? { name: undefined, token: line } : { name, token };
}

const namedPattern = /^([\p{L}\p{N}][\p{L}\p{N} ._@-]{0,49}):\s+(\S+)$/u;

/** Each request is compared with all tokens. */
const mostTokens = 100;

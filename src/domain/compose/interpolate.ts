/**
 * A part of a text. `at` says where its characters stand in a file, one after the other. Without `at` they stand nowhere
 * as they are: they come from an escape, or from outside.
 */
export type Piece = { readonly text: string; readonly at?: Place };

/** `offset`: in UTF-16 units from the start of the file. */
type Place = { readonly file: string; readonly offset: number };

/** A text of which each character has its origin. */
export type Pieces = readonly Piece[];

/** The value of a variable; undefined if it is not set. */
export type Variables = (name: string) => Pieces | undefined;

export function textOf(pieces: Pieces): string {
  return pieces.map(({ text }) => text).join('');
}

/** The part of a piece from `start` to `end`. */
function cut({ text, at }: Piece, start: number, end: number): Piece {
  const part = text.slice(start, end);
  return at === undefined ? { text: part } : { text: part, at: { file: at.file, offset: at.offset + start } };
}

/**
 * Replaces `$NAME` and `${NAME…}` as compose does; undefined if the template is invalid, or a variable is missing that it
 * requires. A variable that is not set is empty. https://docs.docker.com/reference/compose-file/interpolation/
 */
export function interpolate(template: Piece, variables: Variables, depth = 0): Pieces | undefined {
  if (depth > maxDepth) return undefined;
  const { text } = template;
  const found: Piece[] = [];
  let literal = 0;
  let index = text.indexOf('$');
  while (index !== -1) {
    if (index > literal) found.push(cut(template, literal, index));
    const [, name] = /^\$([a-z_]\w*)/i.exec(text.slice(index, index + maxName)) ?? [];
    if (text[index + 1] === '$') {
      found.push({ text: '$' });
      literal = index + 2;
    } else if (name !== undefined) {
      found.push(...(variables(name) ?? []));
      literal = index + 1 + name.length;
    } else {
      const end = text[index + 1] === '{' ? closingBrace(text, index + 1) : -1;
      const value = end === -1 ? undefined : substitute(cut(template, index + 2, end), variables, depth);
      if (value === undefined) return undefined;
      found.push(...value);
      literal = end + 1;
    }
    index = text.indexOf('$', literal);
  }
  if (literal < text.length) found.push(cut(template, literal, text.length));
  return found;
}

const maxDepth = 20;

const maxName = 256;

function closingBrace(text: string, open: number): number {
  let depth = 0;
  for (let index = open; index < text.length; index += 1) {
    if (text[index] === '{') depth += 1;
    else if (text[index] === '}' && (depth -= 1) === 0) return index;
  }
  return -1;
}

/** The value of what stands between braces: `NAME`, or `NAME` with an operator and a word. */
function substitute(inner: Piece, variables: Variables, depth: number): Pieces | undefined {
  const [, name = '', operator, word = ''] = /^([a-z_]\w*)(:?[-+?])?([\s\S]*)$/i.exec(inner.text) ?? [];
  if (name === '') return undefined;
  const value = variables(name);
  if (operator === undefined) return word === '' ? (value ?? []) : undefined;
  const isSet = value !== undefined && (!operator.startsWith(':') || textOf(value) !== '');
  const alternative = () =>
    interpolate(cut(inner, inner.text.length - word.length, inner.text.length), variables, depth + 1);
  if (operator.endsWith('-')) return isSet ? value : alternative();
  if (operator.endsWith('+')) return isSet ? alternative() : [];
  return isSet ? value : undefined;
}

/**
 * The variables of a `.env` file in the form that compose reads; undefined if it is malformed. A value may use
 * variables of `outer` and earlier ones of the file; a name in both is that of `outer`. If it is that of an earlier file
 * of the same project, it depends on the version of compose, so a value that uses it makes the file count as malformed:
 * 2.26 takes the earlier file's, 2.40 the file's own.
 */
export function readEnvFile(
  { file, text }: { readonly file: string; readonly text: string },
  outer: Variables,
  earlier: ReadonlyMap<string, Pieces> = new Map(),
): ReadonlyMap<string, Pieces> | undefined {
  const values = new Map<string, Pieces>();
  let isAmbiguous = false;
  const known: Variables = (name) => {
    const [before, own] = [earlier.get(name), values.get(name)];
    isAmbiguous ||= before !== undefined && own !== undefined && textOf(before) !== textOf(own);
    return outer(name) ?? own;
  };
  const piece = (start: number, end: number): Piece => ({ text: text.slice(start, end), at: { file, offset: start } });
  let next = text.startsWith('\u{feff}') ? 1 : 0;
  while (next < text.length) {
    const start = next;
    const end = endOfLine(text, start);
    next = end + 1;
    const line = text.slice(start, end).replace(/\r$/, '');
    const [head, name] = /^\s*(?:export\s+)?([\w.-]+)[ \t]*[=:][ \t]*/.exec(line) ?? [];
    if (head === undefined || name === undefined) {
      // A name alone is taken from the environment of the shell.
      if (/^\s*(?:#.*|(?:export\s+)?[\w.-]+\s*)?$/.test(line)) continue;
      return undefined;
    }
    const begin = start + head.length;
    const quote = text[begin];
    if (quote === "'" || quote === '"') {
      const closing = closingQuote(text, begin, quote);
      if (closing === -1) return undefined;
      const inner = piece(begin + 1, closing);
      const isPlain = !inner.text.includes('\\');
      const value = quote === "'" ? [inner] : interpolate(isPlain ? inner : { text: unescaped(inner.text) }, known);
      if (value === undefined) return undefined;
      values.set(name, value);
      next = endOfLine(text, closing) + 1;
      continue;
    }
    const bare = line
      .slice(head.length)
      .replace(/(?:^|\s+)#.*$/, '')
      .trimEnd();
    const value = interpolate(piece(begin, begin + bare.length), known);
    if (value === undefined) return undefined;
    values.set(name, value);
  }
  return isAmbiguous ? undefined : values;
}

function endOfLine(text: string, from: number): number {
  const end = text.indexOf('\n', from);
  return end === -1 ? text.length : end;
}

function closingQuote(text: string, open: number, quote: string): number {
  for (let index = open + 1; index < text.length; index += 1) {
    if (text[index] === '\\' && quote === '"') index += 1;
    else if (text[index] === quote) return index;
  }
  return -1;
}

function unescaped(text: string): string {
  const letters: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' };
  return text.replaceAll(/\\([\s\S])/g, (_, letter: string) => letters[letter] ?? letter);
}

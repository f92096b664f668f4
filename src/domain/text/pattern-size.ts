/**
 * Upper bound of a pattern's compiled instructions, from its text alone, because compilation is the slow part. A
 * Unicode class counts as several instructions, because it takes as long. Reads the syntax of
 * https://github.com/google/re2/wiki/Syntax. The bound may be too high, but never too low.
 */
export function patternSize(text: string): number {
  const folds = /\(\?[a-zA-Z-]*i/.test(text);
  const classSize = folds ? foldedClassSize : unicodeClassSize;
  const outer: number[] = [];
  let total = 3;
  let atom = 0;
  const add = (size: number): void => {
    total += atom;
    atom = size;
  };
  for (let at = 0; at < text.length;) {
    const token = tokenAt(text, at);
    at += token.length;
    if (token === '(') {
      add(0);
      outer.push(total);
      total = 3;
    } else if (token === ')') {
      add(0);
      const inner = total;
      total = outer.pop() ?? 0;
      atom = inner;
    } else if (isRepetition(token)) {
      atom = Math.max(atom, 1) * timesOf(token) + 2;
    } else if (token.startsWith('\\Q')) {
      total += atom + token.length;
      atom = 1;
    } else {
      const classes = token.match(/\\p|\\P/g)?.length ?? 0;
      add(
        (token === '|' ? 2 : 1) +
          classes * classSize +
          (token.startsWith('[') ? Math.ceil(token.length / charactersInOne) : 0),
      );
    }
    if (total > enough || atom > enough) return Infinity;
  }
  while (outer.length > 0) {
    add(0);
    total += outer.pop() ?? 0;
  }
  return total + atom;
}

const unicodeClassSize = 10;

/** Every range of the class is looked up in tables of other cases. */
const foldedClassSize = 30;

/** Characters of a written class such as `[a-z]` that count as one. */
const charactersInOne = 4;

/** Exact sizes beyond this do not matter. */
const enough = 1e9;

/** The token at `at`: a character, an escape, a class with its brackets, a quotation or a repetition. */
function tokenAt(text: string, at: number): string {
  for (const pattern of tokens) {
    pattern.lastIndex = at;
    const [token] = pattern.exec(text) ?? [];
    if (token !== undefined) return token;
  }
  return text.slice(at, at + 1);
}

const tokens: readonly RegExp[] = [
  /\\Q[^]*?(?:\\E|$)/y,
  /\\[pP](?:\{[^}]*\}|[^])?/y,
  /\\[^]/y,
  /\[\^?\]?(?:\[:\^?[a-z]+:\]|\\[^]|[^\]\\])*\]?/y,
  // With a leading zero, it is no repetition.
  /\{(?:0|[1-9]\d*)(?:,(?:0|[1-9]\d*)?)?\}/y,
];

function isRepetition(token: string): boolean {
  return token === '*' || token === '+' || token === '?' || /^\{\d/.test(token);
}

/** `x{2,}` is two copies and a repeating one. */
function timesOf(token: string): number {
  const numbers = [...token.matchAll(/\d+/g)].map(([digits]) => Number(digits));
  const isOpen = token.includes(',}') ? 1 : 0;
  return Math.max(1, ...numbers) * (token.includes(',') ? 2 : 1) + isOpen;
}

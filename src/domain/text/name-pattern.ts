/** Names that people type: exact ones, patterns, and mistyped ones. */

import { RE2JS } from 're2js';

/** Whether a container's name (without the leading slash) matches. */
export type NamePattern = (name: string) => boolean;

/**
 * Reads a text from a user that names containers: an exact name, or a pattern for the whole name in the syntax of
 * https://github.com/google/re2/wiki/Syntax. An invalid or too large pattern counts as an exact name only. The text may
 * come from a request, so matching takes time linear in the name, with a bounded number of steps per character.
 */
export function namePattern(text: string): NamePattern {
  const exact = nameIn(text);
  const pattern = compile(exact);
  return pattern === undefined ? (name) => name === exact : (name) => name === exact || pattern.testExact(name);
}

/** Whether any of them matches the name. */
export function anyOf(patterns: readonly NamePattern[]): NamePattern {
  return (name) => patterns.some((matches) => matches(name));
}

/** The cost of all patterns, in instructions. Infinite if one of them is too large. */
export function sizeOfPatterns(texts: readonly string[]): number {
  return texts.map(nameIn).reduce((sum, text) => sum + (isPlain(text) ? 0 : boundedSize(text)), 0);
}

/** A pattern of bounded size in the same syntax. */
export type BoundedPattern = {
  /** Whether it is found anywhere in the text. */
  readonly isIn: (text: string) => boolean;
  /** The groups of a match of the whole text, `''` for unused ones. Undefined without a match. */
  readonly groupsOf: (text: string) => readonly string[] | undefined;
  readonly groupCount: number;
};

/** The pattern, or why it cannot be used. Matching takes time linear in the text. */
export function boundedPattern(text: string): BoundedPattern | { readonly fault: string } {
  if (boundedSize(text) === Infinity) return { fault: 'the pattern is too large' };
  let pattern: RE2JS;
  try {
    pattern = RE2JS.compile(text);
  } catch {
    return { fault: 'it is not a pattern of RE2, which has neither backreferences nor lookaround' };
  }
  const groupCount = pattern.groupCount();
  const groupsOf = (whole: string): readonly string[] | undefined => {
    const matcher = pattern.matcher(whole);
    if (!matcher.matches()) return undefined;
    return Array.from({ length: groupCount }, (_, at) => matcher.group(at + 1) ?? '');
  };
  return { isIn: (whole) => pattern.test(whole), groupsOf, groupCount };
}

/** Room for fifty names joined by `|`. */
const maxPatternLength = 1000;

/**
 * In instructions: about one per character, but `(ab){1000}` has two thousand. Beyond this, one match can take 100 ms.
 */
const maxProgramSize = 1500;

function nameIn(text: string): string {
  return text.trim().replace(/^\//, '');
}

/** Most container names are plain: they match only themselves. */
function isPlain(text: string): boolean {
  return /^[\w-]*$/.test(text);
}

/** Size of a pattern before its compilation, the slow part. */
function boundedSize(text: string): number {
  const size = text.length > maxPatternLength ? Infinity : patternSize(text);
  return size > maxProgramSize ? Infinity : size;
}

function compile(text: string): RE2JS | undefined {
  if (isPlain(text) || boundedSize(text) === Infinity) return undefined;
  try {
    return RE2JS.compile(text);
  } catch {
    return undefined;
  }
}

/**
 * The candidate that a mistyped name most likely means. Undefined if none is near: more than half (or `maxShare`)
 * of the longer one would have to change.
 */
export function nearest<Name extends string>(
  typed: string,
  candidates: readonly Name[],
  maxShare = 0.5,
): Name | undefined {
  if (typed.length > maxTypedLength) return undefined;
  let best: Name | undefined;
  let bestShare = maxShare;
  for (const candidate of candidates) {
    const share = editDistance(typed.toLowerCase(), candidate.toLowerCase()) / Math.max(typed.length, candidate.length);
    if (share < bestShare || (share === bestShare && best === undefined)) [best, bestShare] = [candidate, share];
  }
  return best;
}

/**
 * The number of letters to add, remove, replace or swap with their neighbour. The time grows with the product of the
 * lengths: https://en.wikipedia.org/wiki/Damerau%E2%80%93Levenshtein_distance
 */
export function editDistance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const same = from[row - 1] === to[column - 1];
      const swapped = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      const costs = [at(last, column) + 1, at(current, column - 1) + 1, at(last, column - 1) + (same ? 0 : 1)];
      if (swapped) costs.push(at(beforeLast, column - 2) + 1);
      current.push(Math.min(...costs));
    }
    [beforeLast, last] = [last, current];
  }
  return at(last, to.length);
}

const maxTypedLength = 64;

function at(row: readonly number[], column: number): number {
  return row[column] ?? Infinity;
}

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

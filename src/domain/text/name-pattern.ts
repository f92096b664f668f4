import { RE2JS } from 're2js';
import { patternSize } from './pattern-size.ts';

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
const longestPattern = 1000;

/**
 * In instructions: about one per character, but `(ab){1000}` has two thousand. Beyond this, one match can take 100 ms.
 */
const largestProgram = 1500;

function nameIn(text: string): string {
  return text.trim().replace(/^\//, '');
}

/** Most container names are plain: they match only themselves. */
function isPlain(text: string): boolean {
  return /^[\w-]*$/.test(text);
}

/** Size of a pattern before its compilation, the slow part. */
function boundedSize(text: string): number {
  const size = text.length > longestPattern ? Infinity : patternSize(text);
  return size > largestProgram ? Infinity : size;
}

function compile(text: string): RE2JS | undefined {
  if (isPlain(text) || boundedSize(text) === Infinity) return undefined;
  try {
    return RE2JS.compile(text);
  } catch {
    return undefined;
  }
}

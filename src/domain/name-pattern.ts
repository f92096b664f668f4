import { RE2JS } from 're2js';

/** Whether a container's name (without the leading slash) is meant. */
export type NamePattern = (name: string) => boolean;

/**
 * What a person wrote to name containers: an exact name, or a pattern for the whole of a name in the
 * syntax of https://github.com/google/re2/wiki/Syntax. A pattern that does not compile, or is too
 * big, is an exact name only. The text may come from a request: matching takes time linear in the
 * name, and the number of steps for each character is bounded too.
 */
export function namePattern(text: string): NamePattern {
  const exact = text.trim().replace(/^\//, '');
  const pattern = compile(exact);
  return pattern === undefined ? (name) => name === exact : (name) => name === exact || pattern.testExact(name);
}

/** Whether any of them means the name. */
export function anyOf(patterns: readonly NamePattern[]): NamePattern {
  return (name) => patterns.some((matches) => matches(name));
}

/** Room for fifty names joined by `|`. */
const longestPattern = 1000;

/** Instructions: about one a character, but `(ab){1000}` has two thousand. Beyond, one match can take 100 ms. */
const largestProgram = 1500;

function compile(text: string): RE2JS | undefined {
  if (text.length > longestPattern) return undefined;
  try {
    const pattern = RE2JS.compile(text);
    return pattern.programSize() <= largestProgram ? pattern : undefined;
  } catch {
    return undefined;
  }
}

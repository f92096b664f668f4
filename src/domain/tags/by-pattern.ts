import { kindOfStep } from './by-version.ts';
import { compareNumbers } from './pre-release.ts';
import type { TagCandidate, TagPolicy } from './tag-policy.ts';

type RegexPolicy = Extract<TagPolicy, { kind: 'regex' }>;

/**
 * Tags that the pattern matches and whose groups have higher numbers, best first. Undefined: the pattern does not match
 * the current tag, so no tag can be compared with it.
 */
export function candidatesByPattern(
  current: string,
  tags: readonly string[],
  { pattern }: RegexPolicy,
): readonly TagCandidate[] | undefined {
  const own = numbersOf(pattern.groupsOf(current));
  if (own === undefined) return undefined;
  const higher: { readonly tag: string; readonly numbers: readonly number[] }[] = [];
  for (const tag of new Set(tags)) {
    const numbers = numbersOf(pattern.groupsOf(tag));
    if (numbers !== undefined && compareNumbers(numbers, own) > 0) higher.push({ tag, numbers });
  }
  higher.sort((one, other) => compareNumbers(other.numbers, one.numbers) || (one.tag < other.tag ? -1 : 1));
  return higher.map(({ tag, numbers }) => ({ tag, kind: kindOfStep(own, numbers) }));
}

/** All numbers in the groups, in order. Undefined without any, or if one is too long to be exact. */
function numbersOf(groups: readonly string[] | undefined): readonly number[] | undefined {
  const numbers = (groups ?? []).flatMap((group) => group.match(/\d+/g) ?? []).map(Number);
  return numbers.length > 0 && numbers.every(Number.isSafeInteger) ? numbers : undefined;
}

import type { BoundedPattern } from '../text/name-pattern.ts';
import { quoted } from '../text/printable.ts';
import type { TagCandidate, TagFilter, TagPolicy, VersionKind } from './tag-policy.ts';
import { compareNumbers, comparePreReleases } from './pre-release.ts';
import { compareSuffixes, mayFollow, readSuffix } from './suffix.ts';
import { parseVersionTag, type VersionTag } from './version-tag.ts';

export type TagQuestion = {
  readonly current: string;
  /** All tags of the repository, in any order. */
  readonly tags: readonly string[];
  readonly policy: TagPolicy;
  /** Only these; absent: all. */
  readonly include?: TagFilter;
  readonly exclude?: TagFilter;
  /** Called before each comparison of a tag with a pattern, because patterns of labels can be slow. May throw to end them. */
  readonly onMatch?: () => void;
};

/**
 * Best first, so that the next one can be used if an image is missing for a platform. `because` is the reason if no
 * tags were compared.
 */
export type TagChoice = { readonly candidates: readonly TagCandidate[]; readonly because?: string };

/** The higher tags that the policy allows. None is a downgrade. */
export function chooseTag({ current, tags, policy, include, exclude, onMatch = () => {} }: TagQuestion): TagChoice {
  if (policy.kind === 'digest') return { candidates: [], because: 'its policy follows the digest of its tag' };
  const found =
    policy.kind === 'regex'
      ? candidatesByPattern(current, tags, policy.pattern, onMatch)
      : candidatesByVersion(current, tags, policy.kind);
  if (found === undefined) return { candidates: [], because: whyNone(current, policy) };
  const isMeant = ({ tag }: TagCandidate): boolean => {
    onMatch();
    return include?.(tag) !== false && exclude?.(tag) !== true;
  };
  return { candidates: found.filter(isMeant) };
}

function whyNone(current: string, policy: TagPolicy): string {
  return policy.kind === 'regex'
    ? `the pattern of its policy does not match its own tag ${quoted(current)}`
    : `its tag ${quoted(current)} names no version, so only its digest is followed`;
}

/**
 * Tags with a higher version and the same prefix, form, count of numbers and suffix, best first. A pre-release is a
 * candidate only for a pre-release of the same numbers. Undefined: the current tag is not a version.
 */
function candidatesByVersion(
  current: string,
  tags: readonly string[],
  most: VersionKind,
): readonly TagCandidate[] | undefined {
  const own = parseVersionTag(current);
  if (own === undefined) return undefined;
  const suffixIn = rememberSuffixes();
  const higher = new Map<string, VersionTag>();
  for (const tag of tags) {
    if (!tag.startsWith(own.prefix) || tag === current) continue;
    const version = parseVersionTag(tag, suffixIn);
    if (version !== undefined && isSuccessor(own, version, most)) higher.set(tag, version);
  }
  return [...higher.values()]
    .sort(bestFirst)
    .map(({ tag, numbers }) => ({ tag, kind: kindOfStep(own.numbers, numbers) }));
}

/** Thousands of tags of one listing share a few suffixes. */
function rememberSuffixes(): typeof readSuffix {
  const known = new Map<string, ReturnType<typeof readSuffix>>();
  return (text) => {
    if (known.has(text)) return known.get(text);
    const suffix = readSuffix(text);
    known.set(text, suffix);
    return suffix;
  };
}

/** The first number that differs. The step from a pre-release to its release is a patch. */
function kindOfStep(from: readonly number[], to: readonly number[]): VersionKind {
  const at = to.findIndex((number, index) => number !== from[index]);
  if (at === 0) return 'major';
  return at === 1 ? 'minor' : 'patch';
}

/** The number of leading numbers that stay the same. */
const kept: Readonly<Record<VersionKind, number>> = { major: 0, minor: 1, patch: 2 };

/** The cheap comparisons come first, because most tags fail them. */
function isSuccessor(own: VersionTag, next: VersionTag, most: VersionKind): boolean {
  if (next.prefix !== own.prefix || next.form !== own.form || next.numbers.length !== own.numbers.length) return false;
  for (let at = 0; at < kept[most]; at += 1) if (next.numbers[at] !== own.numbers[at]) return false;
  const difference = compareNumbers(next.numbers, own.numbers);
  if (difference < 0 || !mayFollow(own.suffix, next.suffix)) return false;
  if (difference > 0) return next.preRelease === undefined;
  return own.preRelease !== undefined && (comparePreReleases(next.preRelease, own.preRelease) ?? 0) > 0;
}

/** Independent of the order of the listing: equal versions (`1.2`, `1.02`) are ordered by their text. */
function bestFirst(one: VersionTag, other: VersionTag): number {
  return (
    compareNumbers(other.numbers, one.numbers) ||
    (comparePreReleases(other.preRelease, one.preRelease) ?? 0) ||
    compareSuffixes(one.suffix, other.suffix) ||
    one.tag.length - other.tag.length ||
    (one.tag < other.tag ? -1 : 1)
  );
}

/**
 * Tags that the pattern matches and whose groups have higher numbers, best first. Undefined: the pattern does not match
 * the current tag, so no tag can be compared with it.
 */
function candidatesByPattern(
  current: string,
  tags: readonly string[],
  pattern: BoundedPattern,
  onMatch: () => void,
): readonly TagCandidate[] | undefined {
  const own = numbersOf(pattern.groupsOf(current));
  if (own === undefined) return undefined;
  const higher: { readonly tag: string; readonly numbers: readonly number[] }[] = [];
  for (const tag of new Set(tags)) {
    onMatch();
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

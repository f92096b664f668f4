import { compareNumbers, comparePreReleases } from './pre-release.ts';
import { compareSuffixes, mayFollow, readSuffix } from './suffix.ts';
import type { TagCandidate, VersionKind } from './tag-policy.ts';
import { parseVersionTag, type VersionTag } from './version-tag.ts';

/**
 * Tags with a higher version and the same prefix, form, count of numbers and suffix, best first. A pre-release is a
 * candidate only for a pre-release of the same numbers. Undefined: the current tag is not a version.
 */
export function candidatesByVersion(
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
export function kindOfStep(from: readonly number[], to: readonly number[]): VersionKind {
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

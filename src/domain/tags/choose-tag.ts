import type { BoundedPattern } from '../text/name-pattern.ts';
import { quoted } from '../text/printable.ts';
import type { TagCandidate, TagFilter, TagPolicy, VersionKind } from './tag-policy.ts';
import { compareNumbers, compareStages } from './stage.ts';
import { compareSuffixes, mayFollow } from './suffix.ts';
import { parseVersionTag, readEnd, type VersionTag } from './version-tag.ts';

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
 * Best first, so that the next one can be used if an image is missing for a platform. `because`: there are none, because
 * the tags cannot be compared, or because of what it says about higher versions.
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
  const candidates = found.candidates.filter(isMeant);
  if (candidates.length > 0) return { candidates };
  const [leftOut] = found.candidates;
  const because =
    leftOut === undefined
      ? found.because
      : `${quoted(leftOut.tag)} is higher, but left out by tag-include or tag-exclude`;
  return { candidates, ...(because !== undefined && { because }) };
}

function whyNone(current: string, policy: TagPolicy): string {
  return policy.kind === 'regex'
    ? `the pattern of its policy does not match its own tag ${quoted(current)}`
    : `its tag ${quoted(current)} names no version, so only its digest is followed`;
}

type Found = {
  readonly candidates: readonly TagCandidate[];
  /** About the higher versions that are no candidates; undefined without any. */
  readonly because: string | undefined;
};

/**
 * Tags with a higher version and the same prefix, form, count of numbers and suffix, best first. A pre-release is a
 * candidate only for a pre-release of the same numbers, or where the repository has no releases. Undefined: the current
 * tag is not a version.
 */
function candidatesByVersion(current: string, tags: readonly string[], widest: VersionKind): Found | undefined {
  const own = parseVersionTag(current);
  if (own === undefined) return undefined;
  const endIn = rememberEnds();
  const bestFirst = bestFirstAfter(own);
  const higher = new Map<string, VersionTag>();
  const early = new Map<string, VersionTag>();
  const refused = new Map<Refusal, VersionTag>();
  const refuse = (version: VersionTag, refusal: Refusal) => {
    const highest = refused.get(refusal);
    if (highest === undefined || bestFirst(version, highest) < 0) refused.set(refusal, version);
  };
  const counts: VersionTag[] = [];
  let hasReleases = false;
  for (const tag of tags) {
    if (!tag.startsWith(own.prefix) || tag === current) continue;
    const version = parseVersionTag(tag, endIn);
    if (version === undefined || version.prefix !== own.prefix) continue;
    if (version.suffix.shape === own.suffix.shape && isComparable(own, version)) {
      if (own.suffix.bare.length > 0) counts.push(version);
      hasReleases ||= version.stage?.isBefore !== true;
    }
    const judged = judge(own, version, widest);
    if (judged === 'higher') higher.set(tag, version);
    else if (judged === 'pre-release' && isOfOneStage(own, version)) early.set(tag, version);
    else if (judged !== 'lower') refuse(version, judged);
  }
  const isCount = readCounts(own, counts);
  const taken: VersionTag[] = [];
  for (const version of [...higher.values(), ...early.values()]) {
    if (hasReleases && early.has(version.tag)) refuse(version, 'pre-release');
    else if (isCount(version)) taken.push(version);
    else refuse(version, 'number');
  }
  return {
    candidates: taken.sort(bestFirst).map(({ tag, numbers }) => ({ tag, kind: kindOfStep(own.numbers, numbers) })),
    because: describeRefused(own, refused, widest),
  };
}

/**
 * Whether two higher tags have the same numbers up to the first one that the current tag does not share: 20.04.1 and 20.04.2
 * for 4.6.5. Without versions they are never in one line.
 */
export function isOfOneLine(current: string, one: string, other: string): boolean {
  const [own, first, second] = [current, one, other].map((tag) => parseVersionTag(tag));
  if (own === undefined || first === undefined || second === undefined) return false;
  const changed = first.numbers.findIndex((number, at) => number !== own.numbers[at]);
  return changed !== -1 && first.numbers.slice(0, changed + 1).every((number, at) => number === second.numbers[at]);
}

/** Thousands of tags of one listing share a few ends. */
function rememberEnds(): typeof readEnd {
  const known = new Map<string, ReturnType<typeof readEnd>>();
  return (text) => {
    if (known.has(text)) return known.get(text);
    const end = readEnd(text);
    known.set(text, end);
    return end;
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

/** Why a higher version is no candidate, in the order of its interest to users. */
const refusals = ['number', 'suffix', 'count', 'form', 'end', 'pre-release', 'policy'] as const;

type Refusal = (typeof refusals)[number];

/** The cheap comparisons come first, because most tags fail them. */
function judge(own: VersionTag, next: VersionTag, widest: VersionKind): Refusal | 'lower' | 'higher' {
  const isAlike = isComparable(own, next);
  const shared = isAlike ? next.numbers : next.numbers.slice(0, own.numbers.length);
  const difference = compareNumbers(shared, isAlike ? own.numbers : own.numbers.slice(0, shared.length));
  if (difference < 0) return 'lower';
  if (difference === 0) {
    const later = isAlike ? compareStages(next.stage, own.stage) : undefined;
    if (later === 0 && hasHigherEnd(own, next)) return 'end';
    if (later === undefined || later <= 0) return 'lower';
  }
  if (next.form !== own.form) return 'form';
  for (let at = 0; at < kept[widest]; at += 1) if (next.numbers[at] !== own.numbers[at]) return 'policy';
  if (!isAlike) return 'count';
  if (!mayFollow(own.suffix, next.suffix)) return 'suffix';
  if (isYearAndMonth(next) && !isInYears(own)) return 'form';
  return difference > 0 && next.stage?.isBefore === true ? 'pre-release' : 'higher';
}

/** Whether the ends differ in numbers only, and the first of these is higher: a later build, or another program's version. */
function hasHigherEnd(own: VersionTag, next: VersionTag): boolean {
  if (own.written.replaceAll(/\d+/g, '0') !== next.written.replaceAll(/\d+/g, '0') || own.suffix.shape.includes('@'))
    return false;
  const [from, to] = [own, next].map(({ written }) => (written.match(/\d+/g) ?? []).map(Number));
  return compareNumbers(to ?? [], from ?? []) > 0;
}

/** A date may have further numbers behind it: `20240627.1` follows `20240627`. */
function isComparable(own: VersionTag, next: VersionTag): boolean {
  if (next.form !== own.form) return false;
  return next.numbers.length === own.numbers.length || /^0000-?00-?00$/.test(own.form);
}

/** Whether both come before a release, in the same stage, and the second is not a candidate for it. */
function isOfOneStage(own: VersionTag, next: VersionTag): boolean {
  return own.stage?.isBefore === true && next.stage?.word === own.stage.word && next.stage.candidate === undefined;
}

/** `20.04.1`: no version has a number with a leading zero behind a year. */
function isYearAndMonth({ tag, prefix }: VersionTag): boolean {
  return /^[1-3]\d\.0[1-9](?!\d)/.test(tag.slice(prefix.length));
}

function isInYears({ numbers: [year = 0, month = 0] }: VersionTag): boolean {
  return year >= 10 && year < 40 && month <= 12;
}

/**
 * Whether a number without a word may change to that of another tag. The number of another program repeats: Node-RED's
 * `-18`, `-20` and `-22` are versions of Node. A build begins at 0 or 1 with each version, or rises with the versions of
 * a line.
 */
function readCounts(own: VersionTag, all: readonly VersionTag[]): (next: VersionTag) => boolean {
  const byVersion = new Map<string, { readonly version: VersionTag; readonly counts: Set<number> }>();
  for (const version of [own, ...all]) {
    const key = keyOf(version);
    const { counts } = byVersion.get(key) ?? { counts: new Set<number>() };
    byVersion.set(key, { version, counts: counts.add(version.suffix.bare[0] ?? 0) });
  }
  const rising = [...byVersion.values()].sort((one, other) => compareVersions(one.version, other.version));
  return (next) => {
    const [number = 0, ...others] = next.suffix.bare;
    if (compareNumbers(next.suffix.bare, own.suffix.bare) === 0) return true;
    if (others.length > 0) return false;
    const counts = byVersion.get(keyOf(next))?.counts ?? new Set();
    if (Array.from({ length: number }, (_, at) => at + 1).every((count) => counts.has(count))) return true;
    const changed = next.numbers.findIndex((part, at) => part !== own.numbers[at]);
    const line = rising.filter(
      ({ version }) => !version.numbers.slice(0, changed).some((part, at) => part !== own.numbers[at]),
    );
    return (
      line.length >= minLine &&
      line.every(({ counts: later }, at) => at === 0 || Math.min(...later) > Math.max(...(line[at - 1]?.counts ?? [])))
    );
  };
}

/** Fewer versions may rise together with another program by chance. */
const minLine = 4;

function keyOf({ numbers, stage }: VersionTag): string {
  return JSON.stringify([numbers, stage]);
}

/** Without the suffix. */
function compareVersions(one: VersionTag, other: VersionTag): number {
  return compareNumbers(one.numbers, other.numbers) || (compareStages(one.stage, other.stage) ?? 0);
}

/** Independent of the order of the listing: equal versions (`1.2`, `1.02`) are ordered by their text. */
function bestFirstAfter(own: VersionTag): (one: VersionTag, other: VersionTag) => number {
  return (one, other) =>
    compareVersions(other, one) ||
    compareSuffixes(one.suffix, other.suffix, own.suffix) ||
    one.tag.length - other.tag.length ||
    (one.tag < other.tag ? -1 : 1);
}

function describeRefused(
  own: VersionTag,
  refused: ReadonlyMap<Refusal, VersionTag>,
  widest: VersionKind,
): string | undefined {
  const told = refusals.flatMap((refusal) => {
    const version = refused.get(refusal);
    return version === undefined
      ? []
      : [
          `${quoted(version.tag)} is ${refusal === 'end' ? '' : 'higher, but '}${because[refusal](own, version, widest)}`,
        ];
  });
  return told.length === 0 ? undefined : told.slice(0, maxTold).join('; ');
}

/** More would hide the reason that matters. */
const maxTold = 2;

const because: Readonly<Record<Refusal, (own: VersionTag, next: VersionTag, widest: VersionKind) => string>> = {
  number: (own, { suffix: { bare } }) =>
    `the number ${bare.find((number, at) => number !== own.suffix.bare[at])} at its end may be the version of another program`,
  suffix: (own, next) => `ends in ${quoted(next.written)}, not in ${quoted(own.written)}`,
  count: (own, next) => `has ${next.numbers.length} numbers, not ${own.numbers.length}`,
  end: () => 'the same version with higher numbers at its end',
  form: (own) => (own.form === 'version' ? 'is a date' : 'is dated in another way'),
  'pre-release': () => 'is a pre-release',
  policy: (own, next, widest) => `is a ${kindOfStep(own.numbers, next.numbers)} step, and the policy is ${widest}`,
};

/**
 * Tags that the pattern matches and whose groups have higher numbers, best first. Undefined: the pattern does not match
 * the current tag, so no tag can be compared with it.
 */
function candidatesByPattern(
  current: string,
  tags: readonly string[],
  pattern: BoundedPattern,
  onMatch: () => void,
): Found | undefined {
  const own = numbersOf(pattern.groupsOf(current));
  if (own === undefined) return undefined;
  const higher: { readonly tag: string; readonly numbers: readonly number[] }[] = [];
  for (const tag of new Set(tags)) {
    onMatch();
    const numbers = numbersOf(pattern.groupsOf(tag));
    if (numbers !== undefined && compareNumbers(numbers, own) > 0) higher.push({ tag, numbers });
  }
  higher.sort((one, other) => compareNumbers(other.numbers, one.numbers) || (one.tag < other.tag ? -1 : 1));
  return {
    candidates: higher.map(({ tag, numbers }) => ({ tag, kind: kindOfStep(own, numbers) })),
    because: undefined,
  };
}

/** All numbers in the groups, in order. Undefined without any, or if one is too long to be exact. */
function numbersOf(groups: readonly string[] | undefined): readonly number[] | undefined {
  const numbers = (groups ?? []).flatMap((group) => group.match(/\d+/g) ?? []).map(Number);
  return numbers.length > 0 && numbers.every(Number.isSafeInteger) ? numbers : undefined;
}

import {
  bestFirstAfter,
  compareNumbers,
  compareStages,
  compareVersions,
  createVersionReader,
  mayFollow,
  parseVersionTag,
  type VersionKind,
  type VersionTag,
} from './version-tag.ts';
import type { BoundedPattern } from '../text/name-pattern.ts';
import { quoted } from '../text/printable.ts';

export type TagQuestion = {
  readonly current: string;
  /** All tags of the repository, one per line, in any order. */
  readonly tags: string;
  readonly policy: TagPolicy;
  /** Only these; absent: all. */
  readonly include?: BoundedPattern['isIn'];
  readonly exclude?: BoundedPattern['isIn'];
  /** The highest tag of the last check, empty if there was none. Undefined: there was no check. */
  readonly highestBefore?: string | undefined;
};

/**
 * The tags that a container may move to. `digest`: none, only new content of its own tag. `patch`, `minor`, `major`:
 * higher versions up to that kind. `regex`: tags that the pattern matches as a whole, in the order of the numbers in
 * its groups.
 */
export type TagPolicy =
  | { readonly kind: 'digest' }
  | { readonly kind: VersionKind }
  | { readonly kind: 'regex'; readonly text: string; readonly pattern: BoundedPattern };

/**
 * Best first, so that the next one can be used if an image is missing for a platform; at most 1000. The first `newCount`
 * are higher than the highest tag of the last check. `because`: there are none, because the tags cannot be compared, or
 * because of what it says about higher versions.
 */
export type TagChoice = {
  /** Tags that may replace the current one, each with the kind of the step. */
  readonly candidates: readonly { readonly tag: string; readonly kind: VersionKind }[];
  readonly newCount: number;
  readonly because?: string;
};

/** Work that yields after each bit of it: after some hundred tags, or one comparison with patterns. */
type Steps<Result> = Generator<undefined, Result, undefined>;

/**
 * The higher tags that the policy allows. None is a downgrade. A list, and the patterns of a label, can be large: the
 * caller decides after each `yield` when to go on.
 */
export function* chooseTag(question: TagQuestion): Steps<TagChoice> {
  const { current, policy } = question;
  if (policy.kind === 'digest') return noChoice('its policy follows the digest of its tag');
  if (policy.kind === 'regex') {
    const why = `the pattern of its policy does not match its own tag ${quoted(current)}`;
    const found = yield* findByPattern(question, policy.pattern);
    return found === undefined ? noChoice(why) : yield* chooseBest(found, question);
  }
  const why = `its tag ${quoted(current)} names no version, so only its digest is followed`;
  const found = yield* findByVersion(question, policy.kind);
  return found === undefined ? noChoice(why) : yield* chooseBest(found, question);
}

function noChoice(because: string): TagChoice {
  return { candidates: [], newCount: 0, because };
}

/** Some tenths of a millisecond. */
const tagsPerYield = 256;

/** More than the old versions of a repository that have to be passed over. */
const maxCandidates = 1000;

type RankedTag = { readonly tag: string; readonly numbers: readonly number[] };

/** The higher tags before the filters, in no order. */
type Found<Ranked extends RankedTag> = {
  readonly higher: readonly Ranked[];
  readonly own: readonly number[];
  /** Below 0: the first is better. 0: they are the same tag. */
  readonly compare: (one: Ranked, other: Ranked) => number;
  /** Undefined for a tag that is no higher one. */
  readonly read: (tag: string) => Ranked | undefined;
  /** About the higher versions that are no candidates; undefined without any. */
  readonly because: string | undefined;
};

function* chooseBest<Ranked extends RankedTag>(found: Found<Ranked>, question: TagQuestion): Steps<TagChoice> {
  const { higher, own, compare, read } = found;
  const { include, exclude, highestBefore } = question;
  const hasFilter = include !== undefined || exclude !== undefined;
  const isMeant = ({ tag }: Ranked): boolean => include?.(tag) !== false && exclude?.(tag) !== true;
  const best: Ranked[] = [];
  let leftOut: Ranked | undefined;
  let steps = 0;
  for (const ranked of higher) {
    if (hasFilter || (steps += 1) % tagsPerYield === 0) yield;
    const place = placeAmong(best, ranked, compare);
    if (place === undefined || place >= maxCandidates) continue;
    if (isMeant(ranked)) {
      best.splice(place, 0, ranked);
      if (best.length > maxCandidates) best.pop();
    } else if (leftOut === undefined || compare(ranked, leftOut) < 0) leftOut = ranked;
  }
  const candidates = best.map(({ tag, numbers }) => ({ tag: copyOf(tag), kind: kindOfStep(own, numbers) }));
  const why = leftOut && `${quoted(leftOut.tag)} is higher, but left out by tag-include or tag-exclude`;
  const because = candidates.length > 0 ? undefined : (why ?? found.because);
  return { candidates, newCount: countNew(), ...(because !== undefined && { because: copyOf(because) }) };

  /** Tags above the highest one of the last check, which may be gone. */
  function countNew(): number {
    if (highestBefore === undefined) return 0;
    if (highestBefore === '') return best.length;
    const before = read(highestBefore);
    if (before === undefined || !isMeant(before)) return 0;
    return best.filter((ranked) => compare(ranked, before) < 0).length;
  }
}

/** A part of a text keeps the whole text in memory. */
function copyOf(part: string): string {
  return Array.from(part).join('');
}

/** The place of a tag among the best ones. Undefined if it is one of them. */
function placeAmong<Ranked>(
  best: readonly Ranked[],
  ranked: Ranked,
  compare: (one: Ranked, other: Ranked) => number,
): number | undefined {
  let [from, to] = [0, best.length];
  while (from < to) {
    const middle = Math.floor((from + to) / 2);
    const other = best[middle];
    const difference = other === undefined ? 0 : compare(ranked, other);
    if (difference === 0) return undefined;
    if (difference < 0) to = middle;
    else from = middle + 1;
  }
  return from;
}

/**
 * Tags with a higher version and the same prefix, form, count of numbers and suffix. A pre-release is a candidate only
 * for a pre-release of the same numbers, or where the repository has no releases. Undefined: the current tag is not a
 * version.
 */
function* findByVersion({ current, tags }: TagQuestion, widest: VersionKind): Steps<Found<VersionTag> | undefined> {
  const own = parseVersionTag(current);
  if (own === undefined) return undefined;
  const readVersion = createVersionReader();
  const compare = bestFirstAfter(own);
  const higher = new Map<string, VersionTag>();
  const early = new Map<string, VersionTag>();
  const refused = new Map<Refusal, VersionTag>();
  const refuse = (version: VersionTag, refusal: Refusal) => {
    const highest = refused.get(refusal);
    if (highest === undefined || compare(version, highest) < 0) refused.set(refusal, version);
  };
  const counts: VersionTag[] = [];
  /** Tags that the repository also has as unstable: Tailscale's `unstable-v1.73.50` and `v1.73.50` are one image. */
  const unstable = new Set<string>();
  let hasReleases = false;
  const parse = (tag: string): VersionTag | undefined => {
    if (!tag.startsWith(own.prefix) || tag === current) return undefined;
    const version = readVersion(tag);
    return version?.prefix === own.prefix ? version : undefined;
  };
  const words = withoutNumbers(own.prefix);
  /** Whether another number may be before the version of a tag: `pg16-v0.4.0` beside `pg14-v0.2.0`. */
  const isBeside = (tag: string) =>
    words !== own.prefix && !tag.startsWith(own.prefix) && tag.startsWith(words.slice(0, words.indexOf('#')));
  let steps = 0;
  for (const tag of tags.split('\n')) {
    if ((steps += 1) % tagsPerYield === 0) yield;
    if (tag.startsWith(unstablePrefix)) unstable.add(tag.slice(unstablePrefix.length));
    const version = parse(tag);
    if (version === undefined) {
      const id = idAfter(own, tag);
      if (id !== undefined) refuse(id, 'id');
      const beside = isBeside(tag) ? readVersion(tag) : undefined;
      if (beside !== undefined && withoutNumbers(beside.prefix) === words && judge(own, beside, widest) === 'higher')
        refuse(beside, 'prefix');
      continue;
    }
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
  const isUnstable = ({ tag }: VersionTag) => unstable.has(tag) && !unstable.has(current);
  const taken: VersionTag[] = [];
  for (const version of [...higher.values(), ...early.values()]) {
    if ((steps += 1) % tagsPerYield === 0) yield;
    if (isUnstable(version) || (hasReleases && early.has(version.tag))) refuse(version, 'pre-release');
    else if (isCount(version)) taken.push(version);
    else refuse(version, 'number');
  }
  return {
    higher: taken,
    own: own.numbers,
    compare,
    read(tag) {
      const version = parse(tag);
      if (version === undefined || isUnstable(version)) return undefined;
      const judged = judge(own, version, widest);
      const isEarly = judged === 'pre-release' && isOfOneStage(own, version) && !hasReleases;
      return (judged === 'higher' || isEarly) && isCount(version) ? version : undefined;
    },
    because: describeRefused(own, refused, widest),
  };
}

/** With `#`, which is in no tag, for each number. */
function withoutNumbers(prefix: string): string {
  return prefix.replaceAll(/\d+(?:\.\d+)*/g, '#');
}

/** The tag with a number that is too long for a version, behind one that is nearly so: `1000000` after `999999`. */
function idAfter(own: VersionTag, tag: string): VersionTag | undefined {
  const { prefix, numbers, form, written } = own;
  if (numbers.length !== 1 || form !== 'version' || (numbers[0] ?? 0) < 100_000) return undefined;
  if (!tag.startsWith(prefix) || !tag.endsWith(written)) return undefined;
  const digits = tag.slice(prefix.length, tag.length - written.length);
  return /^[1-9]\d{6,14}$/.test(digits) ? { ...own, tag, numbers: [Number(digits)] } : undefined;
}

const unstablePrefix = 'unstable-';

/** The first number that differs. The step from a pre-release to its release is a patch. */
function kindOfStep(from: readonly number[], to: readonly number[]): VersionKind {
  const at = to.findIndex((number, index) => number !== from[index]);
  if (at === 0) return 'major';
  return at === 1 ? 'minor' : 'patch';
}

/** Why a higher version is no candidate, in the order of its interest to users. */
const refusals = ['number', 'suffix', 'prefix', 'count', 'form', 'end', 'id', 'pre-release', 'policy'] as const;

type Refusal = (typeof refusals)[number];

/** The cheap comparisons come first, because most tags fail them. */
function judge(own: VersionTag, next: VersionTag, widest: VersionKind): Refusal | 'lower' | 'higher' {
  const isAlike = isComparable(own, next);
  const shared = isAlike ? next.numbers : next.numbers.slice(0, own.numbers.length);
  const difference = compareNumbers(shared, isAlike ? own.numbers : own.numbers.slice(0, shared.length));
  if (difference < 0) return 'lower';
  if (difference === 0) {
    if (!isAlike && isReleaseOf(own, next)) return 'count';
    const later = isAlike ? compareStages(next.stage, own.stage) : undefined;
    if (later === 0 && hasHigherEnd(own, next)) return 'end';
    if (later === undefined || later <= 0) return 'lower';
  }
  if (next.form !== own.form) return 'form';
  const kept = { major: 0, minor: 1, patch: 2 }[widest];
  if (next.numbers.slice(0, kept).some((number, at) => number !== own.numbers[at])) return 'policy';
  if (!isAlike) return 'count';
  if (!mayFollow(own.suffix, next.suffix)) return 'suffix';
  if (isYearAndMonth(next) && !isInYears(own)) return 'form';
  return difference > 0 && next.stage?.isBefore === true ? 'pre-release' : 'higher';
}

/** `5.0.0` is the release of `5.0-rc1`, in a longer form. */
function isReleaseOf(own: VersionTag, next: VersionTag): boolean {
  return own.stage?.isBefore === true && next.stage?.isBefore !== true && mayFollow(own.suffix, next.suffix);
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

/** Whether the numbers are a date or begin with a year. */
function isDated({ form }: VersionTag): boolean {
  return form !== 'version' && form !== 'update';
}

function isInYears({ numbers: [year = 0, month = 0] }: VersionTag): boolean {
  return year >= 10 && year < 40 && month <= 12;
}

/**
 * Whether a number without a word may change to that of another tag. The number of another program repeats: Node-RED's
 * `-18`, `-20` and `-22` are versions of Node. A build begins at 0 or 1 with each version, rises with the versions of a
 * line, or is in one version only.
 */
function readCounts(own: VersionTag, versions: readonly VersionTag[]): (next: VersionTag) => boolean {
  const byVersion = new Map<string, { readonly version: VersionTag; readonly counts: Set<number> }>();
  for (const version of [own, ...versions]) {
    const key = keyOf(version);
    const { counts } = byVersion.get(key) ?? { counts: new Set<number>() };
    byVersion.set(key, { version, counts: counts.add(version.suffix.bare[0] ?? 0) });
  }
  const rising = [...byVersion.values()].sort((one, other) => compareVersions(one.version, other.version));
  const known = new Map<number, boolean>();
  /** Whether the numbers rise with the versions that share so many numbers with the current one. */
  const isRising = (changed: number): boolean => {
    const line = rising.filter(
      ({ version }) => !version.numbers.slice(0, changed).some((part, at) => part !== own.numbers[at]),
    );
    return (
      line.length >= minLine &&
      line.every(({ counts: later }, at) => at === 0 || Math.min(...later) > Math.max(...(line[at - 1]?.counts ?? [])))
    );
  };
  const isBuild = areBuilds(
    own,
    rising.map(({ counts }) => counts),
  );
  return (next) => {
    const [number = 0, ...others] = next.suffix.bare;
    if (compareNumbers(next.suffix.bare, own.suffix.bare) === 0) return true;
    if (others.length > 0) return false;
    if (isBuild) return true;
    const counts = byVersion.get(keyOf(next))?.counts ?? new Set();
    let count = 1;
    while (count <= number && counts.has(count)) count += 1;
    if (count > number) return true;
    const changed = next.numbers.findIndex((part, at) => part !== own.numbers[at]);
    const rises = known.get(changed) ?? isRising(changed);
    known.set(changed, rises);
    return rises;
  };
}

/**
 * Whether the numbers count the builds of a repository, as Zammad's `6.3.1-58`, `-61` and `-72` do: one version has many, and
 * none is in two versions. The version of another program is in all that were made with it. Each version of Java has one
 * build, `17.0.12_7`.
 */
function areBuilds(own: VersionTag, versions: readonly ReadonlySet<number>[]): boolean {
  const severalIn = versions.filter(({ size }) => size > 1);
  if (isJava(own) && severalIn.length * 2 < versions.length) return true;
  const all = versions.flatMap((counts) => [...counts]);
  const hasMany = severalIn.some(({ size }) => size >= minBuilds);
  return versions.length >= minLine && hasMany && new Set(all).size === all.length;
}

/** `21_35`, `17.0.12_7-jre`, `11.0.9.1_1`. */
function isJava({ numbers, suffix }: VersionTag): boolean {
  const [version = 0, zero = 0] = numbers;
  return version >= 8 && zero === 0 && numbers.length !== 2 && suffix.shape.startsWith('_~');
}

const minBuilds = 3;

/** Fewer versions may rise together with another program by chance. */
const minLine = 4;

function keyOf({ numbers, stage }: VersionTag): string {
  return JSON.stringify([numbers, stage]);
}

function describeRefused(
  own: VersionTag,
  refused: ReadonlyMap<Refusal, VersionTag>,
  widest: VersionKind,
): string | undefined {
  const told = refusals.flatMap((refusal) => {
    const version = refused.get(refusal);
    if (version === undefined) return [];
    const why = because[refusal](own, version, widest);
    return `${quoted(version.tag)} is ${refusal === 'end' ? '' : 'higher, but '}${why}`;
  });
  // More would hide the reason that matters.
  return told.length === 0 ? undefined : told.slice(0, 2).join('; ');
}

const because: Readonly<Record<Refusal, (own: VersionTag, next: VersionTag, widest: VersionKind) => string>> = {
  number: (own, { suffix: { bare } }) =>
    `the number ${bare.find((number, at) => number !== own.suffix.bare[at])} at its end may be the version of another program`,
  suffix: (own, next) => `ends in ${quoted(next.written)}, not in ${quoted(own.written)}`,
  prefix: (own, next) => `begins with ${quoted(next.prefix)}, not with ${quoted(own.prefix)}`,
  count: (own, next) => `has ${next.numbers.length} numbers, not ${own.numbers.length}`,
  end: () => 'the same version with higher numbers at its end',
  form: (own, next) => {
    if (!isDated(next) && !isYearAndMonth(next)) return 'is numbered in another way';
    return isDated(own) ? 'is dated in another way' : 'is a date';
  },
  id: () => 'its single number may be an id',
  'pre-release': () => 'is a pre-release',
  policy: (own, next, widest) => `is a ${kindOfStep(own.numbers, next.numbers)} step, and the policy is ${widest}`,
};

/**
 * Tags that the pattern matches and whose groups have higher numbers. Undefined: the pattern does not match the current
 * tag, so no tag can be compared with it.
 */
function* findByPattern({ current, tags }: TagQuestion, pattern: BoundedPattern): Steps<Found<RankedTag> | undefined> {
  const own = numbersOf(pattern.groupsOf(current));
  if (own === undefined) return undefined;
  const read = (tag: string): RankedTag | undefined => {
    const numbers = numbersOf(pattern.groupsOf(tag));
    return numbers !== undefined && compareNumbers(numbers, own) > 0 ? { tag, numbers } : undefined;
  };
  const higher: RankedTag[] = [];
  for (const tag of tags.split('\n')) {
    yield;
    const ranked = read(tag);
    if (ranked !== undefined) higher.push(ranked);
  }
  return {
    higher,
    own,
    compare: (one, other) =>
      compareNumbers(other.numbers, one.numbers) || Number(one.tag > other.tag) - Number(one.tag < other.tag),
    read,
    because: undefined,
  };
}

/** All numbers in the groups, in order. Undefined without any, or if one is too long to be exact. */
function numbersOf(groups: readonly string[] | undefined): readonly number[] | undefined {
  const numbers = (groups ?? []).flatMap((group) => group.match(/\d+/g) ?? []).map(Number);
  return numbers.length > 0 && numbers.every(Number.isSafeInteger) ? numbers : undefined;
}

/** A version before a release: `rc.1`, `beta2`, `-SNAPSHOT`. */
export type PreRelease = {
  /** In lower case and in its long form: `b` becomes `beta`. */
  readonly word: string;
  readonly numbers: readonly number[];
};

/** The pre-release at the beginning of the text after a version's numbers, with its length in characters. */
export function readPreRelease(text: string): { readonly preRelease: PreRelease; readonly length: number } | undefined {
  const match = attached.exec(text) ?? separated.exec(text);
  if (match === null) return undefined;
  const [written, word = '', digits = ''] = match;
  const numbers = digits === '' ? [] : digits.split(/[.-]/).map(Number);
  if (numbers.some((number) => !Number.isSafeInteger(number))) return undefined;
  const short = word.toLowerCase();
  return { preRelease: { word: longForms.get(short) ?? short, numbers }, length: written.length };
}

/**
 * Below 0: the first is earlier. A release (undefined) is later than all its pre-releases. Undefined: they have no
 * order, as with a nightly build and a release candidate.
 */
export function comparePreReleases(one: PreRelease | undefined, other: PreRelease | undefined): number | undefined {
  if (one === undefined || other === undefined) return Number(one === undefined) - Number(other === undefined);
  if (one.word !== other.word) {
    const [rank, otherRank] = [stages.indexOf(one.word), stages.indexOf(other.word)];
    return rank < 0 || otherRank < 0 ? undefined : rank - otherRank;
  }
  return compareNumbers(one.numbers, other.numbers);
}

/** Part by part. A missing part is lower than any. */
export function compareNumbers(one: readonly number[], other: readonly number[]): number {
  for (let at = 0; at < Math.max(one.length, other.length); at += 1) {
    const difference = (one[at] ?? -1) - (other[at] ?? -1);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** From the earliest to the latest. */
const stages: readonly string[] = ['alpha', 'ea', 'milestone', 'beta', 'pre', 'preview', 'rc'];

const longForms: ReadonlyMap<string, string> = new Map([
  ['a', 'alpha'],
  ['b', 'beta'],
  ['c', 'rc'],
  ['cr', 'rc'],
  ['m', 'milestone'],
]);

/** Python's `3.13.0b2`: a single letter needs its number, because `1.1.1b` may be a release. https://peps.python.org/pep-0440/ */
const attached = /^(a|b|c)(\d+)(?![a-z\d])/i;

const separated =
  /^[-_.]?(alpha|beta|rc|cr|preview|pre|milestone|snapshot|nightly|canary|ea|m(?=\d)|dev(?=[-_.]?\d))(?![a-z])(?:[-_.]?(\d+(?:[.-]\d+)*))?(?![a-z\d])/i;

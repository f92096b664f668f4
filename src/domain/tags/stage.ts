/** A stage before a release (`rc.1`, `beta2`, `-SNAPSHOT`), or a correction after it (`-security-01`, `p31`). */
export type Stage = {
  readonly isBefore: boolean;
  /** In lower case and in its long form: `b` becomes `beta`. */
  readonly word: string;
  readonly numbers: readonly number[];
  /** The candidate for this stage: 1 in `beta.rc1`, which comes before `beta`. */
  readonly candidate: number | undefined;
};

/** The stage at the beginning of the text after a version's numbers, with its length in characters. */
export function readStage(text: string): { readonly stage: Stage; readonly length: number } | undefined {
  const before = attached.exec(text) ?? separated.exec(text);
  const [written, word = '', digits = '', candidate] = before ?? correction.exec(text) ?? [];
  if (written === undefined) return undefined;
  const numbers = digits === '' ? [] : digits.split(/[.-]/).map(Number);
  if (numbers.some((number) => !Number.isSafeInteger(number))) return undefined;
  const short = word.toLowerCase();
  const named = { word: longForms.get(short) ?? short, numbers };
  const isBefore = before !== null;
  return {
    stage: { isBefore, ...named, candidate: candidate === undefined ? undefined : Number(candidate) },
    length: written.length,
  };
}

/**
 * Below 0: the first is earlier. A release (undefined) is later than all stages before it. Undefined: they have no
 * order, as with a nightly build and a release candidate.
 */
export function compareStages(one: Stage | undefined, other: Stage | undefined): number | undefined {
  if (one === undefined || other === undefined || one.isBefore !== other.isBefore) return sideOf(one) - sideOf(other);
  if (one.word !== other.word) {
    const [rank, otherRank] = [stages.indexOf(one.word), stages.indexOf(other.word)];
    return rank < 0 || otherRank < 0 ? undefined : rank - otherRank;
  }
  const difference = compareNumbers(one.numbers, other.numbers);
  if (difference !== 0 || one.candidate === other.candidate) return difference;
  return (one.candidate ?? Infinity) - (other.candidate ?? Infinity);
}

/** Part by part. A missing part is lower than any. */
export function compareNumbers(one: readonly number[], other: readonly number[]): number {
  for (let at = 0; at < Math.max(one.length, other.length); at += 1) {
    const difference = (one[at] ?? -1) - (other[at] ?? -1);
    if (difference !== 0) return difference;
  }
  return 0;
}

function sideOf(stage: Stage | undefined): number {
  if (stage === undefined) return 0;
  return stage.isBefore ? -1 : 1;
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

/** A word with a whole date behind it, as in `_beta_2024-05-07`, names the channel of a release. */
const separated =
  /^[-_.]?(?![a-z]+_20\d\d-\d\d-\d\d)(alpha|beta|rc|cr|preview|pre|milestone|snapshot|nightly|canary|ea|a(?=\.\d)|b(?=\.?\d)|m(?=\d)|dev(?=[-_.]?\d))(?![a-z])(?:[-_.]?(\d+(?:[.-]\d+)*))?(?:[-_.]rc[-_.]?(\d{1,9}))?(?![a-z\d])/i;

/** `-security-01` of Grafana, `p31` of Checkmk, `-CU13` of SQL Server. */
const correction = /^[-_.]?(security|hotfix|(?:patch|post|cu|sp|p)(?=[-_.]?\d))(?:[-_.]?(\d+(?:\.\d+)*))?(?![a-z\d])/i;

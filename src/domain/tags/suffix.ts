import { compareNumbers } from './pre-release.ts';

/** The end of a tag, `-alpine3.20` or `_9-jdk`, in parts that may change in different ways. */
export type Suffix = {
  /**
   * The suffix with `#` for the number of a base system, `*` for the number of a build and `@` for a commit. It is the
   * same for all successors.
   */
  readonly shape: string;
  /** Numbers of base systems, in order. */
  readonly bases: readonly (readonly number[])[];
  /** Numbers of builds, in order. */
  readonly builds: readonly (readonly number[])[];
};

/** Undefined if the text cannot be a suffix, because a number continues without a separator. */
export function readSuffix(text: string): Suffix | undefined {
  if (/^\d/.test(text)) return undefined;
  if (!/\d/.test(text)) return { shape: text, bases: [], builds: [] };
  const bases: number[][] = [];
  const builds: number[][] = [];
  const shape = text
    .split(/(?=[-_])/)
    .map((piece) => (commit.test(piece) ? `${piece.slice(0, 1)}@` : piece))
    .join('')
    .replaceAll(wordAndNumber, (written: string, word: string, between: string, digits: string) => {
      const role = roleOf(word, between);
      const numbers = digits.split('.').map(Number);
      if (role === 'fixed' || numbers.some((number) => !Number.isSafeInteger(number))) return written;
      (role === 'base' ? bases : builds).push(numbers);
      return word + between + (role === 'base' ? '#' : '*');
    });
  return { shape, bases, builds };
}

/**
 * Whether the second may follow the first: base systems do not get older, and the rest is the same. Builds start again
 * with each version.
 */
export function mayFollow(suffix: Suffix, next: Suffix): boolean {
  return (
    suffix.shape === next.shape && suffix.bases.every((base, at) => compareNumbers(base, next.bases[at] ?? []) <= 0)
  );
}

/**
 * Below 0: of two tags of one version, the first is better. The smallest change of the base system comes first, then
 * the latest build.
 */
export function compareSuffixes(one: Suffix, other: Suffix): number {
  return compareLists(one.bases, other.bases) || compareLists(other.builds, one.builds);
}

function compareLists(one: readonly (readonly number[])[], other: readonly (readonly number[])[]): number {
  for (const [at, numbers] of one.entries()) {
    const difference = compareNumbers(numbers, other[at] ?? []);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** A commit beside a version, as in Plex's tags: `1.40.1.8227-c0dd5a73e`. */
const commit = /^[-_]g?(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}$/;

const wordAndNumber = /(?<![a-z])([a-z]*)([-_.]?)(\d+(?:\.\d+)*)(?![a-z\d])/gi;

/**
 * Any other number belongs to another program in the image, as in `pg16` and `php8.2`. Data may depend on it, so it
 * must stay.
 */
function roleOf(word: string, between: string): 'base' | 'build' | 'fixed' {
  const name = word.toLowerCase();
  if (name === '') return between === '' ? 'fixed' : 'build';
  if (baseSystems.has(name)) return 'base';
  return buildWords.has(name) ? 'build' : 'fixed';
}

/** Names of base systems, in lower case. */
export const baseSystems: ReadonlySet<string> = new Set([
  'alpine',
  'debian',
  'ubuntu',
  'fedora',
  'centos',
  'rocky',
  'rockylinux',
  'alma',
  'almalinux',
  'amazonlinux',
  'al',
  'el',
  'ol',
  'ubi',
  'photon',
  'bci',
  'leap',
  'sles',
]);

/** `ls` of linuxserver.io, `r` of Bitnami, `ce` and `ee` of GitLab. */
const buildWords: ReadonlySet<string> = new Set(['ls', 'r', 'rev', 'build', 'p', 'patch', 'hotfix', 'ce', 'ee', 'cu']);

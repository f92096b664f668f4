import { compareNumbers } from './stage.ts';

/** The end of a tag, `-alpine3.20` or `_9-jdk`, in parts that may change in different ways. */
export type Suffix = {
  /**
   * The suffix with `#` for the number of a base system, `*` for the number of a build, `%` for a date, `@` for a commit
   * and `~` for a number without a word. It is the same for all successors.
   */
  readonly shape: string;
  /** Numbers of base systems, in order. */
  readonly bases: readonly (readonly number[])[];
  /** Dates and numbers of builds, in order. */
  readonly builds: readonly (readonly number[])[];
  /** Numbers without a word, in order: 18 in `-18-minimal`. */
  readonly bare: readonly number[];
};

/** Undefined if the text cannot be a suffix, because a number continues without a separator. */
export function readSuffix(text: string): Suffix | undefined {
  if (/^\d/.test(text)) return undefined;
  if (!/\d/.test(text)) return { shape: text, bases: [], builds: [], bare: [] };
  const bases: number[][] = [];
  const builds: number[][] = [];
  const bare: number[] = [];
  const shape = text
    .replaceAll(date, (written: string) => {
      builds.push((written.match(/\d+/g) ?? []).map(Number));
      return '%';
    })
    .split(/(?=[-_])/)
    .map((piece) => (commit.test(piece) ? `${piece.slice(0, 1)}@` : piece))
    .join('')
    .replaceAll(
      wordAndNumber,
      (written: string, word: string, between: string, digits: string, at: number, all: string) => {
        const role = roleOf({ word: word.toLowerCase(), between, digits, after: all.slice(at + written.length) });
        const numbers = digits.split('.').map(Number);
        if (role === 'fixed' || numbers.some((number) => !Number.isSafeInteger(number))) return written;
        if (role === 'bare') bare.push(...numbers);
        else (role === 'base' ? bases : builds).push(numbers);
        return word + between + signs[role];
      },
    );
  return { shape, bases, builds, bare };
}

const signs = { base: '#', build: '*', bare: '~' } as const;

/**
 * Whether the second may follow the first: base systems do not get older, and the rest is the same. Builds start again
 * with each version. The listing must show what a number without a word counts.
 */
export function mayFollow(suffix: Suffix, next: Suffix): boolean {
  return (
    suffix.shape === next.shape && suffix.bases.every((base, at) => compareNumbers(base, next.bases[at] ?? []) <= 0)
  );
}

/**
 * Below 0: of two tags of one version, the first is better as a successor of `own`. A number without a word stays if it
 * can. Then comes the smallest change of the base system, then the latest build.
 */
export function compareSuffixes(one: Suffix, other: Suffix, own: Suffix): number {
  const changes = (suffix: Suffix) => Number(compareNumbers(suffix.bare, own.bare) !== 0);
  return (
    changes(one) - changes(other) ||
    compareLists(one.bases, other.bases) ||
    compareNumbers(other.bare, one.bare) ||
    compareLists(other.builds, one.builds)
  );
}

function compareLists(one: readonly (readonly number[])[], other: readonly (readonly number[])[]): number {
  for (const [at, numbers] of one.entries()) {
    const difference = compareNumbers(numbers, other[at] ?? []);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** `20240801`, `2024-08-01`, `2024.08.01`, also with a time or a number behind it: `20240825-064712`, `20240801.1`. */
const date =
  /(?<!\d)20\d\d(?:[01]\d[0-3]\d|-[01]\d-[0-3]\d|\.[01]\d\.[0-3]\d)(?:[-_.T]?[0-2]\d[0-5]\d(?:[0-5]\d)?Z?|\.\d{1,3})?(?![\d.]*\d)/g;

/** A commit beside a version, as in Plex's tags: `1.40.1.8227-c0dd5a73e`, `1.40.4.8679-424562606`. */
const commit = /^[-_]g?(?=[0-9a-f]*\d)[0-9a-f]{7,40}$/;

const wordAndNumber = /(?<![a-z])(k3s|k0s|rke2r|[a-z]*)([-_.]?)(\d+(?:\.\d+)*)(?![a-z\d])/gi;

/**
 * Any other number belongs to another program in the image, as in `pg16`, `php8.2` and `_v2.0.10`. Data may depend on
 * it, so it must stay. Temurin writes its builds `_9`. `-14-g1a2b3c4` counts the commits since a version.
 */
function roleOf(written: {
  readonly word: string;
  readonly between: string;
  readonly digits: string;
  readonly after: string;
}): keyof typeof signs | 'fixed' {
  const { word, between, digits, after } = written;
  if (baseSystems.has(word)) return 'base';
  if (word !== '') return buildWords.has(word) ? 'build' : 'fixed';
  if (between === '' || digits.includes('.')) return 'fixed';
  return between === '_' || digits.length >= digitsOfABuild || after.startsWith('-@') ? 'build' : 'bare';
}

/** No program counts its versions in thousands. */
const digitsOfABuild = 4;

/** Names of base systems, in lower case. */
export const baseSystems: ReadonlySet<string> = new Set(
  [
    'alpine debian deb ubuntu ubu fedora fc centos rocky rockylinux alma almalinux amazonlinux amzn al el rhel ol',
    'oraclelinux ubi photon bci leap opensuse sles azurelinux mariner',
  ].flatMap((names) => names.split(' ')),
);

/** `ls` of linuxserver.io, `r` of Bitnami, `ce` and `ee` of GitLab; `k3s`, `k0s` and `rke2r` count their own builds of Kubernetes. */
const buildWords: ReadonlySet<string> = new Set(
  'ls r rev build p patch hotfix security ce ee cu k3s k0s rke2r gke vmware'.split(' '),
);

import { isTag } from './image-reference.ts';

/**
 * A tag that names a version: `v1.27.0-rc.1-alpine3.20` has the prefix `v`, the numbers 1, 27 and 0, the stage `rc.1` and
 * the suffix `-alpine3.20`. After the Docker versioning of Renovate:
 * https://docs.renovatebot.com/modules/versioning/docker/
 */
export type VersionTag = {
  readonly tag: string;
  readonly prefix: string;
  /**
   * One to eight, most significant first. For a date: year, month, day, and then the seconds since midnight or the
   * numbers behind it.
   */
  readonly numbers: readonly number[];
  /**
   * `version`, `calendar` (`2024.8.1`), or a month or date with 0 for each digit: `2021.12.16` is no successor of `0.6.24`,
   * and `202402` none of `2024`.
   */
  readonly form: string;
  readonly stage: Stage | undefined;
  readonly suffix: Suffix;
  /** The text after the numbers: the stage and the suffix as written. */
  readonly written: string;
};

/** The part after the numbers of a version. */
type VersionEnd = Pick<VersionTag, 'stage' | 'suffix'>;

/**
 * Undefined for words (`latest`, `stable-alpine`), commits (`sha-3f2a1bc`), signatures, versions of other programs alone
 * (`php8.1-apache`), and single numbers that are probably ids.
 */
export function parseVersionTag(tag: string): VersionTag | undefined {
  return parse(tag, readEnd);
}

/** `parseVersionTag` for the thousands of tags of one listing, which share a few ends. */
export function createVersionReader(): typeof parseVersionTag {
  const known = new Map<string, VersionEnd | undefined>();
  const endIn = (text: string) => {
    if (!known.has(text)) known.set(text, readEnd(text));
    return known.get(text);
  };
  return (tag) => parse(tag, endIn);
}

function parse(tag: string, endIn: typeof readEnd): VersionTag | undefined {
  if (!isTag(tag)) return undefined;
  const prefix = prefixOf(tag);
  if (prefix === undefined) return undefined;
  const rest = tag.slice(prefix.length);
  const date = rest.startsWith('20') ? readDate(rest) : undefined;
  const found = date ?? readNumbers(rest, prefix);
  if (found === undefined) return undefined;
  const { numbers, form, length } = found;
  const written = rest.slice(length);
  const end = endIn(withoutRepetition(written, rest.slice(0, length)));
  return end && { tag, prefix, numbers, form, stage: end.stage, suffix: end.suffix, written };
}

/** The stage and the suffix in the text after the numbers. */
function readEnd(after: string): VersionEnd | undefined {
  const found = after === '' ? undefined : readStage(after);
  const suffix = readSuffix(after.slice(found?.length ?? 0));
  return suffix && { stage: found?.stage, suffix };
}

/** The numbers at the beginning of a text, with their form and their length in characters. */
type Numbers = Pick<VersionTag, 'numbers' | 'form'> & { readonly length: number };

function readNumbers(rest: string, prefix: string): Numbers | undefined {
  const [core = ''] = coreGrammar.exec(rest) ?? [];
  const written = core.split(/[.u]/);
  if (written.some((digits) => digits.length > maxDigits) || /^\.\d/.test(rest.slice(core.length))) return undefined;
  if (written.length === 1 && core.length >= digitsOfAnId) return undefined;
  const [first = ''] = written;
  const calendar = first.length === 4 ? 'calendar' : '0'.repeat(first.length);
  const form = startsWithYear(first) && !endsInName(prefix) ? calendar : 'version';
  return { numbers: written.map(Number), form: core.includes('u') ? 'update' : form, length: core.length };
}

/** Java's `8u422` is update 422 of version 8. */
const coreGrammar = /^\d+(?:u\d+|(?:\.\d+){0,7})/;

/** Every number stays exact. */
const maxDigits = 15;

/** A single number of this length that is not a date is an abbreviated commit or the id of a pipeline. */
const digitsOfAnId = 7;

/** linuxserver.io repeats the version of Duplicati: `v2.0.8.1-2.0.8.1_beta_2024-05-07-ls91`. `=` is in no tag. */
function withoutRepetition(after: string, core: string): string {
  return core.length > 2 && after.startsWith(core, 1) ? `${after.slice(0, 1)}=${after.slice(1 + core.length)}` : after;
}

/** The text before the version. Undefined if the first digit does not belong to a version. */
function prefixOf(tag: string): string | undefined {
  if (/^v?\d+\./.test(tag)) return tag.startsWith('v') ? 'v' : '';
  const [variant = ''] = variantGrammar.exec(tag) ?? countGrammar.exec(tag) ?? [];
  const [word = ''] = /^\D*/.exec(tag.slice(variant.length)) ?? [];
  const prefix = variant + word;
  if (prefix.length === tag.length || wordGrammar.test(prefix) || isCommit(tag.slice(variant.length))) return undefined;
  return baseGrammar.test(prefix) || programGrammar.test(prefix) ? undefined : prefix;
}

/** Names of base systems, in lower case. */
const baseSystems: ReadonlySet<string> = new Set(
  [
    'alpine debian deb ubuntu ubu fedora fc centos rocky rockylinux alma almalinux amazonlinux amzn al el rhel ol',
    'oraclelinux ubi photon bci leap opensuse sles azurelinux mariner',
  ].flatMap((names) => names.split(' ')),
);

const bases = [...baseSystems].join('|');

/** Programs that images are made with or for. Their versions stay: `php8.1-apache`, `node-18-alpine`, `pg16`. */
const programs = [
  'php pg postgres postgresql mysql mariadb mongo mongodb redis valkey node nodejs python py cp ruby rust golang go perl',
  'java jdk jre openjdk temurin corretto zulu graalvm scala erlang otp elixir dotnet aspnet lua cu cuda cudnn rocm gcc llvm',
]
  .flatMap((names) => names.split(' '))
  .join('|');

/**
 * The part before the version: an architecture, a base system or a program with its number (`arm64v8-1.2`,
 * `debian12-1.2`, `php8.1-1.2`), and any other word with a number before a version (`libtorrentv1-4.6.5`).
 */
const variantGrammar = new RegExp(
  [
    '^(?:(?:',
    [
      '(?:[a-z]+[-_])*(?:amd64|x86[-_]64|i386|386|aarch64|arm64(?:v8)?|arm(?:32)?(?:v?[5-8])?|armhf|ppc64le|s390x|riscv64)',
    ]
      .concat(`(?:${bases})\\d+(?:\\.\\d+)*`, `(?:${programs})[-_]?\\d+(?:\\.\\d+)*`)
      .concat(`(?!(?:v|r|rev|b|build|release|version)\\d)[a-z]+\\d[a-z\\d.]*(?=[-_](?:[a-z]+[-_.])*v?\\d+\\.\\d)`)
      .join('|'),
    ')(?:[-_]|$))+',
  ].join(''),
  'i',
);

/** A number before a version that is marked as one: `16-v0.3.0`. */
const countGrammar = /^(?!20\d\d-[01]\d)v?\d+[-_](?:[^-_]+[-_])*?(?=v\d+\.\d)/;

/** The number of a base system alone is not a version: `alpine3.20`. */
const baseGrammar = new RegExp(`(?:^|[-_.])(?:${bases})$`, 'i');

/** Nor is that of a program behind a word: `apache-php8.1`, `stable-pg14`. */
const programGrammar = new RegExp(`[-_.](?:${programs})[-_]?$`, 'i');

/** Signatures, commits, pull requests, and names of moving builds. */
const wordGrammar = /(?:^|[-_.])(?:latest|sha|sha256|commit|git|pr|mr|pull)[-_.]|^sha$|^sha256$/i;

/** A part of a tag with seven to forty hex digits, letters and numbers, is a commit if it is in the version's place. */
function isCommit(text: string): boolean {
  const first = text.split(/[-_.]/).find((part) => /\d/.test(part)) ?? '';
  return /^(?=.*[a-f])[0-9a-f]{7,40}$/.test(first);
}

/** `2024`, `202408` or `20240801`. */
function startsWithYear(digits: string): boolean {
  return /^20\d\d(?:(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])?)?$/.test(digits);
}

/** `b2050` is a build, `v2024.1` a year. */
function endsInName(prefix: string): boolean {
  return /[a-z]$/i.test(prefix) && !/(?:^|[-_.])v$/i.test(prefix);
}

/** The date at the beginning of a text: `20240801`, `2024-08-01`, `20240801.1`, `2024-08-01T12-00-00Z`. */
function readDate(text: string): Numbers | undefined {
  const [written = '', year, , month, day, hour, minute, second, behind = ''] = dateGrammar.exec(text) ?? [];
  const date = [Number(year), Number(month), Number(day)];
  if (written === '' || !isDay(date)) return undefined;
  const length = written.length;
  // A number behind a date is not in its form: the second build of a day follows the first.
  const form = written.slice(0, length - behind.length).replaceAll(/\d/g, '0');
  if (hour === undefined) return { form, numbers: [...date, ...(behind.match(/\d+/g) ?? []).map(Number)], length };
  return { form, numbers: [...date, Number(hour) * 3600 + Number(minute) * 60 + Number(second ?? 0)], length };
}

const dateGrammar =
  /^(20\d\d)(-?)([01]\d)\2([0-3]\d)(?:[T._-]?([0-2]\d)[-:]?([0-5]\d)(?:[-:]?([0-5]\d))?Z?|((?:\.\d{1,9}){1,5}))?(?![\d.]*\d)/;

function isDay([, month = 0, day = 0]: readonly number[]): boolean {
  return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

/** The end of a tag, `-alpine3.20` or `_9-jdk`, in parts that may change in different ways. */
type Suffix = {
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
function readSuffix(text: string): Suffix | undefined {
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
        const role = roleOf({ word, between, digits, after: all.slice(at + written.length) });
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

/** Independent of the order of the listing: equal versions (`1.2`, `1.02`) are ordered by their text. */
export function bestFirstAfter(own: VersionTag): (one: VersionTag, other: VersionTag) => number {
  return (one, other) =>
    compareVersions(other, one) ||
    compareSuffixes(one.suffix, other.suffix, own.suffix) ||
    one.tag.length - other.tag.length ||
    Number(one.tag > other.tag) - Number(one.tag < other.tag);
}

/** Without the suffix. */
export function compareVersions(one: VersionTag, other: VersionTag): number {
  return compareNumbers(one.numbers, other.numbers) || (compareStages(one.stage, other.stage) ?? 0);
}

/**
 * Below 0: of two tags of one version, the first is better as a successor of `own`. A number without a word stays if it
 * can. Then comes the smallest change of the base system, then the latest build.
 */
function compareSuffixes(one: Suffix, other: Suffix, own: Suffix): number {
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
 * it, so it must stay. `-14-g1a2b3c4` counts the commits since a version.
 */
function roleOf(written: {
  readonly word: string;
  readonly between: string;
  readonly digits: string;
  readonly after: string;
}): keyof typeof signs | 'fixed' {
  const { word, between, digits, after } = written;
  const name = word.toLowerCase();
  if (baseSystems.has(name)) return 'base';
  if (name === 'b') return digits.length >= digitsOfABuild ? 'build' : 'fixed';
  if (name === 'cu') return cumulative.test(word + digits) ? 'build' : 'fixed';
  if (word !== '') return buildWords.has(name) && !mayBeProgram(name, digits) ? 'build' : 'fixed';
  if (between === '' || digits.includes('.')) return 'fixed';
  return digits.length >= digitsOfABuild || after.startsWith('-@') ? 'build' : 'bare';
}

/** No program counts its versions, and none its betas, in thousands: Redash's `10.1.0.b50633`. */
const digitsOfABuild = 4;

/** R 4.3 in `-R-4.3`, PHP 7.4 in `-p7.4`. */
function mayBeProgram(name: string, digits: string): boolean {
  return name.length <= 2 && digits.includes('.');
}

/** `ls` of linuxserver.io, `r` of Bitnami, `ce` and `ee` of GitLab; `k3s`, `k0s` and `rke2r` count their own builds of Kubernetes. */
const buildWords: ReadonlySet<string> = new Set(
  'ls r rev build p patch hotfix security ce ee k3s k0s rke2r gke vmware'.split(' '),
);

/**
 * Whether another higher tag has the same numbers up to the first one that the current tag does not share: 20.04.1 and
 * 20.04.2 for 4.6.5. Without versions they are never in one line.
 */
export function lineOf(current: string, one: string): (other: string) => boolean {
  const [own, first] = [current, one].map((tag) => parseVersionTag(tag));
  if (own === undefined || first === undefined) return () => false;
  const changed = first.numbers.findIndex((number, at) => number !== own.numbers[at]);
  if (changed === -1) return () => false;
  const shared = first.numbers.slice(0, changed + 1);
  return (other) => {
    const second = parseVersionTag(other);
    return second !== undefined && shared.every((number, at) => number === second.numbers[at]);
  };
}

/** A stage before a release (`rc.1`, `beta2`, `-SNAPSHOT`), or a correction after it (`-security-01`, `p31`). */
type Stage = {
  readonly isBefore: boolean;
  /** In lower case and in its long form: `b` becomes `beta`. */
  readonly word: string;
  readonly numbers: readonly number[];
  /** The candidate for this stage: 1 in `beta.rc1`, which comes before `beta`. */
  readonly candidate: number | undefined;
};

/** The stage at the beginning of the text after a version's numbers, with its length in characters. */
function readStage(text: string): { readonly stage: Stage; readonly length: number } | undefined {
  const before = attached.exec(text) ?? separated.exec(text);
  const [written, word = '', digits = '', candidate] = before ?? correction.exec(text) ?? cumulative.exec(text) ?? [];
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
  /^[-_.]?(?![a-z]+_20\d\d-\d\d-\d\d)(alpha|beta|rc|cr|preview|pre|milestone|snapshot|nightly|canary|ea|a(?=\.\d)|b(?=\.?\d{1,3}(?!\d))|m(?=\d)|dev(?=[-_.]?\d))(?![a-z])(?:[-_.]?(\d+(?:[.-]\d+)*))?(?:[-_.]rc[-_.]?(\d{1,9}))?(?![a-z\d])/i;

/** `-security-01` of Grafana, `p31` of Checkmk. */
const correction =
  /^[-_.]?(security|hotfix|(?:patch|post|(?:sp|p)(?![-_.]?\d+\.\d))(?=[-_.]?\d))(?:[-_.]?(\d+(?:\.\d+)*))?(?![a-z\d])/i;

/** `-CU13` of SQL Server, and not `-cu118`, which is CUDA 11.8. */
const cumulative = /^[-_.]?(CU)[-_.]?(\d{1,2})(?![a-z\d])/;

/** The kinds of a version step: in a later number, the second, or the first one. */
export type VersionKind = 'patch' | 'minor' | 'major';

import { isTag } from '../reference/reference-grammar.ts';
import { baseSystems, readSuffix, type Suffix } from './suffix.ts';
import { readStage, type Stage } from './stage.ts';

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
export type VersionEnd = Pick<VersionTag, 'stage' | 'suffix'>;

/**
 * Undefined for words (`latest`, `stable-alpine`), commits (`sha-3f2a1bc`), signatures, versions of other programs alone
 * (`php8.1-apache`), and single numbers that are probably ids. `endIn` may cache ends.
 */
export function parseVersionTag(tag: string, endIn = readEnd): VersionTag | undefined {
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
export function readEnd(after: string): VersionEnd | undefined {
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
  return baseGrammar.test(prefix) ? undefined : prefix;
}

const bases = [...baseSystems].join('|');

/** Programs that images are made with or for. Their versions stay: `php8.1-apache`, `node-18-alpine`, `pg16`. */
const programs = [
  'php pg postgres postgresql mysql mariadb mongo mongodb redis valkey node nodejs python py cp ruby rust golang go perl',
  'java jdk jre openjdk temurin corretto zulu graalvm scala erlang otp elixir dotnet aspnet lua cuda cudnn rocm gcc llvm',
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
    ['amd64|x86[-_]64|i386|386|aarch64|arm64(?:v8)?|arm(?:32)?(?:v?[5-8])?|armhf|ppc64le|s390x|riscv64']
      .concat(`(?:${bases})\\d+(?:\\.\\d+)*`, `(?:${programs})[-_]?\\d+(?:\\.\\d+)*`)
      .concat(`(?!(?:v|r|rev|b|build|release|version)\\d)[a-z]+\\d[a-z\\d.]*(?=[-_](?:[a-z]+[-_.])*v?\\d+\\.\\d)`)
      .join('|'),
    ')(?:[-_]|$))+',
  ].join(''),
);

/** A number before a version that is marked as one: `16-v0.3.0`. */
const countGrammar = /^(?!20\d\d-[01]\d)v?\d+[-_](?:[^-_]+[-_])*?(?=v\d+\.\d)/;

/** The number of a base system alone is not a version: `alpine3.20`. */
const baseGrammar = new RegExp(`(?:^|[-_.])(?:${bases})$`);

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

import { isTag } from '../reference/reference-grammar.ts';
import { type PreRelease, readPreRelease } from './pre-release.ts';
import { baseSystems, readSuffix, type Suffix } from './suffix.ts';

/**
 * A tag that names a version: `v1.27.0-rc.1-alpine3.20` has the prefix `v`, the numbers 1, 27 and 0, the
 * pre-release `rc.1` and the suffix `-alpine3.20`. After the Docker versioning of Renovate:
 * https://docs.renovatebot.com/modules/versioning/docker/
 */
export type VersionTag = {
  readonly tag: string;
  readonly prefix: string;
  /** One to four, most significant first. For a date: year, month, day, and with a time the seconds since midnight. */
  readonly numbers: readonly number[];
  /**
   * `version`, `calendar` (`2024.8.1`), or a month or date with 0 for each digit: `2021.12.16` is no successor of `0.6.24`,
   * and `202402` none of `2024`.
   */
  readonly form: string;
  readonly preRelease: PreRelease | undefined;
  readonly suffix: Suffix;
};

/**
 * Undefined for words (`latest`, `stable-alpine`), commits (`sha-3f2a1bc`), signatures, more than four numbers, and
 * single numbers that are probably ids. `suffixIn` may cache suffixes.
 */
export function parseVersionTag(tag: string, suffixIn = readSuffix): VersionTag | undefined {
  if (!isTag(tag)) return undefined;
  const prefix = prefixOf(tag);
  if (prefix === undefined) return undefined;
  const rest = tag.slice(prefix.length);
  const date = rest.startsWith('20') ? readDate(rest) : undefined;
  if (date !== undefined) return withRest({ tag, prefix, ...date }, rest.slice(date.length), suffixIn);
  const [core = ''] = coreGrammar.exec(rest) ?? [];
  const written = core.split('.');
  const after = rest.slice(core.length);
  if (written.some((digits) => digits.length > mostDigits) || /^\.\d/.test(after)) return undefined;
  if (written.length === 1 && core.length >= digitsOfAnId) return undefined;
  const numbers = written.map(Number);
  const [first = ''] = written;
  const calendar = first.length === 4 ? 'calendar' : '0'.repeat(first.length);
  const form = startsWithYear(first) && !endsInName(prefix) ? calendar : 'version';
  return withRest({ tag, prefix, numbers, form }, after, suffixIn);
}

const coreGrammar = /^\d+(?:\.\d+){0,3}/;

/** Keeps every number exact. */
const mostDigits = 15;

/** A single number of this length that is not a date is an abbreviated commit or the id of a pipeline. */
const digitsOfAnId = 7;

function withRest(
  { tag, prefix, numbers, form }: Pick<VersionTag, 'tag' | 'prefix' | 'numbers' | 'form'>,
  after: string,
  suffixIn: typeof readSuffix,
): VersionTag | undefined {
  const found = after === '' ? undefined : readPreRelease(after);
  const suffix = suffixIn(after.slice(found?.length ?? 0));
  return suffix && { tag, prefix, numbers, form, preRelease: found?.preRelease, suffix };
}

/** The text before the version. Undefined if the first digit does not belong to a version. */
function prefixOf(tag: string): string | undefined {
  if (/^v?\d+\./.test(tag)) return tag.startsWith('v') ? 'v' : '';
  const [variant = ''] = variantGrammar.exec(tag) ?? [];
  const [word = ''] = /^\D*/.exec(tag.slice(variant.length)) ?? [];
  const prefix = variant + word;
  if (prefix.length === tag.length || wordGrammar.test(prefix) || isCommit(tag.slice(variant.length))) return undefined;
  return baseGrammar.test(prefix) ? undefined : prefix;
}

const bases = [...baseSystems].join('|');

/** An architecture or a base system with its own number before the version: `arm64v8-1.2`, `debian12-1.2`. */
const variantGrammar = new RegExp(
  `^(?:(?:(?:amd64|x86_64|i386|386|aarch64|arm64(?:v8)?|arm(?:32)?(?:v?[5-8])?|armhf|ppc64le|s390x|riscv64)|(?:${bases})\\d+(?:\\.\\d+)*)(?:[-_]|$))+`,
);

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
  return /^20\d\d(?:(?:0[1-9]|1[0-2])(?:[0-3]\d)?)?$/.test(digits);
}

/** `b2050` is a build, `v2024.1` a year. */
function endsInName(prefix: string): boolean {
  return /[a-z]$/i.test(prefix) && !/(?:^|[-_.])v$/i.test(prefix);
}

/** A date as the version: `20240801`, `2024-08-01`, `20240801T120000Z`, `2024-08-01T12-00-00Z`. */
type WrittenDate = {
  /** The form, with 0 for each digit: `0000-00-00`. */
  readonly form: string;
  /** Year, month, day, and for a timestamp the seconds since midnight. */
  readonly numbers: readonly number[];
  /** In characters. */
  readonly length: number;
};

/** The date at the beginning of a text; undefined without one. */
function readDate(text: string): WrittenDate | undefined {
  const [written = '', year, , month, day, hour, minute, second] = dateGrammar.exec(text) ?? [];
  const date = [Number(year), Number(month), Number(day)];
  if (written === '' || !isDay(date)) return undefined;
  const found = { form: written.replaceAll(/\d/g, '0'), length: written.length };
  if (hour === undefined) return { ...found, numbers: date };
  const seconds = Number(hour) * 3600 + Number(minute) * 60 + Number(second ?? 0);
  return { ...found, numbers: [...date, seconds] };
}

const dateGrammar =
  /^(20\d\d)(-?)([01]\d)\2([0-3]\d)(?:[T._-]?([0-2]\d)[-:]?([0-5]\d)(?:[-:]?([0-5]\d))?Z?)?(?![\d.]*\d)/;

function isDay([, month = 0, day = 0]: readonly number[]): boolean {
  return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

import { compareNumbers, compareStages, parseVersionTag } from '../image/version-tag.ts';

/** A release as a forge lists it. `text` is foreign Markdown, at most `maxReleaseText` characters. */
export type Release = {
  readonly tag: string;
  readonly title: string;
  readonly text: string;
  /** The end of the text is missing. */
  readonly isCut?: true;
  /** Milliseconds since the epoch; undefined without a time. */
  readonly publishedAtMs: number | undefined;
  readonly isPrerelease: boolean;
  /** A page for people: https, on the forge. */
  readonly url: string;
};

const maxReleaseText = 64 * 1024;

/** The text of a release, as far as it is read. */
export function cutText(text: string, room = maxReleaseText): Pick<Release, 'text' | 'isCut'> {
  const most = Math.min(room, maxReleaseText);
  return text.length > most ? { text: text.slice(0, most), isCut: true } : { text };
}

/** The versions of a step, and the names that tags of a repository with several programs may begin with. */
export type Step = {
  /** Undefined: only the notes of `to` are of interest. */
  readonly from: string | undefined;
  readonly to: string;
  /** The last part of the image's name, and of the repository. */
  readonly names: readonly string[];
  /** The form of the tags, with `{version}`, as an owner wrote it. */
  readonly tagForm?: string;
};

/**
 * The releases behind `from` up to `to`, the newest first, and those that are `more` than `maxReleases`. Undefined: the
 * list has no release of `to`. `lacksOlder`: its tag cannot be compared with others. Tags of other programs in the same
 * repository and other ways of counting do not belong to it; pre-releases only if `to` is one.
 */
export function releasesBetween<Each extends Pick<Release, 'tag' | 'isPrerelease'>>(
  releases: readonly Each[],
  step: Step,
): Between<Each> | undefined {
  const target = findTarget(releases, step);
  if (target === undefined) return undefined;
  const { read: to } = target;
  if (to === undefined) {
    const lacksOlder = step.from !== undefined && { lacksOlder: true as const };
    return { releases: [target.release], more: 0, rest: [], ...lacksOlder };
  }
  const from = step.from === undefined ? undefined : readVersion(step.from);
  const allowsEarly = to.isEarly || target.release.isPrerelease;
  const found = new Map<string, { readonly release: Each; readonly read: ReadTag }>([
    [keyOf(to), { release: target.release, read: to }],
  ]);
  for (const release of releases) {
    const read = readTag(release.tag);
    if (read === undefined || read.line !== to.line) continue;
    // A project may have begun to count in another way between the two.
    if (!countAlike(read.numbers, to.numbers) && !(from && countAlike(read.numbers, from.numbers))) continue;
    if ((release.isPrerelease || read.isEarly) && !allowsEarly) continue;
    if (compare(read, to) >= 0 || from === undefined || compare(read, from) <= 0) continue;
    if (!found.has(keyOf(read))) found.set(keyOf(read), { release, read });
  }
  const ordered = [...found.values()].sort((one, other) => compare(other.read, one.read)).map(({ release }) => release);
  const rest = ordered.slice(maxReleases);
  return { releases: ordered.slice(0, maxReleases), more: rest.length, rest };
}

type Between<Each> = {
  readonly releases: readonly Each[];
  readonly more: number;
  readonly rest: readonly Each[];
  readonly lacksOlder?: true;
};

const maxReleases = 20;

/**
 * Whether a list goes back far enough for the step, so that no older page of it is needed. Lists are ordered by time, and
 * a correction of an old version may stand before newer versions: the list has to end with older ones, and to have the
 * first release of each new main version.
 */
export function reachesBack(releases: readonly Pick<Release, 'tag' | 'isPrerelease'>[], step: Step): boolean {
  const to = findTarget(releases, step)?.read;
  if (to === undefined) return false;
  const from = step.from === undefined ? undefined : readVersion(step.from);
  if (from === undefined) return true;
  const listed = releases.flatMap(({ tag }) => {
    const read = readTag(tag);
    return read === undefined || read.line !== to.line ? [] : [read];
  });
  const isBetween = (read: ReadTag) => compare(read, from) > 0 && compare(read, to) <= 0;
  const older = listed.slice(listed.findLastIndex(isBetween) + 1).filter((read) => compare(read, from) <= 0);
  if (older.length >= manyOlder) return true;
  const [main] = from.numbers;
  const between = listed.filter(isBetween);
  const newMains = new Set(between.map(({ numbers }) => numbers[0]).filter((number) => number !== main));
  const isFirst = ({ numbers }: ReadTag) => numbers.slice(1).every((number) => number === 0);
  return (
    older.some(({ numbers }) => numbers[0] === main) &&
    [...newMains].every(
      (number = 0) => isYear(number) || listed.some((read) => read.numbers[0] === number && isFirst(read)),
    )
  );
}

/** So many older versions in a row are no corrections. */
const manyOlder = 10;

/** The tag that names a version in a list of tags. */
export function tagOfVersion(
  tags: readonly string[],
  version: string,
  step: Omit<Step, 'from' | 'to'>,
): string | undefined {
  const listed = tags.map((tag) => ({ tag, isPrerelease: false }));
  return findTarget(listed, { ...step, from: undefined, to: version })?.release.tag;
}

/**
 * The sections of a changelog behind `from` up to `to`, as releases. A section begins with a heading that contains one
 * version, and ends at the next heading of its level with one. Undefined: no section is about `to`.
 */
export function changelogReleases(text: string, step: Step, page: string): readonly Release[] | undefined {
  const lines = text.slice(0, maxChangelogText).split(/\r?\n/);
  const sections: { version: string; level: number; lines: string[]; publishedAtMs: number | undefined }[] = [];
  let fence = '';
  for (const [at, line] of lines.entries()) {
    const [, mark = ''] = /^ {0,3}(`{3,}|~{3,})/.exec(line) ?? [];
    const isInCode = fence !== '';
    // A longer mark of the same kind ends it too.
    if (mark !== '' && (!isInCode || mark.startsWith(fence))) fence = isInCode ? '' : mark;
    const heading = isInCode ? undefined : headingAt(line, lines[at + 1]);
    const version = heading && versionInHeading.exec(heading.text)?.[1];
    const open = sections.at(-1);
    if (heading !== undefined && version !== undefined && heading.level <= (open?.level ?? 3)) {
      const [day] = /20\d\d-[01]\d-[0-3]\d/.exec(heading.text) ?? [];
      const dayMs = day === undefined ? NaN : Date.parse(day);
      sections.push({
        version,
        level: heading.level,
        lines: [],
        publishedAtMs: Number.isNaN(dayMs) ? undefined : dayMs,
      });
    } else open?.lines.push(line);
  }
  const releases = sections.map(({ version, lines: body, publishedAtMs }) => ({
    ...{ tag: version, title: '', publishedAtMs, isPrerelease: false, url: page },
    ...cutText(body.join('\n')),
  }));
  const { tagForm: _, ...plain } = step;
  const found = releasesBetween(releases, plain);
  return found && [...found.releases, ...found.rest];
}

const maxChangelogText = 2 * 1024 * 1024;

const versionInHeading = /(?<![\w.])\[?v?(\d{1,6}(?:\.\d{1,9}){1,4}(?:-?(?:alpha|beta|rc)[.-]?\d*)?)(?![\w.]*\d)/i;

function headingAt(line: string, next = ''): { readonly level: number; readonly text: string } | undefined {
  const [, marks, text] = /^(#{1,3})\s+(.{1,200})/.exec(line) ?? [];
  if (marks !== undefined && text !== undefined) return { level: marks.length, text };
  if (line.trim() === '' || line.length > 200) return undefined;
  return /^=+\s*$/.test(next)
    ? { level: 1, text: line }
    : /^-{3,}\s*$/.test(next)
      ? { level: 2, text: line }
      : undefined;
}

type ReadTag = {
  /** The text before the version, without a `v` and usual words: `n8n@`, `cli/`, or nothing. */
  readonly line: string;
  readonly numbers: readonly number[];
  readonly stage: NonNullable<ReturnType<typeof parseVersionTag>>['stage'];
  readonly isEarly: boolean;
};

/** The release of `to`: of this very name, else of its version in the line that fits best. */
function findTarget<Each extends Pick<Release, 'tag' | 'isPrerelease'>>(
  releases: readonly Each[],
  { to, names, tagForm }: Step,
): { readonly release: Each; readonly read: ReadTag | undefined } | undefined {
  const spellings = [to, bare(to)].flatMap((version) =>
    tagForm === undefined
      ? [version, version.startsWith('v') ? version.slice(1) : `v${version}`]
      : [tagForm.replace('{version}', version), tagForm.replace('{version}', version.replace(/^v/, ''))],
  );
  for (const spelling of spellings) {
    const release = releases.find(({ tag }) => tag === spelling);
    if (release !== undefined) return { release, read: readTag(release.tag) };
  }
  const wanted = tagForm === undefined ? readVersion(to) : undefined;
  if (wanted === undefined) return undefined;
  const ofKey = (keyIn: (read: ReadTag) => string) =>
    releases.flatMap((release) => {
      const read = readTag(release.tag);
      const isSame = read !== undefined && keyIn(read) === keyIn(wanted);
      return isSame ? [{ release, read }] : [];
    });
  const exact = ofKey(keyOf);
  const same = exact.length > 0 ? exact : ofKey(shortKeyOf);
  const lines = new Set(same.map(({ read }) => read.line));
  const preferred = ['', ...names.map((name) => name.toLowerCase())];
  const line = preferred.find((word) => lines.has(word)) ?? (lines.size === 1 ? [...lines][0] : undefined);
  return same.find(({ read }) => read.line === line);
}

/** Words before a version that name no other program. */
const usualLines = ['version', 'release', 'stable', 'ver', 'rel'];

/** `1.2.3-ls45` and `5.2.3_v2.0.13` are 1.2.3 and 5.2.3 in the wrapping of a packager. */
function bare(version: string): string {
  return version
    .replace(/[-_]ls\d+$/, '')
    .replace(/_v\d.*$/, '')
    .replace(/-\d{12,14}$/, '')
    .replace(/\+.*$/, '')
    .replace(/^version-/, '');
}

function readVersion(version: string): ReadTag | undefined {
  return readTag(bare(version));
}

function readTag(tag: string): ReadTag | undefined {
  if (tag.length > 200) return undefined;
  const at = Math.max(tag.lastIndexOf('/'), tag.lastIndexOf('@')) + 1;
  const plain = tag.slice(at).replace(/\+.*$/, '');
  const read = parseVersionTag(plain) ?? parseVersionTag(plain.replace(/^.*[_-](?=v?\d+\.\d)/, ''));
  if (read === undefined) return undefined;
  const before = tag.slice(0, at) + plain.slice(0, plain.length - read.tag.length) + read.prefix;
  const { numbers, stage } = read;
  const line = before
    .toLowerCase()
    .replace(/v$/, '')
    .replace(/[/@_.-]+$/, '');
  return {
    line: usualLines.includes(line) ? '' : line,
    numbers,
    stage,
    isEarly: stage?.isBefore === true,
  };
}

/** `2.1` and `2.1.1` count alike; `2026.6.2` and `34.0.0` do not, and neither do three numbers and four. */
function countAlike(one: readonly number[], other: readonly number[]): boolean {
  if (isYear(one[0]) !== isYear(other[0])) return false;
  return one.length === other.length || (one.length <= 3 && other.length <= 3);
}

function isYear(number = 0): boolean {
  return number >= 1990 && number < 2100;
}

function compare(one: ReadTag, other: ReadTag): number {
  const length = Math.max(one.numbers.length, other.numbers.length);
  const padded = (numbers: readonly number[]) => Array.from({ length }, (_, at) => numbers[at] ?? 0);
  return compareNumbers(padded(one.numbers), padded(other.numbers)) || (compareStages(one.stage, other.stage) ?? 0);
}

/** `2.9` and `2.9.0` are the same. */
function shortKeyOf({ numbers, stage }: ReadTag): string {
  const last = numbers.findLastIndex((number) => number !== 0);
  return keyOf({ numbers: numbers.slice(0, Math.max(1, last + 1)), stage });
}

function keyOf({ numbers, stage }: Pick<ReadTag, 'numbers' | 'stage'>): string {
  return `${numbers.join('.')}${JSON.stringify(stage ?? '')}`;
}

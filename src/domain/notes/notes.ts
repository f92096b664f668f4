import type { NotesSource, Repository, SourcePlace } from '../image/image-source.ts';
import type { NotesVerdict } from '../decision/decisions.ts';
import { parseVersionTag } from '../image/version-tag.ts';
import type { Block, ReadRelease } from './read-release.ts';
import type { Release, Step } from './releases.ts';

/** One question about a repository: the notes of some steps between versions. */
export type NotesQuestion = {
  readonly repository: Repository;
  readonly steps: readonly Step[];
  /** Of the last answer to the same steps. */
  readonly etag?: string | undefined;
};

/** A release whose notes are a tree. */
export type TreeRelease = Omit<Release, 'text'> & { readonly blocks: readonly Block[] };

/** The answer of a forge about one step. Without a release of the newer version, `url` compares the versions for people. */
export type StepAnswer =
  | {
      readonly kind: 'found';
      readonly releases: readonly TreeRelease[];
      readonly more: number;
      /** The list does not go back to the older version. */
      readonly lacksOlder?: true;
    }
  | { readonly kind: 'none'; readonly url: string };

/**
 * `unchanged`: the answers are those of the `etag`. `missing`: there is no such repository, or it is private. `failed`:
 * a clause, and the time before which a further request is of no use.
 */
export type NotesAnswer =
  | { readonly kind: 'read'; readonly etag: string | undefined; readonly steps: readonly StepAnswer[] }
  | { readonly kind: 'unchanged' | 'missing' }
  | { readonly kind: 'failed'; readonly reason: string; readonly retryAtMs?: number };

/** The forges that have release notes. Methods throw nothing but the signal's reason. */
export type Forges = {
  readonly read: (question: NotesQuestion, signal?: AbortSignal) => Promise<NotesAnswer>;
  readonly close: () => Promise<void>;
};

/**
 * Where the notes of a container's newer version are, found without a request. `off`: nobody wants them. `rebuilt`: the
 * same version in a newer image.
 */
export type NotesSubject =
  | { readonly kind: 'off' | 'rebuilt' }
  | { readonly kind: 'step'; readonly source: NotesSource; readonly step: Step | undefined };

/**
 * `unread`: not read yet, or in vain. `none`: the forge has no notes of the newer version. `no-source`: nobody names a
 * repository on a known host.
 */
export const notesStates = ['found', 'none', 'no-source', 'unread', 'off'] as const;

type NotesState = (typeof notesStates)[number];

export type NotedRelease = Omit<TreeRelease, 'blocks'> & ReadRelease;

export type Notes = {
  readonly state: NotesState;
  /** The address of the repository, or of a page for people. */
  readonly source?: string;
  readonly sourceFrom?: SourcePlace;
  /** The newest first. */
  readonly releases: readonly NotedRelease[];
  /** Number of further releases between the versions. */
  readonly more: number;
  /** There may be older ones that the forge was not asked for. */
  readonly lacksOlder?: true;
  /** A page about the newer version. */
  readonly url?: string;
  readonly readAtMs?: number;
  /** With `unread`: why, a clause, and when they are read again. Absent: they have not been read yet. */
  readonly error?: string;
  readonly retryAtMs?: number;
};

/** The notes in short, as lists show them. */
export type NotesSummary = Omit<Notes, 'releases'> & {
  readonly releases: number;
  readonly breaking: boolean;
  /** A heading such as "Migration", or notes elsewhere. It never holds an update. */
  readonly attention: boolean;
  /** Breaking changes first, then the new things. At most five lines of 200 characters. */
  readonly summary: readonly string[];
  /** Its first lines speak of breaking changes. */
  readonly breakingLines: number;
  /** Number of lines that the summary leaves out. */
  readonly leftOut: number;
  /** Not all notes between the versions could be read. */
  readonly isPartial: boolean;
};

export function summaryOf(notes: Notes): NotesSummary {
  const { releases, ...rest } = notes;
  const breaking = releases.flatMap((one) => one.breaking.map(({ text }) => text));
  const points = releases.flatMap((one) => one.points);
  const lines = [...new Set([...breaking, ...points])];
  return {
    ...rest,
    releases: releases.length,
    breaking: breaking.length > 0,
    attention: releases.some((one) => one.attention),
    summary: lines.slice(0, maxSummary),
    breakingLines: Math.min(new Set(breaking).size, maxSummary),
    leftOut: Math.max(0, lines.length - maxSummary),
    isPartial:
      notes.more > 0 || notes.lacksOlder === true || releases.some(({ isEmpty, isCut }) => isEmpty || isCut === true),
  };
}

const maxSummary = 5;

/** The notes in a message: at most three lines, and what they leave out. */
export type NotesLines = {
  readonly lines: readonly { readonly text: string; readonly isBreaking: boolean }[];
  readonly leftOut: number;
  readonly url?: string;
};

/** Undefined if nothing is known. */
export function linesOf({ state, summary, breakingLines, leftOut, url }: NotesSummary): NotesLines | undefined {
  if (state !== 'found') return undefined;
  const lines = summary.slice(0, maxLines).map((text, at) => ({ text, isBreaking: at < breakingLines }));
  const link = url === undefined ? {} : { url };
  return { lines, leftOut: leftOut + summary.length - lines.length, ...link };
}

/** Each has at most 200 characters. */
const maxLines = 3;

/**
 * The verdict of the notes for a hold. A failure that passes holds for a day after the step was first seen; notes that nobody
 * has written do not pass.
 */
export function verdictOnNotes(subject: NotesSubject, notes: Notes, seenAtMs: number | undefined): NotesVerdict {
  const release = notes.releases.findLast(({ breaking }) => breaking.length > 0);
  const [first] = release?.breaking ?? [];
  if (release !== undefined && first !== undefined)
    return { kind: 'breaking', why: `the notes of ${release.tag} speak of breaking changes ("${first.text}")` };
  if (subject.kind === 'rebuilt') return { kind: 'harmless' };
  const unread = (why: string) => ({ kind: 'unread', why, endsAtMs: undefined }) as const;
  switch (notes.state) {
    case 'found':
      return summaryOf(notes).isPartial ? unread('not all of its release notes can be read') : { kind: 'harmless' };
    case 'off':
      return unread('its release notes are not read, because that is turned off');
    case 'none':
      return unread('it has no release notes');
    case 'no-source':
      return unread('nothing names the repository with its release notes');
    case 'unread': {
      const why = notes.error === undefined ? 'have not been read yet' : `cannot be read (${notes.error})`;
      const isPassing = notes.readAtMs === undefined && seenAtMs !== undefined;
      return { ...unread(`its release notes ${why}`), endsAtMs: isPassing ? seenAtMs + maxHoldMs : undefined };
    }
  }
}

const maxHoldMs = 86_400_000;

/**
 * The step to read about for a newer version. The versions are those that are shown, or the tags if only these are versions; for a
 * rebuilt `latest` nothing says which version is newer.
 */
export function notesSubjectOf(
  { source, version, latestVersion, change, running, newer, isOn }: SubjectFacts,
  tagForm: string | undefined,
): NotesSubject {
  if (!isOn) return { kind: 'off' };
  if (change === 'build') return { kind: 'rebuilt' };
  const repository = source.kind === 'repository' ? source.repository.path : '';
  const names = [...new Set([lastPart(running.repository), lastPart(repository)].filter((name) => name !== ''))];
  const form = tagForm === undefined ? {} : { tagForm };
  const pairs = [
    [version, latestVersion],
    [running.tag, newer.tag],
  ] as const;
  for (const [from, to] of pairs)
    if (to !== undefined && to !== from && isVersion(to))
      return { kind: 'step', source, step: { from, to, names, ...form } };
  return { kind: 'step', source, step: undefined };
}

type SubjectFacts = {
  readonly source: NotesSource;
  readonly version?: string | undefined;
  readonly latestVersion?: string | undefined;
  readonly change?: string | undefined;
  readonly running: { readonly repository: string; readonly tag: string | undefined };
  readonly newer: { readonly tag: string | undefined };
  readonly isOn: boolean;
};

function lastPart(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

function isVersion(text: string): boolean {
  return (
    /\d/.test(text) && !/^[0-9a-f]{12}$/.test(text) && (parseVersionTag(text) !== undefined || /\d\.\d/.test(text))
  );
}

import type { NotesSource, Repository, SourcePlace } from '../image/image-source.ts';
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

/** What a forge has for one step. Without a release of the newer version, `url` compares the versions for people. */
export type StepAnswer =
  | { readonly kind: 'found'; readonly releases: readonly TreeRelease[]; readonly more: number }
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
  /** Requests to a host are paused until this time; undefined: they are not. */
  readonly pausedUntilMs: (host: string) => number | undefined;
  readonly close: () => Promise<void>;
};

/** Where the notes of a container's newer version are, found without a request. */
export type NotesSubject = { readonly source: NotesSource; readonly step: Step | undefined };

/**
 * `unread`: not read yet, or in vain. `none`: the forge has no notes of the newer version. `no-source`: nobody names a
 * repository on a known host.
 */
export const notesStates = ['found', 'none', 'no-source', 'unread', 'off'] as const;

export type NotesState = (typeof notesStates)[number];

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
  /** What breaks first, then what is new. At most five lines of 200 characters. */
  readonly summary: readonly string[];
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
    leftOut: Math.max(0, lines.length - maxSummary),
    isPartial: notes.more > 0 || releases.some(({ isEmpty }) => isEmpty),
  };
}

const maxSummary = 5;

/** The clause of a hold about the first sentence that speaks of breaking changes; undefined without one. */
export function breakingClause(notes: Notes): string | undefined {
  const release = notes.releases.findLast(({ breaking }) => breaking.length > 0);
  const [first] = release?.breaking ?? [];
  return release && first && `the notes of ${release.tag} speak of breaking changes (${first.text})`;
}

/**
 * The step between the versions as they are shown, or between the tags if those are versions. Undefined: nothing says
 * which version is newer, as for a rebuilt `latest`.
 */
export function stepBetween(
  shown: { readonly version?: string | undefined; readonly latestVersion?: string | undefined },
  tags: { readonly running: string | undefined; readonly newer: string | undefined },
  names: readonly string[],
  tagForm: string | undefined,
): Step | undefined {
  const form = tagForm === undefined ? {} : { tagForm };
  const isStep = (from: string | undefined, to: string | undefined) => to !== undefined && to !== from && isVersion(to);
  if (isStep(shown.version, shown.latestVersion) && shown.latestVersion !== undefined)
    return { from: shown.version, to: shown.latestVersion, names, ...form };
  if (isStep(tags.running, tags.newer) && tags.newer !== undefined)
    return { from: tags.running, to: tags.newer, names, ...form };
  return undefined;
}

function isVersion(text: string): boolean {
  return (
    /\d/.test(text) && !/^[0-9a-f]{12}$/.test(text) && (parseVersionTag(text) !== undefined || /\d\.\d/.test(text))
  );
}

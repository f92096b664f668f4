import type { NotesSource, Repository, SourcePlace } from '../image/image-source.ts';
import { parseVersionTag } from '../image/version-tag.ts';
import { putNewest } from '../text/plain-data.ts';
import { isJsonObject, isWholeNumber } from '../text/json.ts';
import { alerts, type Block, breakingRules, type ReadRelease } from './read-release.ts';
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
 * What to read for a newer version. The versions are those that are shown, or the tags if only these are versions; for a
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

/** Known notes with the time at which the step was first seen, for a hold that ends by itself. */
export type StoredNotes = {
  readonly key: string;
  readonly notes: Notes;
  readonly seenAtMs: number;
  readonly dueAtMs: number;
  readonly failures: number;
  readonly etag?: string;
};

/** Reads a record of the file. Undefined for any other value, also for a node that no reader of ours makes. */
export function readStoredNotes(value: unknown): StoredNotes | undefined {
  if (!isJsonObject(value)) return undefined;
  const { key, notes, seenAtMs, dueAtMs, failures, etag } = value;
  const isWhole = isText(key) && isWholeNumber(seenAtMs) && isWholeNumber(dueAtMs) && isWholeNumber(failures);
  if (!isWhole || !isNotes(notes)) return undefined;
  return { key, notes, seenAtMs, dueAtMs, failures, ...(isText(etag) && { etag }) };
}

/** The last record of each step; the newest ones, as many as there is room for. */
export function compactNotes(records: readonly StoredNotes[]): readonly StoredNotes[] {
  const last = new Map<string, StoredNotes>();
  for (const one of records) putNewest(last, one.key, one, maxStored);
  let room = maxStoredBytes;
  const newestFirst = [...last.values()].toReversed();
  return newestFirst.filter((one) => (room -= JSON.stringify(one).length) > 0).toReversed();
}

/** Steps of stale containers that are kept, and the length of all. */
export const maxStored = 500;
export const maxStoredBytes = 8 * 1024 * 1024;

function isNotes(value: unknown): value is Notes {
  if (!isJsonObject(value)) return false;
  const { state, releases, more, source, sourceFrom, url, readAtMs, error, retryAtMs } = value;
  return (
    notesStates.some((one) => one === state) &&
    isWholeNumber(more) &&
    [source, sourceFrom, url, error].every((text) => text === undefined || isText(text)) &&
    [readAtMs, retryAtMs].every((time) => time === undefined || isWholeNumber(time)) &&
    [source, url].every((text) => text === undefined || isAddress(text)) &&
    isListOf(releases, isNotedRelease)
  );
}

function isNotedRelease(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  const { tag, title, url, publishedAtMs, isPrerelease, blocks, breaking, attention, points, isEmpty } = value;
  const isHit = (hit: unknown) =>
    isJsonObject(hit) && isText(hit['text']) && breakingRules.some((rule) => rule === hit['rule']);
  return (
    [tag, title].every(isText) &&
    isAddress(url) &&
    (publishedAtMs === undefined || isWholeNumber(publishedAtMs)) &&
    [isPrerelease, attention, isEmpty].every((one) => typeof one === 'boolean') &&
    isListOf(blocks, (block) => isBlock(block, 0)) &&
    isListOf(breaking, isHit) &&
    isListOf(points, isText)
  );
}

function isBlock(value: unknown, depth: number): boolean {
  if (!isJsonObject(value) || depth > maxDepth) return false;
  const isInner = (block: unknown) => isBlock(block, depth + 1);
  switch (value['kind']) {
    case 'heading':
      return isWholeNumber(value['level']) && isListOf(value['spans'], (span) => isSpan(span, depth));
    case 'para':
      return isListOf(value['spans'], (span) => isSpan(span, depth));
    case 'list':
      return typeof value['isOrdered'] === 'boolean' && isListOf(value['items'], (item) => isListOf(item, isInner));
    case 'quote':
      return (
        isListOf(value['blocks'], isInner) &&
        (value['alert'] === undefined || alerts.some((one) => one === value['alert']))
      );
    case 'code':
      return typeof value['text'] === 'string';
    default:
      return value['kind'] === 'rule';
  }
}

function isSpan(value: unknown, depth: number): boolean {
  if (!isJsonObject(value) || depth > maxDepth) return false;
  const { kind, text, spans, href } = value;
  if (kind === 'text' || kind === 'code') return typeof text === 'string';
  if (kind === 'link' && !isAddress(href)) return false;
  return (kind === 'link' || kind === 'strong' || kind === 'em') && isListOf(spans, (span) => isSpan(span, depth + 1));
}

/** Deeper than any tree that was read. */
const maxDepth = 60;

function isListOf(value: unknown, isItem: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isItem);
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= 2000;
}

function isAddress(value: unknown): value is string {
  return isText(value) && value.startsWith('https://');
}

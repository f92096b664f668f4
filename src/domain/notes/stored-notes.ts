import { isJsonObject, isWholeNumber } from '../text/json.ts';
import { putNewest } from '../text/plain-data.ts';
import { type Notes, notesStates } from './notes.ts';
import { alerts, breakingRules } from './read-release.ts';

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
  const { state, releases, more, lacksOlder, source, sourceFrom, url, readAtMs, error, retryAtMs } = value;
  return (
    notesStates.some((one) => one === state) &&
    isWholeNumber(more) &&
    isTrueOrAbsent(lacksOlder) &&
    [source, sourceFrom, url, error].every((text) => text === undefined || isText(text)) &&
    [readAtMs, retryAtMs].every((time) => time === undefined || isWholeNumber(time)) &&
    [source, url].every((text) => text === undefined || isAddress(text)) &&
    isListOf(releases, isNotedRelease)
  );
}

function isNotedRelease(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  const { tag, title, url, publishedAtMs, isPrerelease, blocks, breaking, attention, points, isEmpty, isCut } = value;
  const isHit = (hit: unknown) =>
    isJsonObject(hit) && isText(hit['text']) && breakingRules.some((rule) => rule === hit['rule']);
  return (
    [tag, title].every(isText) &&
    isAddress(url) &&
    (publishedAtMs === undefined || isWholeNumber(publishedAtMs)) &&
    [isPrerelease, attention, isEmpty].every((one) => typeof one === 'boolean') &&
    isTrueOrAbsent(isCut) &&
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

function isTrueOrAbsent(value: unknown): boolean {
  return value === undefined || value === true;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= 2000;
}

function isAddress(value: unknown): value is string {
  return isText(value) && value.startsWith('https://');
}

import { putNewest } from '../text/plain-data.ts';
import { isDigest } from '../image/image-reference.ts';
import { isJsonObject, isWholeNumber } from '../text/json.ts';
import type { Now, Sighting } from './sightings.ts';

/**
 * The digests seen behind a tag, in their stored form. Times are of the wall clock, in milliseconds since the epoch.
 */
export type SeenTag = {
  readonly reference: string;
  /** The longest cooldown, in milliseconds, for which the tag was read. */
  readonly longestMs: number;
  /** Oldest first; the last is the current one. */
  readonly seen: readonly Sighting[];
};

/**
 * The form for the file. Undefined while the wall clock is plainly wrong, as on a machine without a hardware clock
 * before its first synchronisation.
 */
export function toWallClock(tag: SeenTag, { nowMs, monotonicMs }: Now): SeenTag | undefined {
  if (nowMs < earliestMs) return undefined;
  return withTimes(tag, (atMs) => Math.max(earliestMs, Math.round(nowMs - (monotonicMs - atMs))));
}

/** The form in memory. A sighting in the future was noted with a wrong clock, so it counts from now, as all do if `nowMs` is 0. */
export function toMonotonicClock(tag: SeenTag, { nowMs, monotonicMs }: Now): SeenTag {
  return withTimes(tag, (atMs) => monotonicMs - Math.max(0, nowMs - atMs));
}

function withTimes(tag: SeenTag, change: (atMs: number) => number): SeenTag {
  return { ...tag, seen: tag.seen.map((sighting) => ({ ...sighting, atMs: change(sighting.atMs) })) };
}

/** No sighting is older than this program. */
const earliestMs = Date.UTC(2025, 0, 1);

/** Reads a record of the file. Undefined for any other value. */
export function readSeenTag(value: unknown): SeenTag | undefined {
  if (!isJsonObject(value)) return undefined;
  const { reference, longestMs, seen } = value;
  if (typeof reference !== 'string' || reference === '' || reference.length > longestReference) return undefined;
  if (!isWholeNumber(longestMs) || !Array.isArray(seen) || seen.length === 0 || seen.length > mostSeen)
    return undefined;
  const sightings = seen.flatMap((each) => readSighting(each) ?? []);
  return sightings.length === seen.length ? { reference, longestMs, seen: sightings } : undefined;
}

function readSighting(value: unknown): Sighting | undefined {
  if (!isJsonObject(value)) return undefined;
  const { digest, atMs, sawItCome } = value;
  if (typeof digest !== 'string' || !isDigest(digest)) return undefined;
  if (!isWholeNumber(atMs) || atMs < earliestMs || typeof sawItCome !== 'boolean') return undefined;
  return { digest, atMs, sawItCome };
}

const longestReference = 1000;

const mostSeen = 100;

/** The last record of each tag, for the 10,000 tags that have moved last, oldest first. */
export function compactSeenTags(records: readonly SeenTag[]): readonly SeenTag[] {
  const tags = new Map<string, SeenTag>();
  for (const record of records) putNewest(tags, record.reference, record, mostSeenTags);
  return [...tags.values()];
}

/** More tags than an engine's containers use. */
export const mostSeenTags = 10_000;

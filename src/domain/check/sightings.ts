import { isDigest, type Digest } from '../image/image-reference.ts';
import { putNewest } from '../text/plain-data.ts';
import { isJsonObject, isWholeNumber } from '../text/json.ts';

/** The first time that a digest was seen behind a tag, by the monotonic clock, which cannot be set. */
export type Sighting = {
  readonly digest: Digest;
  readonly atMs: number;
  /** Another digest, or no such tag, was seen before, so this one is not older than its sighting. */
  readonly sawItCome: boolean;
};

/** Both clocks at one moment. */
export type Now = { readonly nowMs: number; readonly monotonicMs: number };

/** Age of a version, and the event from which it is counted. */
export type Age = { readonly ms: number; readonly since: 'built' | 'first seen' };

/** Age from the later of build time and first sighting. A missing or future build time is ignored. */
export function ageOf(
  { atMs, sawItCome }: Sighting,
  createdAtMs: number | undefined,
  { nowMs, monotonicMs }: Now,
): Age {
  const seenForMs = monotonicMs - atMs;
  const isDated = createdAtMs !== undefined && createdAtMs <= nowMs;
  if (sawItCome || !isDated || nowMs - createdAtMs < seenForMs) return { ms: seenForMs, since: 'first seen' };
  return { ms: nowMs - createdAtMs, since: 'built' };
}

/**
 * The tag's sightings with one more, oldest first; the last is the current one. If the tag moves back, the sightings in
 * between are dropped as withdrawn. Sightings too old for a cooldown of `maxMs` are dropped.
 */
export function withSighting(
  seen: readonly Sighting[],
  digest: Digest,
  { monotonicMs, maxMs, isNew = false }: SightingTimes,
): readonly Sighting[] {
  const known = seen.findIndex((sighting) => sighting.digest === digest);
  if (known !== -1) return withoutExpired(seen.slice(0, known + 1), monotonicMs - 2 * maxMs);
  const all = [...seen, { digest, atMs: monotonicMs, sawItCome: seen.length > 0 || isNew }];
  return thinned(withoutExpired(all, monotonicMs - 2 * maxMs));
}

/** `isNew`: the tag was missing in the last check. */
type SightingTimes = { readonly monotonicMs: number; readonly maxMs: number; readonly isNew?: boolean };

/**
 * Digests that may be applied while the newest of the tag is too young, the youngest first. They count only if the tag
 * has moved throughout twice the cooldown, and each must be older than the cooldown. `newer` are the sightings after
 * the running digest.
 */
export function eligibleOlderDigests(
  newer: readonly Sighting[],
  cooldownMs: number,
  monotonicMs: number,
): readonly Sighting[] {
  const isSeenFor = (ms: number) => (sighting: Sighting) => monotonicMs - sighting.atMs >= ms;
  if (!newer.slice(0, 1).some(isSeenFor(2 * cooldownMs))) return [];
  return newer.slice(0, -1).filter(isSeenFor(cooldownMs)).toReversed();
}

/** Drops all sightings before a time except the last of them. */
function withoutExpired(seen: readonly Sighting[], untilMs: number): readonly Sighting[] {
  const last = seen.findLastIndex(({ atMs }) => atMs <= untilMs);
  return last <= 0 ? seen : seen.slice(last);
}

const maxSightings = 64;

/** Drops the sighting with the closest neighbours in time, so that sightings of every age remain. */
function thinned(seen: readonly Sighting[]): readonly Sighting[] {
  if (seen.length <= maxSightings) return seen;
  const gapAt = (place: number) => (seen[place + 1]?.atMs ?? 0) - (seen[place - 1]?.atMs ?? 0);
  let least = 1;
  for (let place = 2; place < seen.length - 1; place += 1) if (gapAt(place) < gapAt(least)) least = place;
  return seen.toSpliced(least, 1);
}

/**
 * The digests seen behind a tag, in their stored form. Times are of the wall clock, in milliseconds since the epoch.
 */
export type SeenTag = {
  readonly reference: string;
  /** The longest cooldown, in milliseconds, for which the tag was read. */
  readonly maxMs: number;
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
  const { reference, maxMs, seen } = value;
  if (typeof reference !== 'string' || reference === '' || reference.length > maxReferenceLength) return undefined;
  if (!isWholeNumber(maxMs) || !Array.isArray(seen) || seen.length === 0 || seen.length > maxSeen) return undefined;
  const sightings = seen.flatMap((each) => readSighting(each) ?? []);
  return sightings.length === seen.length ? { reference, maxMs, seen: sightings } : undefined;
}

function readSighting(value: unknown): Sighting | undefined {
  if (!isJsonObject(value)) return undefined;
  const { digest, atMs, sawItCome } = value;
  if (typeof digest !== 'string' || !isDigest(digest)) return undefined;
  if (!isWholeNumber(atMs) || atMs < earliestMs || typeof sawItCome !== 'boolean') return undefined;
  return { digest, atMs, sawItCome };
}

const maxReferenceLength = 1000;

const maxSeen = 100;

/** The last record of each tag, for the 10,000 tags that have moved last, oldest first. */
export function compactSeenTags(records: readonly SeenTag[]): readonly SeenTag[] {
  const tags = new Map<string, SeenTag>();
  for (const record of records) putNewest(tags, record.reference, record, maxSeenTags);
  return [...tags.values()];
}

/** More tags than an engine's containers use. */
export const maxSeenTags = 10_000;

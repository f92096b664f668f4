import type { Digest } from '../image/image-reference.ts';

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
 * between are dropped as withdrawn. Sightings too old for a cooldown of `longestMs` are dropped.
 */
export function withSighting(
  seen: readonly Sighting[],
  digest: Digest,
  { monotonicMs, longestMs, isNew = false }: SightingTimes,
): readonly Sighting[] {
  const known = seen.findIndex((sighting) => sighting.digest === digest);
  if (known !== -1) return withoutExpired(seen.slice(0, known + 1), monotonicMs - 2 * longestMs);
  const all = [...seen, { digest, atMs: monotonicMs, sawItCome: seen.length > 0 || isNew }];
  return thinned(withoutExpired(all, monotonicMs - 2 * longestMs));
}

/** `isNew`: the tag was missing in the last check. */
type SightingTimes = { readonly monotonicMs: number; readonly longestMs: number; readonly isNew?: boolean };

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

const mostSightings = 64;

/** Drops the sighting with the closest neighbours in time, so that sightings of every age remain. */
function thinned(seen: readonly Sighting[]): readonly Sighting[] {
  if (seen.length <= mostSightings) return seen;
  const gapAt = (place: number) => (seen[place + 1]?.atMs ?? 0) - (seen[place - 1]?.atMs ?? 0);
  let least = 1;
  for (let place = 2; place < seen.length - 1; place += 1) if (gapAt(place) < gapAt(least)) least = place;
  return seen.toSpliced(least, 1);
}

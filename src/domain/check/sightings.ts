import type { Digest } from '../reference/digest.ts';

/** When a digest was first seen behind a tag, by the monotonic clock, which nobody can set. */
export type Sighting = {
  readonly digest: Digest;
  readonly atMs: number;
  /** Another digest was seen there before, so that this one has not been out for longer than it has been seen. */
  readonly sawItCome: boolean;
};

/** How long something has been out, and by what. */
export type Age = { readonly ms: number; readonly since: 'built' | 'first seen' };

/**
 * Counted from the later of what is known: when it was built, and when it was seen to come. A date
 * that is missing or in the future tells nothing; then it counts from when it was first seen.
 */
export function ageOf(
  { atMs, sawItCome }: Sighting,
  createdAtMs: number | undefined,
  { nowMs, monotonicMs }: { readonly nowMs: number; readonly monotonicMs: number },
): Age {
  const seenForMs = monotonicMs - atMs;
  const isDated = createdAtMs !== undefined && createdAtMs <= nowMs;
  if (sawItCome || !isDated || nowMs - createdAtMs < seenForMs) return { ms: seenForMs, since: 'first seen' };
  return { ms: nowMs - createdAtMs, since: 'built' };
}

/**
 * The sightings of a tag with one more, oldest first: the last is what is there now. When the tag
 * moves back, what came in between was withdrawn and is forgotten; so is what can be of no use any
 * more under a cooldown of `longestMs`.
 */
export function withSighting(
  seen: readonly Sighting[],
  digest: Digest,
  { monotonicMs, longestMs }: { readonly monotonicMs: number; readonly longestMs: number },
): readonly Sighting[] {
  const known = seen.findIndex((sighting) => sighting.digest === digest);
  if (known !== -1) return withoutSpent(seen.slice(0, known + 1), monotonicMs - 2 * longestMs);
  const all = [...seen, { digest, atMs: monotonicMs, sawItCome: seen.length > 0 }];
  return thinned(withoutSpent(all, monotonicMs - 2 * longestMs));
}

/**
 * What may be applied in place of a tag's newest digest that is too young, the youngest first: where
 * the tag has not come to rest for twice the cooldown, what has been out for the cooldown.
 * `newer`: what was seen of the tag since it was what runs.
 */
export function ripeInstead(newer: readonly Sighting[], cooldownMs: number, monotonicMs: number): readonly Sighting[] {
  const isSeenFor = (ms: number) => (sighting: Sighting) => monotonicMs - sighting.atMs >= ms;
  if (!newer.slice(0, 1).some(isSeenFor(2 * cooldownMs))) return [];
  return newer.slice(0, -1).filter(isSeenFor(cooldownMs)).toReversed();
}

/** Of those from before a time only the last counts. */
function withoutSpent(seen: readonly Sighting[], untilMs: number): readonly Sighting[] {
  const last = seen.findLastIndex(({ atMs }) => atMs <= untilMs);
  return last <= 0 ? seen : seen.slice(last);
}

const mostSightings = 64;

/** Those are left out whose neighbours are closest to each other, so that some of every age remain. */
function thinned(seen: readonly Sighting[]): readonly Sighting[] {
  if (seen.length <= mostSightings) return seen;
  const gapAt = (place: number) => (seen[place + 1]?.atMs ?? 0) - (seen[place - 1]?.atMs ?? 0);
  let least = 1;
  for (let place = 2; place < seen.length - 1; place += 1) if (gapAt(place) < gapAt(least)) least = place;
  return seen.toSpliced(least, 1);
}

import type { RemoteImage } from '../../../domain/outside/registry.ts';
import type { Digest } from '../../../domain/reference/digest.ts';
import type { ImageIndex } from '../../../domain/container/image-index.ts';
import type { ReadOnlyOutside } from '../../../domain/outside/outside.ts';
import type { Platform } from '../../../domain/reference/platform.ts';
import { ageOf, eligibleOlderDigests, type Sighting, type Now } from '../../../domain/check/sightings.ts';
import { judgeOlderDigest, seenSince } from '../../../domain/check/older-digest.ts';
import type { CheckSubject, Verdict } from '../../../domain/check/verdict.ts';
import { undefinedIfDeleted } from './find-candidate.ts';

export type MovingTag = {
  /** Digests of the tag, oldest first; the last is the current one. */
  readonly seen: readonly Sighting[];
  /** See `CooldownClock`. */
  readonly now: Now;
  readonly platform: Platform;
  readonly images: ImageIndex;
  readonly describe: (digest: Digest, platform: Platform) => Promise<RemoteImage>;
  readonly signal: AbortSignal | undefined;
};

/**
 * Finds an older version of the tag that is past its cooldown. Without it, a tag that moves often would hold a
 * container back for ever.
 */
export async function judgeMovingTag(
  { engine, clock }: ReadOnlyOutside,
  subject: CheckSubject,
  held: Verdict,
  { seen, now, platform, images, describe, signal }: MovingTag,
): Promise<Verdict> {
  if (held.eligibleAtMs === undefined) return held;
  const since = seenSince(subject, seen);
  const ripe = eligibleOlderDigests(since ?? seen, subject.inForce.cooldownMs, now.monotonicMs).slice(0, mostTries);
  const isOrderKnown = since !== undefined || ripe.length === 0;
  const own = isOrderKnown ? undefined : await engine.inspectImage(subject.imageId, signal);
  for (const sighting of ripe) {
    const latest = await describe(sighting.digest, platform).catch(undefinedIfDeleted);
    if (latest === undefined) continue;
    const age = ageOf(sighting, latest.createdAtMs, now);
    const order = isOrderKnown ? 'known' : { ownCreatedAtMs: own?.createdAtMs };
    const instead = judgeOlderDigest(
      subject,
      held,
      { latest, own: undefined, platform, nowMs: clock.nowMs(), age },
      images,
      order,
    );
    if (instead !== undefined) return instead;
  }
  return held;
}

/** A registry that has deleted the last few versions has deleted older ones too. */
const mostTries = 3;

import type { ImageIndex } from '../../../domain/container/image-index.ts';
import type { ReadOnlyOutside } from '../../../domain/outside/outside.ts';
import type { Digest } from '../../../domain/reference/digest.ts';
import type { Platform } from '../../../domain/reference/platform.ts';
import { ageOf, type Sighting, type Now } from '../../../domain/check/sightings.ts';
import { judgeContent } from '../../../domain/check/staleness.ts';
import type { CheckSubject, Verdict } from '../../../domain/check/verdict.ts';
import { undefinedIfDeleted } from './find-candidate.ts';
import { requireSignature } from './require-signature.ts';

export type ProvenVersion = {
  readonly digest: Digest;
  /** The sightings of the container's tag. */
  readonly seen: readonly Sighting[];
  /** See `CooldownClock`. */
  readonly now: Now;
  readonly outside: ReadOnlyOutside;
  readonly images: ImageIndex;
  readonly platform: Platform;
  readonly signal: AbortSignal | undefined;
};

/**
 * The verdict with the version that earlier waves run in place of the newest one. A failure in this container, a missing
 * signature, or a cooldown that is longer than that of earlier waves, holds it back too. Throws the registry's
 * `ServiceError`.
 */
export async function judgeProvenVersion(
  subject: CheckSubject,
  newest: Verdict,
  { digest, seen, now, outside, images, platform, signal }: ProvenVersion,
): Promise<Verdict> {
  const latest = await outside.registry
    .describe({ reference: subject.reference, digest, platform }, signal)
    .catch(undefinedIfDeleted);
  if (latest === undefined) return held(newest, 'but the registry no longer has the version of earlier waves');
  const sighting = seen.findLast((one) => one.digest === digest);
  const age = ageOf(sighting ?? { digest, atMs: now.monotonicMs, sawItCome: false }, latest.createdAtMs, now);
  const content = { latest, own: undefined, platform, nowMs: outside.clock.nowMs(), age };
  // If the newest version is past its cooldown, an earlier one is, too.
  const cooldownMs = newest.insteadDigest === undefined ? 0 : subject.inForce.cooldownMs;
  const judged = judgeContent({ ...subject, inForce: { ...subject.inForce, cooldownMs } }, content, images);
  const { status, reason, hold, eligibleAtMs, failedVersion } = judged;
  if (status === 'held') return { ...newest, status, reason, eligibleAtMs, failedVersion, ...(hold && { hold }) };
  if (status === 'fresh') return held(newest, 'and earlier waves run the same version as this container');
  if (status !== 'stale') return held(newest, `but the version of earlier waves cannot be used: ${reason}`);
  const { verified: _, ...rest } = newest;
  return requireSignature(outside, subject, { ...rest, insteadDigest: digest, instead: latest }, signal);
}

function held(newest: Verdict, why: string): Verdict {
  return { ...newest, status: 'held', hold: 'wave', reason: `${newest.reason}, ${why}` };
}

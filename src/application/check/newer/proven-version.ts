import { ServiceError } from '../../../domain/errors.ts';
import type { ImageIndex } from '../../../domain/container/image-index.ts';
import type { ReadOnlyOutside } from '../../../domain/outside/outside.ts';
import type { Digest } from '../../../domain/reference/digest.ts';
import type { Platform } from '../../../domain/reference/platform.ts';
import { judgeContent } from '../../../domain/check/staleness.ts';
import type { CheckSubject, Verdict } from '../../../domain/check/verdict.ts';
import { requireSignature } from './require-signature.ts';

export type ProvenVersion = {
  readonly digest: Digest;
  readonly outside: ReadOnlyOutside;
  readonly images: ImageIndex;
  readonly platform: Platform;
  readonly signal: AbortSignal | undefined;
};

/**
 * The verdict with the version that earlier waves run in place of the newest one. A failure in this container, or a
 * missing signature, holds it back too. The cooldown of the newest version is over, so its own is. Throws the
 * registry's `ServiceError`.
 */
export async function judgeProvenVersion(
  subject: CheckSubject,
  newest: Verdict,
  { digest, outside, images, platform, signal }: ProvenVersion,
): Promise<Verdict> {
  const latest = await outside.registry
    .describe({ reference: subject.reference, digest, platform }, signal)
    .catch(undefinedIfDeleted);
  if (latest === undefined) return held(newest, 'but the registry no longer has the version of earlier waves');
  const { inForce } = subject;
  const age = { ms: 0, since: 'built' } as const;
  const content = { latest, own: undefined, platform, nowMs: outside.clock.nowMs(), age };
  const judged = judgeContent({ ...subject, inForce: { ...inForce, cooldownMs: 0 } }, content, images);
  const { status, reason, failedVersion } = judged;
  if (status === 'held') return { ...newest, status, reason, hold: 'failed', failedVersion };
  if (status === 'fresh') return held(newest, 'and earlier waves run the same version as this container');
  if (status !== 'stale') return held(newest, `but the version of earlier waves cannot be used: ${reason}`);
  const instead = { ...newest, insteadDigest: digest };
  const signed = await requireSignature(outside, subject, { ...instead, newest: latest }, signal);
  return { ...instead, status: signed.status, reason: signed.reason, ...(signed.hold && { hold: signed.hold }) };
}

function held(newest: Verdict, why: string): Verdict {
  return { ...newest, status: 'held', hold: 'wave', reason: `${newest.reason}, ${why}` };
}

function undefinedIfDeleted(error: unknown): undefined {
  if (error instanceof ServiceError && error.code === 'registry-not-found') return undefined;
  throw error;
}

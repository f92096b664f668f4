import { defined } from '../../domain/text/plain-data.ts';
import type { ContainerSummary } from '../../domain/container/container.ts';
import type { CheckedFacts } from '../../domain/run/event.ts';
import { parseDigest, familiarReference, withTagOf, type Digest } from '../../domain/image/image-reference.ts';
import type { EntryKind } from '../../domain/run/session.ts';
import { type ImageIndex, versionFactsOf } from '../../domain/container/lookup.ts';
import type { TagOfCandidate, Verdict } from '../../domain/check/verdict.ts';
import type { ReadReference } from './select/container-references.ts';
import { type ImageVersions, versionOf, versionsBetween } from '../../domain/image/image-labels.ts';
import { sourceOf } from '../../domain/image/image-source.ts';
import { type CheckedContainer, imageIn } from './checked-container.ts';

/** Combines the verdict on a container with its other facts. */
export function describeChecked(
  { id, name, image: listed, imageId }: ContainerSummary,
  { kind, isCanary, read, verdict, noPull, images, nowMs }: DescribeFacts,
): CheckedContainer {
  const { status, reason, digest, latestDigest, latestImageId, error, eligibleAtMs, failedVersion } = verdict;
  const { insteadDigest = latestDigest, verified, cooldown, hold, retryAfterMs, otherFailures, hidesHigher } = verdict;
  const image = imageIn(read, listed);
  return {
    id,
    name,
    image,
    ...referencesOf(read?.kind === 'known' ? read.text : listed, verdict.candidate),
    imageId,
    digest,
    status,
    reason,
    updateAvailable: status === 'stale' || status === 'held',
    latestDigest,
    latestImageId,
    pullDigest: noPull ? undefined : insteadDigest,
    eligibleAtMs,
    error,
    failedVersion,
    ...defined({ verified, cooldown, otherFailures, hidesHigher, hold, kind, isCanary }),
    ...(retryAfterMs !== undefined && { retryAtMs: nowMs + retryAfterMs }),
    ...versionsOf(imageId, image, verdict, images),
    ...candidateOf(verdict, image),
  };
}

function referencesOf(reference: string, candidate: TagOfCandidate | undefined) {
  const successorReference = candidate === undefined ? reference : withTagOf(reference, candidate.reference);
  return { reference, successorReference };
}

function candidateOf({ status, candidate }: Verdict, image: string) {
  if (status !== 'stale' && status !== 'held') return {};
  if (candidate === undefined) return { candidate: image, candidateKind: 'digest' } as const;
  return { candidate: familiarReference(candidate.reference), candidateKind: candidate.kind };
}

type DescribeFacts = {
  readonly kind: EntryKind | undefined;
  readonly isCanary: true | undefined;
  readonly read: ReadReference | undefined;
  readonly verdict: Verdict;
  readonly noPull: boolean;
  readonly images: ImageIndex;
  readonly nowMs: number;
};

/** Fields of a check's event, without the verdict. */
export function checkedFacts(checked: CheckedContainer): CheckedFacts {
  const { candidate, candidateKind, hold, version, latestVersion, change } = checked;
  const { eligibleAtMs, retryAtMs, latestDigest } = checked;
  return defined({
    ...{ candidate, candidateKind, hold, version, latestVersion, change },
    ...{ eligibleAtMs, retryAtMs, latestDigest, candidateDigest: otherDigest(checked) },
  });
}

/** The digest that an update would apply, if it is not the newest one. */
export function otherDigest(checked: CheckedContainer): Digest | undefined {
  const digest = candidateDigest(checked);
  return digest === checked.latestDigest ? undefined : digest;
}

/** The digest of the version that an update would apply, or the id of an image that the engine already has. */
export function candidateDigest({
  updateAvailable,
  pullDigest,
  latestDigest,
  latestImageId = '',
}: Pick<CheckedContainer, 'updateAvailable' | 'pullDigest' | 'latestDigest' | 'latestImageId'>): Digest | undefined {
  return updateAvailable ? (pullDigest ?? latestDigest ?? parseDigest(latestImageId)) : undefined;
}

/** Names the running version and the newer one, without a further request. */
function versionsOf(imageId: string, image: string, verdict: Verdict, images: ImageIndex): ImageVersions {
  const running = versionFactsOf(images.byId(imageId), { image, digest: verdict.digest ?? imageId });
  const { status, latestDigest, latestImageId, newest, candidate } = verdict;
  if (status !== 'stale' && status !== 'held') return defined({ version: versionOf(running) });
  const present = latestImageId === undefined ? undefined : images.byId(latestImageId);
  const latestName = candidate === undefined ? image : familiarReference(candidate.reference);
  const digest = latestDigest ?? latestImageId ?? '';
  const listed = versionFactsOf(present, { image: latestName, digest });
  const labels = newest?.labels ?? listed.labels;
  const newer = newest === undefined ? listed : { labels, image: latestName, digest };
  return defined({
    ...versionsBetween(running, newer),
    sourceUrl: sourceOf({ labels, annotations: newest?.annotations, image: latestName }),
    releasedAtMs: newest?.createdAtMs,
    downloadBytes: present === undefined ? newest?.layerBytes : undefined,
  });
}

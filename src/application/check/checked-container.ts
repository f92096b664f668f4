import { defined } from '../../domain/text/defined.ts';
import type { Hold } from '../../domain/decision/hold.ts';
import type { ApprovalFrom, CandidateKind } from '../../domain/decision/approval.ts';
import type { WindowSetting } from '../../domain/settings/values/versions.ts';
import type { ContainerSummary } from '../../domain/container/container.ts';
import type { CheckedFacts } from '../../domain/run/event.ts';
import { type Digest, parseDigest } from '../../domain/reference/digest.ts';
import type { Cooldown, EntryKind } from '../../domain/run/session.ts';
import type { FailedVersion } from '../../domain/check/failed-version.ts';
import { type ImageIndex, labelsOfImage } from '../../domain/container/image-index.ts';
import { familiarReference, withTagOf } from '../../domain/reference/image-reference.ts';
import type { Staleness, TagOfCandidate, Verdict } from '../../domain/check/verdict.ts';
import type { ReadReference } from './container-references.ts';
import { sourceOf, changeBetween, type VersionChange, versionOf } from '../../domain/container/image-labels.ts';

export type CheckedContainer = ImageVersions & {
  readonly id: string;
  readonly name: string;
  /** Present with several engines. */
  readonly engine?: string;
  /** The reference that it was created from, in its short form. */
  readonly image: string;
  /** The reference that it was created from, verbatim. */
  readonly reference: string;
  /** The reference that its successor is created from: the same, or with the tag of a candidate. */
  readonly successorReference: string;
  readonly imageId: string;
  /** The registry digest of its image; undefined for a local build. */
  readonly digest: Digest | undefined;
  readonly status: Staleness;
  /** A sentence without a final period that gives the reason. */
  readonly reason: string;
  /** Also true for `held`: a newer version exists but is not applied. */
  readonly updateAvailable: boolean;
  readonly latestDigest: Digest | undefined;
  /** The id of the newer image if the engine already has it. */
  readonly latestImageId: string | undefined;
  /**
   * With `stale` and `held`: the name of the newer image in short form. For `digest` it is the container's own
   * reference.
   */
  readonly candidate?: string;
  /** The difference from the container's own tag. `digest` means the same tag with other content. */
  readonly candidateKind?: CandidateKind;
  /** Digest that an update pulls; undefined when it pulls nothing (`no-pull` uses the engine's image). */
  readonly pullDigest: Digest | undefined;
  /** End of the cooldown, milliseconds since the epoch; undefined without a cooldown. */
  readonly eligibleAtMs: number | undefined;
  /** The cooldown of the newest version, over or not. Undefined: it has none. */
  readonly cooldown?: Cooldown;
  /** Present when the check failed; then the status is `unknown`. */
  readonly error: string | undefined;
  /** A failure of the newest version in this container, also when the version is to be tried again. */
  readonly failedVersion: FailedVersion | undefined;
  /** Failures of other newer versions that still count. */
  readonly otherFailures?: readonly FailedVersion[];
  /** The kind of reason of `held` and `unknown`. */
  readonly hold?: Hold | undefined;
  /** When the registry may be asked again, milliseconds since the epoch; absent if the registry gave no time. */
  readonly retryAtMs?: number;
  /** Present if services of a swarm are watched. */
  readonly kind?: EntryKind;
  /** Present if a person may decide about the newer version, or a window holds it back. */
  readonly unrestrained?: UnheldVerdict;
};

/** Combines the verdict on a container with its other facts. */
export function describeChecked(
  { id, name, image: listed, imageId }: ContainerSummary,
  { kind, read, verdict, noPull, images, nowMs }: DescribeFacts,
): CheckedContainer {
  const { status, reason, digest, latestDigest, latestImageId, error, eligibleAtMs, failedVersion } = verdict;
  const { insteadDigest = latestDigest, cooldown, hold, retryAfterMs, otherFailures } = verdict;
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
    ...defined({ cooldown, otherFailures, hold, kind }),
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
  readonly read: ReadReference | undefined;
  readonly verdict: Verdict;
  readonly noPull: boolean;
  readonly images: ImageIndex;
  readonly nowMs: number;
};

/** Fields of a check's event, without the verdict. */
export function checkedFacts(checked: CheckedContainer): CheckedFacts {
  const { candidate, candidateKind, hold, version, latestVersion, change } = checked;
  return defined({ candidate, candidateKind, hold, version, latestVersion, change });
}

/** The reference of a container, as people write it. */
export function imageIn(read: ReadReference | undefined, listed: string): string {
  return read?.kind === 'known' ? familiarReference(read.reference) : (read?.text ?? listed);
}

/**
 * Rules that can hold a newer version back after the verdict. `window` is undefined when a person has asked for the
 * update now.
 */
export type HoldSettings = { readonly approval: ApprovalFrom; readonly window: WindowSetting | undefined };

/** The verdict on the newer version without these rules, so that it can be judged again. */
export type UnheldVerdict = HoldSettings & Pick<CheckedContainer, 'status' | 'reason' | 'hold' | 'eligibleAtMs'>;

/** The digest of the version that an update would apply, or the id of an image that the engine already has. */
export function candidateDigest({
  updateAvailable,
  pullDigest,
  latestDigest,
  latestImageId = '',
}: Pick<CheckedContainer, 'updateAvailable' | 'pullDigest' | 'latestDigest' | 'latestImageId'>): Digest | undefined {
  return updateAvailable ? (pullDigest ?? latestDigest ?? parseDigest(latestImageId)) : undefined;
}

/**
 * The running version, and facts about a newer image. A field is absent if it is unknown or there is no newer image.
 */
export type ImageVersions = {
  /** Version for display: see `versionOf`. */
  readonly version?: string;
  readonly latestVersion?: string;
  readonly change?: VersionChange;
  /** When the newer image was built, milliseconds since the epoch. */
  readonly releasedAtMs?: number;
  /** The compressed size of its layers. Absent when the engine already has it. */
  readonly downloadBytes?: number;
  readonly sourceUrl?: string;
};

/** Names the running version and the newer one, without a further request. */
function versionsOf(imageId: string, image: string, verdict: Verdict, images: ImageIndex): ImageVersions {
  const labels = labelsOfImage(images.byId(imageId));
  const version = versionOf({ labels, image, digest: verdict.digest ?? imageId });
  const { status, latestDigest, latestImageId, newest, candidate } = verdict;
  if (status !== 'stale' && status !== 'held') return defined({ version });
  const present = latestImageId === undefined ? undefined : images.byId(latestImageId);
  const latestLabels = labelsOfImage(present);
  const digest = latestDigest ?? latestImageId ?? '';
  const latestName = candidate === undefined ? image : familiarReference(candidate.reference);
  const latestVersion = newest?.version ?? versionOf({ labels: latestLabels, image: latestName, digest });
  const change =
    version === undefined || latestVersion === undefined ? undefined : changeBetween(version, latestVersion);
  const sourceUrl = newest?.sourceUrl ?? sourceOf(latestLabels);
  return defined({
    ...{ version, latestVersion, change, sourceUrl },
    releasedAtMs: newest?.createdAtMs,
    downloadBytes: present === undefined ? newest?.layerBytes : undefined,
  });
}

import type { ContainerSummary } from '../../domain/container/container.ts';
import { type ImageIndex, labelsOfImage } from '../../domain/container/image-index.ts';
import { changeBetween, type VersionChange, versionOf, sourceOf } from '../../domain/container/image-version.ts';
import { familiarReference } from '../../domain/reference/image-reference.ts';
import type { Verdict } from '../../domain/check/verdict.ts';

/**
 * The running version, and facts about a newer image. A field is absent where it is not known or there is no newer
 * image.
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

/** Names the running version and the newer one, from answers that are already known. */
export function versionsOf(
  { imageId }: Pick<ContainerSummary, 'imageId'>,
  image: string,
  verdict: Pick<Verdict, 'status' | 'digest' | 'latestDigest' | 'latestImageId' | 'newest' | 'candidate'>,
  images: ImageIndex,
): ImageVersions {
  const labels = labelsOfImage(images.byId(imageId));
  const version = versionOf({ labels, image, digest: verdict.digest ?? imageId });
  const own = { ...(version !== undefined && { version }) };
  const { status, latestDigest, latestImageId, newest, candidate } = verdict;
  if (status !== 'stale' && status !== 'held') return own;
  const present = latestImageId === undefined ? undefined : images.byId(latestImageId);
  const latestLabels = labelsOfImage(present);
  const digest = latestDigest ?? latestImageId ?? '';
  const latestName = candidate === undefined ? image : familiarReference(candidate.reference);
  const latestVersion = newest?.version ?? versionOf({ labels: latestLabels, image: latestName, digest });
  const change =
    version === undefined || latestVersion === undefined ? undefined : changeBetween(version, latestVersion);
  const sourceUrl = newest?.sourceUrl ?? sourceOf(latestLabels);
  const isPresent = present !== undefined;
  return {
    ...own,
    ...(latestVersion !== undefined && { latestVersion }),
    ...(change !== undefined && { change }),
    ...(newest?.createdAtMs !== undefined && { releasedAtMs: newest.createdAtMs }),
    ...(newest?.layerBytes !== undefined && !isPresent && { downloadBytes: newest.layerBytes }),
    ...(sourceUrl !== undefined && { sourceUrl }),
  };
}

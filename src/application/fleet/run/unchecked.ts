import type { TrackedContainer } from '../../../domain/inventory/inventory.ts';
import { isDigest } from '../../../domain/reference/digest.ts';
import type { ContainerOutcome } from '../../../domain/run/session.ts';
import type { CheckedContainer } from '../../check/checked-container.ts';

/** Containers of an engine that could not be reached, from its last listing: `unknown`, with the reason. */
export function uncheckedContainers(
  listed: readonly TrackedContainer[],
  engine: string,
  reason: string,
): readonly CheckedContainer[] {
  return listed.map(({ id, name, image, imageId, digest, version, kind }) => ({
    ...{ id, name, engine, image, reference: image, successorReference: image, imageId },
    digest: isDigest(digest) ? digest : undefined,
    ...{ status: 'unknown', reason, updateAvailable: false, error: reason },
    ...{ latestDigest: undefined, latestImageId: undefined, pullDigest: undefined },
    ...{ eligibleAtMs: undefined, failedVersion: undefined },
    ...(version !== undefined && { version }),
    ...(kind !== undefined && { kind }),
  }));
}

/** The same containers as outcomes of an update. */
export function unknownOutcomes(
  listed: readonly TrackedContainer[],
  engine: string,
  reason: string,
): readonly ContainerOutcome[] {
  return listed.map(({ id, name, image, imageId, digest, kind }) => ({
    ...{ name, engine, containerId: id, image, outcome: 'unknown', reason },
    ...{ oldImageId: imageId, newImageId: '', oldDigest: digest, newDigest: '' },
    ...(kind !== undefined && { kind }),
  }));
}

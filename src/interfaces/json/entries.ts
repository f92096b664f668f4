import type { Application } from '../../application/application.ts';
import type { ContainerOutcome } from '../../domain/session.ts';
import { toTimestamp } from './timestamps.ts';

type CheckedContainer = Awaited<ReturnType<Application['check']>>['containers'][number];

/** What a check found for a container; nothing is claimed of one that could not be checked. */
export function checkedEntry(container: CheckedContainer, atMs: number) {
  const { name, image, imageId, digest = '', status, reason, error } = container;
  const { updateAvailable, latestImageId = '', latestDigest = '' } = container;
  const entry = { name, image, image_id: imageId, digest, status, reason, timestamp: toTimestamp(atMs) };
  return error === undefined
    ? { ...entry, update_available: updateAvailable, latest_image_id: latestImageId, latest_digest: latestDigest }
    : { ...entry, update_available: false, latest_image_id: '', latest_digest: '', error };
}

/** What became of a container in an update. */
export function outcomeEntry(container: ContainerOutcome) {
  const { name, image, outcome, reason, oldImageId, newImageId, oldDigest, newDigest, downtimeMs } = container;
  return {
    name,
    image,
    outcome,
    reason,
    old_image_id: oldImageId,
    new_image_id: newImageId,
    old_digest: oldDigest,
    new_digest: newDigest,
    ...(downtimeMs === undefined ? {} : { downtime_ms: Math.round(downtimeMs) }),
  };
}

import type { Application } from '../../application/application.ts';
import type { ContainerOutcome, PhaseTimes } from '../../domain/session.ts';
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

/** What became of a container in an update; of one that failed with its last words. */
export function outcomeEntry(container: ContainerOutcome) {
  const { name, image, outcome, reason, oldImageId, newImageId, oldDigest, newDigest } = container;
  const { downtimeMs, phases, log } = container;
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
    ...(phases === undefined ? {} : { phases_ms: phasesEntry(phases) }),
    ...(log === undefined ? {} : { log }),
  };
}

/** `{ "checking_health": 10012 }` */
function phasesEntry(phases: PhaseTimes): Readonly<Record<string, number>> {
  return Object.fromEntries(
    Object.entries(phases).map(([phase, ms]) => [phase.replaceAll(' ', '_'), Math.round(ms)] as const),
  );
}

import type { TrackedContainer } from '../../domain/inventory/inventory.ts';
import { toTimestamp } from './timestamps.ts';

/** All that is known of a watched container; `checked_at` is absent before its first check. */
export function detailsEntry(container: TrackedContainer) {
  return {
    name: container.name,
    image: container.image,
    image_id: container.imageId,
    digest: container.digest,
    running: container.running,
    watchtower: container.self,
    self: container.self,
    monitor_only: container.monitorOnly,
    no_pull: container.noPull,
    enabled: container.enabled,
    stale: container.stale,
    scope: container.scope,
    id: container.id,
    created: toTimestamp(container.createdAtMs),
    status: container.status,
    health: container.health,
    update_available: container.updateAvailable,
    latest_digest: container.latestDigest,
    reason: container.reason,
    depends_on: container.dependsOn,
    labels_in_effect: container.labelsInEffect,
    settings: container.settings,
    ...(container.checkedAtMs === undefined ? {} : { checked_at: toTimestamp(container.checkedAtMs) }),
  };
}

import type { TrackedContainer } from '../../domain/inventory/inventory.ts';
import type { LastCheck } from '../../domain/inventory/inventory.ts';
import type { PastOutcome } from '../../domain/run/session.ts';
import { downtimeEntry, engineEntry, newerEntry, phasesEntry, versionsEntry } from './entries.ts';
import { known } from './known.ts';
import { toTimestamp } from './timestamps.ts';

/** All data about a watched container. `checked_at` is absent before its first check. */
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
    ...known(container.startedAtMs, (ms) => ({ started_at: toTimestamp(ms) })),
    ...(container.checkedAtMs === undefined ? {} : { checked_at: toTimestamp(container.checkedAtMs) }),
    can_roll_back: container.canRollBack,
    ...known(container.project, (project) => ({ project })),
    ...known(container.version, (version) => ({ version })),
    ...verdictEntry(container),
    ...engineEntry(container),
    ...known(container.kind, (kind) => ({ kind })),
    ...known(container.mode, (mode) => ({
      mode,
      replicas: { wanted: container.wantedTasks, running: container.runningTasks },
    })),
    ...known(container.updateState, (state) => ({ update_state: state })),
    ...known(container.last, (last) => ({ last: pastEntry(last) })),
  };
}

/** The result of the last check as data, so that clients need not interpret the reason. */
function verdictEntry(check: LastCheck) {
  return {
    ...known(check.staleness, (verdict) => ({ verdict })),
    ...known(check.candidateDigest, (digest) => ({ candidate_digest: digest })),
    ...known(check.hold, (hold) => ({ hold })),
    ...known(check.eligibleAtMs, (ms) => ({ eligible_at: toTimestamp(ms) })),
    ...known(check.retryAtMs, (ms) => ({ retry_at: toTimestamp(ms) })),
    ...newerEntry(check),
  };
}

function pastEntry({ outcome, atMs, runId }: PastOutcome) {
  const { outcome: kind, reason, log } = outcome;
  return {
    outcome: kind,
    at: toTimestamp(atMs),
    ...versionsEntry(outcome),
    reason,
    ...downtimeEntry(outcome),
    ...known(outcome.phases, (phases) => ({ phases_ms: phasesEntry(phases) })),
    ...known(log, () => ({ log })),
    run_id: runId,
  };
}

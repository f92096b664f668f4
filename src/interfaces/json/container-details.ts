import type { TrackedContainer, LastCheck } from '../../domain/inventory.ts';
import type { PastOutcome } from '../../domain/run/session.ts';
import { downtimeEntry, newerEntry, phasesEntry, versionsEntry } from './entries.ts';
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
    started_at: toTimestamp(container.startedAtMs),
    checked_at: toTimestamp(container.checkedAtMs),
    can_roll_back: container.canRollBack,
    project: container.project,
    version: container.version,
    ...verdictEntry(container),
    engine: container.engine,
    kind: container.kind,
    mode: container.mode,
    replicas: container.mode && { wanted: container.wantedTasks, running: container.runningTasks },
    update_state: container.updateState,
    last: container.last && pastEntry(container.last),
  };
}

/** The result of the last check as data, so that clients need not interpret the reason. */
function verdictEntry(check: LastCheck) {
  return {
    verdict: check.staleness,
    candidate_digest: check.candidateDigest,
    hold: check.hold,
    eligible_at: toTimestamp(check.eligibleAtMs),
    retry_at: toTimestamp(check.retryAtMs),
    ...newerEntry(check),
  };
}

function pastEntry({ outcome, atMs, runId }: PastOutcome) {
  return {
    outcome: outcome.outcome,
    at: toTimestamp(atMs),
    ...versionsEntry(outcome),
    reason: outcome.reason,
    ...downtimeEntry(outcome),
    phases_ms: phasesEntry(outcome.phases),
    log: outcome.log,
    run_id: runId,
  };
}

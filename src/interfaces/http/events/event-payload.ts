import { percentOf, type ServiceEvent } from '../../../domain/run/event.ts';
import type { ContainerOutcome } from '../../../domain/run/session.ts';
import { downtimeEntry, tagChangeEntry } from '../../json/entries.ts';
import { toTimestamp } from '../../json/timestamps.ts';
import type { RunOptions, StepEvent } from '../service/parts.ts';

/** Data of an event for stream clients; undefined for an internal event. */
export function payloadOf(event: ServiceEvent, options: RunOptions): object | undefined {
  switch (event.kind) {
    case 'scan_started':
      return { run_id: event.runId, purpose: event.purpose, trigger: event.trigger, ...shownOptions(options) };
    case 'scan_completed': {
      const { runId, purpose, scanned, updated, failed, restarted, skipped, wentBack: went_back } = event;
      return { run_id: runId, purpose, scanned, updated, failed, restarted, skipped, went_back };
    }
    case 'scan_failed':
      return { run_id: event.runId, purpose: event.purpose, error: event.error };
    case 'update_started': {
      const { runId, container, entryKind: kind, image, formerImage, from, to, isRollback: rollback } = event;
      const tags = { from_image: formerImage, to_image: formerImage && image };
      return { run_id: runId, container, kind, image, from, to, ...tags, rollback };
    }
    case 'update_completed': {
      const rollback = event.outcome.outcome === 'went_back' || undefined;
      return { run_id: event.runId, ...shownOutcome(event.outcome), rollback };
    }
    case 'update_deferred':
      return { run_id: event.runId, ...shownOutcome(event.outcome), reason: event.outcome.reason };
    case 'update_failed': {
      const { reason, outcome } = event.outcome;
      return {
        run_id: event.runId,
        ...shownOutcome(event.outcome),
        error: reason,
        rolled_back: outcome === 'rolled_back',
      };
    }
    case 'image_cleanup':
      return {
        run_id: event.runId,
        images: event.images.map(({ imageId, imageName, containerId, containerName }) => ({
          image_id: imageId,
          image_name: imageName,
          container_id: containerId,
          container_name: containerName,
        })),
      };
    case 'engine_unreachable':
      return { error: event.error };
    case 'engine_reachable':
      return {};
    case 'scan_skipped':
    case 'containers_selected':
    case 'container_checked':
    case 'pull_progress':
    case 'phase_entered':
    case 'earlier_updates_settled':
      return undefined;
  }
}

function shownOutcome(outcome: ContainerOutcome) {
  const { name, kind, image, oldImageId, newImageId, tagChange } = outcome;
  const images = { image, from: oldImageId, to: newImageId, ...tagChangeEntry(tagChange) };
  return { container: name, kind, ...images, ...downtimeEntry(outcome) };
}

function shownOptions(options: RunOptions) {
  return {
    cleanup: options.cleanup,
    no_restart: options.noRestart,
    monitor_only: options.monitorOnly,
    lifecycle_hooks: options.lifecycleHooks,
    rolling_restart: options.rollingRestart,
    label_precedence: options.labelTakesPrecedence,
    no_pull: options.noPull,
    run_once: options.runOnce,
    use_compose_depends_on: options.useComposeDependsOn,
    skip_self_update: options.skipSelfUpdate,
    revive_stopped: options.reviveStopped,
  };
}

/** Data of a step, sent only with `extra=true`. */
export function stepPayloadOf(event: StepEvent): object {
  const { runId: run_id, container } = event;
  switch (event.kind) {
    case 'phase_entered':
      return { run_id, container, kind: event.entryKind, phase: event.phase, tasks: event.tasks };
    case 'pull_progress': {
      const { bytes, totalBytes } = event.progress;
      const percent = percentOf(event.progress);
      return { run_id, container, percent, current_bytes: bytes, total_bytes: totalBytes };
    }
    case 'container_checked': {
      const { image, status: verdict, reason, checked = {} } = event;
      return {
        run_id,
        container,
        kind: event.entryKind,
        image,
        verdict,
        reason,
        hold: checked.hold,
        eligible_at: toTimestamp(checked.eligibleAtMs),
        retry_at: toTimestamp(checked.retryAtMs),
        latest_digest: checked.latestDigest,
        candidate_digest: checked.candidateDigest,
        version: checked.version,
        latest_version: checked.latestVersion,
        candidate: checked.candidate,
        candidate_kind: checked.candidateKind,
        change: checked.change,
      };
    }
  }
}

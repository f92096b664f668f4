import type { Application } from '../../application/application.ts';
import type { ContainerOutcome, PhaseTimes } from '../../domain/run/session.ts';
import type { UnfinishedUpdate } from '../../domain/recovery/unfinished-update.ts';
import type { EngineRuns } from '../../domain/fleet/engine-run.ts';
import { known } from './known.ts';
import { toTimestamp } from './timestamps.ts';

type CheckedContainer = Awaited<ReturnType<Application['check']>>['containers'][number];

/** Result of a check for one container. An unchecked one has no fields about updates. */
export function checkedEntry(container: CheckedContainer, atMs: number) {
  const { name, image, imageId, digest = '', status, reason, error } = container;
  const { updateAvailable, latestImageId = '', latestDigest = '' } = container;
  const more = {
    ...known(container.version, (version) => ({ version })),
    ...newerEntry(container),
    ...known(container.hold, (hold) => ({ hold })),
    ...known(container.eligibleAtMs, (ms) => ({ eligible_at: toTimestamp(ms) })),
    ...known(container.retryAtMs, (ms) => ({ retry_at: toTimestamp(ms) })),
    ...engineEntry(container),
    ...known(container.kind, (kind) => ({ kind })),
  };
  const entry = { name, image, image_id: imageId, digest, status, reason, timestamp: toTimestamp(atMs) };
  return error === undefined
    ? {
        ...entry,
        update_available: updateAvailable,
        latest_image_id: latestImageId,
        latest_digest: latestDigest,
        ...more,
      }
    : { ...entry, update_available: false, latest_image_id: '', latest_digest: '', error, ...more };
}

/** Version and facts of the newer image, if there is one. */
export function newerEntry(newer: NewerFacts) {
  return {
    ...known(newer.latestVersion, (version) => ({ latest_version: version })),
    ...known(newer.candidate, (candidate) => ({ candidate })),
    ...known(newer.candidateKind, (kind) => ({ candidate_kind: kind })),
    ...known(newer.change, (change) => ({ change })),
    ...known(newer.releasedAtMs, (ms) => ({ released_at: toTimestamp(ms) })),
    ...known(newer.downloadBytes, (bytes) => ({ download_bytes: bytes })),
    ...known(newer.sourceUrl, (url) => ({ source_url: url })),
  };
}

type NewerFacts = Pick<
  CheckedContainer,
  'latestVersion' | 'candidate' | 'candidateKind' | 'change' | 'releasedAtMs' | 'downloadBytes' | 'sourceUrl'
>;

/** Present with several engines. */
export function engineEntry({ engine }: { readonly engine?: string }) {
  return known(engine, (name) => ({ engine: name }));
}

/** The engines of a run; absent with one engine. */
export function enginesField({ engines }: EngineRuns) {
  return known(engines, (runs) => ({
    engines: runs.map(({ name, result, error, durationMs }) => ({
      ...{ name, result },
      ...known(error, (why) => ({ error: why })),
      duration_ms: Math.round(durationMs),
    })),
  }));
}

type Unfinished = Pick<UnfinishedUpdate, 'name' | 'state' | 'reason'> & {
  readonly image: string;
  readonly engine?: string;
};

/** Absent without interrupted updates, so that other output does not change. */
export function unfinishedField(unfinished: readonly Unfinished[]) {
  if (unfinished.length === 0) return {};
  return {
    unfinished: unfinished.map((one) => {
      const { name, image, state, reason } = one;
      return { name, image, state, reason, ...engineEntry(one) };
    }),
  };
}

/** Outcome of a container in an update; a failed one with its last log lines. */
export function outcomeEntry(container: ContainerOutcome) {
  const { name, image, outcome, reason, oldImageId, newImageId, oldDigest, newDigest } = container;
  const { phases, log } = container;
  return {
    name,
    image,
    outcome,
    reason,
    old_image_id: oldImageId,
    new_image_id: newImageId,
    old_digest: oldDigest,
    new_digest: newDigest,
    ...downtimeEntry(container),
    ...(phases === undefined ? {} : { phases_ms: phasesEntry(phases) }),
    ...(log === undefined ? {} : { log }),
    ...versionsEntry(container),
    ...engineEntry(container),
    ...known(container.kind, (kind) => ({ kind })),
  };
}

/** Versions before and after, and for an update to another tag the references. */
export function versionsEntry({ from, to, tagChange }: Pick<ContainerOutcome, 'from' | 'to' | 'tagChange'>) {
  return {
    ...known(from, (version) => ({ from: version })),
    ...known(to, (version) => ({ to: version })),
    ...tagChangeEntry(tagChange),
  };
}

export function tagChangeEntry(tagChange: ContainerOutcome['tagChange']) {
  return known(tagChange, (change) => ({ from_image: change.from, to_image: change.to }));
}

/** The downtime of a container, with the times of stopping and of no process. */
export function downtimeEntry({ downtimeMs, stoppingMs }: Pick<ContainerOutcome, 'downtimeMs' | 'stoppingMs'>) {
  if (downtimeMs === undefined) return {};
  const downtime = Math.round(downtimeMs);
  if (stoppingMs === undefined) return { downtime_ms: downtime };
  const stopping = Math.round(stoppingMs);
  return { downtime_ms: downtime, stopping_ms: stopping, down_ms: downtime - stopping };
}

/** `{ "checking_health": 10012 }` */
export function phasesEntry(phases: PhaseTimes): Readonly<Record<string, number>> {
  return Object.fromEntries(
    Object.entries(phases).map(([phase, ms]) => [phase.replaceAll(' ', '_'), Math.round(ms)] as const),
  );
}

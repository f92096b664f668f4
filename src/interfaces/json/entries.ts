import type { Application } from '../../application/application.ts';
import type { Decision } from '../../domain/decision/decisions.ts';
import type { ContainerOutcome, PhaseTimes, EngineRuns, PastOutcome } from '../../domain/run/session.ts';
import { composeNote } from '../../domain/compose/compose-state.ts';
import { toTimestamp } from './timestamps.ts';
import type { PlannedTransaction } from '../../domain/plan/update-plan.ts';
import type { TrackedContainer, LastCheck, UnfinishedTracked } from '../../domain/inventory.ts';
import type { ServiceSettings } from '../../domain/settings/effective-settings.ts';

/** Derived from `Application`, which is all that an interface knows of a check. */
export type CheckedContainer = Awaited<ReturnType<Application['check']>>['containers'][number];

/**
 * Result of a check for one container. An unchecked one has no newer image. Unknown values are undefined in all
 * entries, and JSON omits them.
 */
export function checkedEntry(container: CheckedContainer, atMs: number) {
  const checked = container.error === undefined ? container : undefined;
  return {
    name: container.name,
    image: container.image,
    image_id: container.imageId,
    digest: container.digest ?? '',
    status: container.status,
    reason: container.reason,
    timestamp: toTimestamp(atMs),
    update_available: checked?.updateAvailable ?? false,
    latest_image_id: checked?.latestImageId ?? '',
    latest_digest: checked?.latestDigest ?? '',
    error: container.error,
    version: container.version,
    ...newerEntry(container),
    compose: composeEntry(container.compose),
    hold: container.hold,
    hold_because: container.holdBecause,
    eligible_at: toTimestamp(container.eligibleAtMs),
    retry_at: toTimestamp(container.retryAtMs),
    notes: notesEntry(container.notes),
    engine: container.engine,
    kind: container.kind,
  };
}

/** How a container's image stands in its compose file; absent if nobody has looked. */
export function composeEntry(compose: CheckedContainer['compose']) {
  if (compose === undefined) return undefined;
  const { state, reason, detail, file, line, says, from, to, services } = compose;
  return { state, reason, detail, file, line, file_says: says, from, to, services, note: composeNote(compose) };
}

/** Version and facts of the newer image, if there is one. */
function newerEntry(newer: NewerFacts) {
  return {
    latest_version: newer.latestVersion,
    candidate: newer.candidate,
    candidate_kind: newer.candidateKind,
    change: newer.change,
    released_at: toTimestamp(newer.releasedAtMs),
    download_bytes: newer.downloadBytes,
    source_url: newer.sourceUrl,
  };
}

type NewerFacts = Pick<
  CheckedContainer,
  'latestVersion' | 'candidate' | 'candidateKind' | 'change' | 'releasedAtMs' | 'downloadBytes' | 'sourceUrl'
>;

type Notes = Pick<CheckedContainer, 'notes'>['notes'];

/** The release notes of the newer version in short, if there is one. */
function notesEntry(notes: Notes) {
  return (
    notes && {
      state: notes.state,
      source: notes.source,
      source_from: notes.sourceFrom,
      releases: notes.releases,
      more: notes.more,
      breaking: notes.breaking,
      attention: notes.attention,
      partial: notes.isPartial,
      summary: notes.summary,
      left_out: notes.leftOut,
      url: notes.url,
      read_at: toTimestamp(notes.readAtMs),
      error: notes.error,
      retry_at: toTimestamp(notes.retryAtMs),
    }
  );
}

/** The release notes of a container's newer version; with `isWhole` also their texts. */
export function containerNotesEntry(
  found: Exclude<ReturnType<Application['notesOf']>, 'several' | undefined>,
  isWhole: boolean,
) {
  const { name, engine, image, version, latestVersion, candidate, summary, releases } = found;
  return {
    container: name,
    engine,
    image,
    version,
    latest_version: latestVersion,
    candidate,
    notes: notesEntry(summary),
    ...(isWhole && {
      list: releases.map((one) => ({
        tag: one.tag,
        title: one.title,
        url: one.url,
        published_at: toTimestamp(one.publishedAtMs),
        prerelease: one.isPrerelease,
        breaking: one.breaking,
        attention: one.attention,
        points: one.points,
        blocks: one.blocks,
      })),
    }),
  };
}

/** The engines of a run; absent with one engine. */
export function enginesField({ engines }: EngineRuns) {
  return {
    engines: engines?.map(({ name, result, error, durationMs }) => ({
      name,
      result,
      error,
      duration_ms: Math.round(durationMs),
    })),
  };
}

/** A past run of the history. */
export type HistoryEntry = ReturnType<Application['history']>[number];

export function historyEntry(entry: HistoryEntry) {
  const { scanned, updated, failed, restarted, skipped, trigger, by, failures } = entry;
  const wentBack = entry.containers.filter(({ outcome }) => outcome === 'went_back').length;
  return {
    timestamp: toTimestamp(entry.timestampMs),
    scanned,
    updated,
    failed,
    restarted,
    skipped,
    rolled_back: entry.rolledBack,
    ...(wentBack > 0 && { went_back: wentBack }),
    run_id: entry.runId,
    trigger,
    ...(by !== undefined && { by }),
    duration_ms: Math.round(entry.durationMs),
    failures,
    containers: entry.containers.map(outcomeEntry),
    ...enginesField(entry),
  };
}

/** Absent without interrupted updates, so that other output does not change. */
export function unfinishedField(unfinished: readonly Omit<UnfinishedTracked, 'isAbandoned'>[]) {
  if (unfinished.length === 0) return {};
  return {
    unfinished: unfinished.map(({ name, image, state, reason, isDown: down, engine }) => ({
      name,
      image,
      state,
      reason,
      down,
      engine,
    })),
  };
}

/** Outcome of a container in an update; a failed one with its last log lines. */
export function outcomeEntry(container: ContainerOutcome) {
  return {
    name: container.name,
    image: container.image,
    outcome: container.outcome,
    verdict: container.verdict,
    hold: container.hold,
    reason: container.reason,
    old_image_id: container.oldImageId,
    new_image_id: container.newImageId,
    old_digest: container.oldDigest,
    new_digest: container.newDigest,
    ...downtimeEntry(container),
    phases_ms: phasesEntry(container.phases),
    data: container.data && dataEntry(container.data),
    log: container.log,
    ...versionsEntry(container),
    compose: composeEntry(container.compose),
    engine: container.engine,
    kind: container.kind,
  };
}

/** The data that the update has copied. Its times are among the phases. */
function dataEntry({ bytes, files, isRestored, keptUntilMs }: NonNullable<ContainerOutcome['data']>) {
  return {
    bytes,
    files,
    restored: isRestored,
    ...(keptUntilMs !== undefined && { kept_until: toTimestamp(keptUntilMs) }),
  };
}

/** Versions before and after, and for an update to another tag the references. */
function versionsEntry({ from, to, tagChange }: Pick<ContainerOutcome, 'from' | 'to' | 'tagChange'>) {
  return { from, to, ...tagChangeEntry(tagChange) };
}

export function tagChangeEntry(tagChange: ContainerOutcome['tagChange']) {
  return { from_image: tagChange?.from, to_image: tagChange?.to };
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
function phasesEntry(phases: PhaseTimes | undefined): Readonly<Record<string, number>> | undefined {
  if (phases === undefined) return undefined;
  return Object.fromEntries(
    Object.entries(phases).map(([phase, ms]) => [phase.replaceAll(' ', '_'), Math.round(ms)] as const),
  );
}

/** A decision of a person about one new version. */
export function decisionEntry({ id, kind, container, engine, digest, tag, by, atMs, untilMs }: Decision) {
  return {
    id,
    container,
    decision: kind,
    digest,
    tag,
    engine,
    by,
    at: toTimestamp(atMs),
    until: toTimestamp(untilMs),
  };
}

type PlanReport = Awaited<ReturnType<Application['plan']>>;

/** The plan of an update: one entry for each container that is changed or skipped, in the order of execution. */
export function planEntries({ report, plan }: PlanReport) {
  const checked = new Map(report.containers.map((container) => [container.id, container]));
  const transactions = [...plan.transactions, ...(plan.doors ?? []), ...(plan.self ? [plan.self] : [])];
  const leaders = new Map(transactions.map((each) => [each.id, each.members[0]?.container.name ?? '']));
  const services = plan.services ?? [];
  const moved = new Set([
    ...transactions.flatMap(({ members }) => members.map(({ container }) => container.id)),
    ...services.map(({ id }) => id),
  ]);
  const refused = new Map(plan.refused.map(({ id, reason }) => [id, reason]));
  const skipped = report.containers.filter(({ id, status }) => !moved.has(id) && status !== 'fresh');
  return [
    ...transactions.flatMap((transaction) => memberEntries(transaction, leaders, checked)),
    ...plan.restarts.map(({ container, because }) => ({
      name: container.name,
      image: container.settings.Config.Image,
      action: 'restart',
      because: `it depends on ${because.map(({ name }) => name).join(', ')}`,
      depends_on: because.map(({ name }) => name),
      reason: '',
      engine: checked.get(container.id)?.engine,
    })),
    ...services.map(({ id, name, image, after }) => ({
      name,
      image,
      from: checked.get(id)?.version,
      to: checked.get(id)?.latestVersion,
      action: 'update',
      because: 'a newer image',
      depends_on: after,
      reason: checked.get(id)?.reason ?? '',
      engine: checked.get(id)?.engine,
      kind: 'service',
    })),
    ...skipped.map(({ id, name, engine, kind, image, version, latestVersion, reason, error, status }) => ({
      name,
      image,
      from: version,
      to: latestVersion,
      action: 'skip',
      because: refused.has(id) ? 'refused' : status,
      depends_on: [],
      reason: refused.get(id) ?? error ?? reason,
      engine,
      kind,
    })),
  ];
}

function memberEntries(
  { members, after }: PlannedTransaction,
  leaders: ReadonlyMap<string, string>,
  checked: ReadonlyMap<string, PlanReport['report']['containers'][number]>,
) {
  const names = new Map(members.map(({ container }) => [container.id, container.name]));
  return members.map(({ container, cause, reference, formerReference, hardDependencies, data }) => {
    const { image = reference, version, latestVersion, reason = '', engine } = checked.get(container.id) ?? {};
    const held = hardDependencies.flatMap((id) => names.get(id) ?? []);
    const isStale = cause === 'stale';
    return {
      name: container.name,
      image,
      from: version,
      to: isStale ? latestVersion : version,
      to_image: formerReference && reference,
      action: isStale ? 'update' : 'restart',
      because: isStale ? 'a newer image' : `it is linked to ${held.join(', ')}`,
      depends_on: [...new Set([...after.flatMap((id) => leaders.get(id) ?? []), ...held])],
      reason: isStale ? reason : '',
      data: data && plannedDataEntry(data),
      engine,
    };
  });
}

type PlannedData = NonNullable<PlannedTransaction['members'][number]['data']>;

/** Paths whose data an update copies, and the others with their reasons. */
export function plannedDataEntry({ items, left }: PlannedData) {
  return { saved: items.flatMap(({ paths }) => paths).toSorted(), not_saved: left };
}

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
    hold_because: check.holdBecause,
    eligible_at: toTimestamp(check.eligibleAtMs),
    retry_at: toTimestamp(check.retryAtMs),
    ...newerEntry(check),
    compose: composeEntry(check.compose),
    notes: notesEntry(check.notes),
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
    data: outcome.data && dataEntry(outcome.data),
    log: outcome.log,
    run_id: runId,
  };
}

/** The effective settings, and every option with the source of its value. */
export type Configuration = {
  readonly config: Pick<
    ServiceSettings,
    | 'monitorOnly'
    | 'cleanup'
    | 'noPull'
    | 'noRestart'
    | 'rollingRestart'
    | 'includeStopped'
    | 'includeRestarting'
    | 'lifecycleHooks'
    | 'labelEnable'
  > & {
    /** The selection of watched containers, as a sentence. */
    readonly filterDescription: string;
    /** Empty: none. */
    readonly scope: string;
  };
  /** Secrets are already redacted. */
  readonly options: readonly ConfiguredOption[];
};

export type ConfiguredOption = {
  /** The flag's name, or the variable's without a flag. */
  readonly name: string;
  /** Empty: none. A secret is shown as `***`. */
  readonly value: string;
  /** The flag or variable of the value, or `default`. */
  readonly source: string;
  /** Whether a user has set it. */
  readonly given: boolean;
  /** A sentence without a final period. */
  readonly meaning: string;
};

export function configurationEntry({ config, options }: Configuration) {
  return {
    config: {
      monitor_only: config.monitorOnly,
      cleanup: config.cleanup,
      no_pull: config.noPull,
      no_restart: config.noRestart,
      rolling_restart: config.rollingRestart,
      include_stopped: config.includeStopped,
      include_restarting: config.includeRestarting,
      lifecycle_hooks: config.lifecycleHooks,
      label_enable: config.labelEnable,
      filter_desc: config.filterDescription,
      scope: config.scope,
    },
    options,
  };
}

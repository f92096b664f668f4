import { defined, formatBytes } from '../../domain/text/plain-data.ts';
import { formatDuration, printTime } from '../../domain/text/duration.ts';
import { describeWithRemedy, describeError } from '../../domain/text/errors.ts';
import { isAlive, type Container } from '../../domain/container/container.ts';
import type { CopyProgress } from '../../domain/run/event.ts';
import type { PlannedMember, PlannedTransaction } from '../../domain/plan/update-plan.ts';
import {
  downtimeOf,
  type ContainerOutcome,
  type OutcomeKind,
  type EntryKind,
  type UpdatePhase,
} from '../../domain/run/session.ts';
import { stepKey } from '../../domain/transaction/member.ts';
import type { ServiceSettings } from '../../domain/settings/effective-settings.ts';
import { describeForbidden, howToPermit, permissions } from '../../domain/outside/permission.ts';
import type { ContainerFacts, MemberFacts } from '../../domain/transaction/facts.ts';
import type { OpenTransaction } from './open-transaction.ts';
import { PreparationError, type PreparedMember } from './prepare.ts';
import type { TransactResult } from './transact.ts';
import type { CallOutcome } from '../../domain/outside/engine.ts';
import { failedVersionTag, otherNames, type FailedVersion } from '../../domain/check/known-versions.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import { parseLink } from '../../domain/container/recipe/container-recipe.ts';
import { quoted } from '../../domain/text/printable.ts';

/** The facts about a member before its update has ended. */
export function describeMember({
  planned,
  oldDigest,
}: Pick<PreparedMember, 'planned' | 'oldDigest'>): Omit<ContainerOutcome, 'outcome' | 'reason' | 'newImageId'> {
  const { container, digest } = planned;
  const { id: containerId, name, imageId: oldImageId } = container;
  return { name, containerId, ...referencesOf(planned), oldImageId, oldDigest, newDigest: digest ?? '' };
}

/** The references of a container that is not updated. */
function referencesOf({ reference, formerReference }: PlannedMember) {
  if (formerReference === undefined) return { image: reference };
  return { image: formerReference, tagChange: { from: formerReference, to: reference } };
}

/** The outcome for a member whose transaction could not be prepared. It was not changed. */
export function unprepared(
  member: PlannedMember,
  planned: PlannedTransaction,
  error: unknown,
  signal: AbortSignal | undefined,
): ContainerOutcome {
  const { container } = member;
  const base = { ...describeMember({ planned: member, oldDigest: '' }), newImageId: '' };
  if (signal?.aborted) return { ...base, outcome: 'skipped', reason: 'the run was cancelled' };
  const culprit = error instanceof PreparationError ? error.containerId : undefined;
  if (culprit === undefined || culprit === container.id) {
    const busy = error instanceof PreparationError && error.code === 'busy';
    return { ...base, outcome: busy ? 'deferred' : 'failed', reason: describeWithRemedy(error) };
  }
  const name = planned.members.find((candidate) => candidate.container.id === culprit)?.container.name ?? '';
  return {
    ...base,
    outcome: 'skipped',
    reason: `it moves together with "${name}", which could not be prepared: ${describeWithRemedy(error)}`,
  };
}

type Reached = {
  readonly result: TransactResult;
  readonly index: number;
  readonly transaction: Pick<OpenTransaction, 'stopTimes' | 'setsNoMarks'>;
} & Pick<ServiceSettings, 'cleanup'>;

/** The outcome of one member, from the result of its transaction and the last facts. */
export function outcomeOf(member: PreparedMember, { result, index, transaction, cleanup }: Reached): ContainerOutcome {
  const id = member.planned.container.id;
  const log = result.logs.get(id);
  const facts = result.facts?.members[index];
  const data = dataOutcomeOf(result, { facts, atMs: Date.parse(result.startedAt.get(id) ?? '') });
  const sharesCopy = index > 0 && facts?.data !== undefined ? (true as const) : undefined;
  const base = { ...describeMember(member), newImageId: member.image.id, ...defined({ log, data, sharesCopy }) };
  const failed = (why: string): ContainerOutcome => ({
    ...base,
    outcome: 'failed',
    reason: `${result.reason}; ${why}`,
  });
  if (result.result === 'left') return { ...base, outcome: 'deferred', reason: leftToNextStart };
  const isGone = facts !== undefined && facts.new === undefined && !facts.autoRemoves;
  const hasNoWayBack = facts?.old === undefined && facts?.new?.place === 'name';
  const staysCopy = data?.isRestored === false ? '; the copy of its data stays too: upkeep data list' : '';
  const stays = `the old container was removed meanwhile, so the new version stays${staysCopy}`;
  if (result.result === 'committed' && result.failedImages.size > 0 && hasNoWayBack) return failed(stays);
  if (result.result === 'committed' && !isGone) {
    const outcome: OutcomeKind = member.planned.cause === 'stale' ? 'updated' : 'restarted';
    const remarks = [
      result.warnings.get(id) ?? leftStopped(member.planned),
      member.filesInDoubt,
      facts?.wasUnhealthy === true && member.planned.desiredEndState === 'running' ? notWaitedFor : '',
      leftBehind(result, facts?.old, 'old container'),
      cleanup && transaction.setsNoMarks && outcome === 'updated' ? oldImageStays : '',
    ];
    const reason = remarks.filter((remark) => remark !== '').join('; ');
    const time = outage(result.startedAt.get(id));
    const taken = defined({ newContainerId: facts?.new?.id });
    const { reference: image } = member.planned;
    return { ...base, ...taken, image, outcome, reason, ...(facts?.startsFirst ? { downtimeMs: 0 } : time) };
  }
  const left = leftBehind(result, facts?.new, 'failed one');
  const reason = `${result.reason}${copied(facts)}${left === '' ? '' : `; ${left}`}`;
  const untried: ContainerOutcome = { ...base, outcome: result.busy ? 'deferred' : 'failed', reason };
  if (result.result === 'undone' && result.parked !== 'any' && !result.parked.has(id)) return untried;
  // Another updater may have begun to update it as soon as it was back.
  const isWithRival = result.result === 'undone' && facts?.nameHeldBy === 'rival';
  const isBack = facts?.old?.place === 'name' && (isAlive(facts.old.status) || !facts.wasRunning);
  const restored = facts !== undefined && (isBack || isWithRival);
  if (result.result === 'undone' && hasNoWayBack) return failed(stays);
  if (facts !== undefined && facts.old === undefined && facts.new === undefined && facts.nameHeldBy === 'nobody')
    return failed(whyGone(result.refusals.get(stepKey({ kind: 'autoRemoveReplica', member: index }))));
  if (result.result === 'stuck' || !restored) {
    if (result.isDataStuck) return { ...base, outcome: 'failed', reason: result.reason, isUnfinished: true };
    const state = restored ? 'the old container is back, but not fully restored' : 'the container is not back yet';
    return { ...failed(`${state}, the next run or start of Upkeep tries again`), isUnfinished: true };
  }
  const wasTried = result.stopped || (facts.startsFirst && result.hasStarted);
  if (!wasTried) return untried;
  return { ...base, outcome: 'rolled_back', reason, ...outage(facts.old?.startedAt) };

  /** A container that did not run before has no outage. */
  function outage(startedAt: string | undefined) {
    if (!isAlive(member.planned.container.state.status)) return {};
    return downtimeOf({ stopSentAtMs: transaction.stopTimes.sentAtMs(id), endedAt: result.endedAt.get(id), startedAt });
  }
}

/** The same outcome, whose reason also says what became of its data. */
export function withDataRemark(outcome: ContainerOutcome): ContainerOutcome {
  const { data, phases = {}, reason } = outcome;
  if (data === undefined) return outcome;
  const { bytes, isRestored, keptUntilMs } = data;
  const tookMs = phases['restoring data'];
  const took = tookMs === undefined ? '' : ` in ${formatDuration(Math.round(tookMs / 100) * 100)}`;
  const remarks = [
    reason,
    isRestored ? `its data restored (${formatBytes(bytes)}${took})` : '',
    keptUntilMs === undefined ? '' : `the copy of its data is kept until ${printTime(keptUntilMs)}`,
  ];
  return { ...outcome, reason: remarks.filter((remark) => remark !== '').join('; ') };
}

/** The update of a container whose health check was not awaited. */
export const leftToNextStart =
  'Upkeep was stopped while the health of the new version was checked; the next start of Upkeep finishes the update, or undoes it if the version is not healthy';

const notWaitedFor = 'its HEALTHCHECK was not waited for, because it was unhealthy before the update';

/** `refusal`: why the old container cannot be created again. Undefined if a person removed it, which is not undone. */
function whyGone(refusal: string | undefined): string {
  return refusal === undefined
    ? 'someone removed the old container and the new one meanwhile, so it must be created again'
    : `a prune removed the old container and the new one, so it must be created again; Upkeep failed to: ${refusal}`;
}

/** The remark about a container that could not be removed, and that is in nobody's way. */
function leftBehind({ refusals }: TransactResult, container: ContainerFacts | undefined, which: string): string {
  const why = container && refusals.get(stepKey({ kind: 'remove', id: container.id }));
  if (container?.place !== 'kept' || why === undefined) return '';
  const remedy = why.includes(permissions.remove.call) ? `. ${howToPermit(['remove'])}` : '';
  return `the ${which} stays, stopped, because it could not be removed: ${why}${remedy}`;
}

const oldImageStays = `the old image stays: ${describeForbidden(['untag'])}. ${howToPermit(['untag'])}`;

/** The old container may also have been removed by a restarted engine because of --rm. */
function copied(facts: MemberFacts | undefined): string {
  if (facts?.isReplica !== true) return '';
  return facts.autoRemoves
    ? '; it runs again as a copy without --rm, until its next update'
    : '; a prune had removed it, so it was created again with the same settings';
}

/** Undefined if nothing was copied. */
function dataOutcomeOf(
  { figures, data, result }: TransactResult,
  { facts, atMs }: { readonly facts: MemberFacts | undefined; readonly atMs: number },
): ContainerOutcome['data'] {
  if (figures === undefined || data.savedOf === undefined) return undefined;
  const { bytes, files } = figures;
  const keepMs = result === 'committed' ? (facts?.data?.keepMs ?? 0) : 0;
  const isKept = keepMs > 0 && !Number.isNaN(atMs);
  return { bytes, files, isRestored: data.isRestored, ...(isKept && { keptUntilMs: atMs + keepMs }) };
}

/**
 * The remark for a running container whose successor was not started. A stopped container stays stopped without a
 * remark.
 */
function leftStopped({ desiredEndState, container }: PlannedMember): string {
  return desiredEndState === 'stopped' && isAlive(container.state.status)
    ? 'created and left stopped, as no-restart asks: it has not been proven'
    : '';
}

type Failure = {
  readonly name: string;
  /** The image to which the container was rolled back. */
  readonly oldImageId: string;
  readonly failedImageId: string;
};

/** `failedImages`: the failed image by the id of the old container. */
export function failuresOf(
  { members }: Pick<OpenTransaction, 'members'>,
  failedImages: ReadonlyMap<string, string>,
): readonly Failure[] {
  return members.flatMap(({ name, oldId, oldImageId }) => {
    const failedImageId = failedImages.get(oldId);
    return failedImageId === undefined ? [] : [{ name, oldImageId, failedImageId }];
  });
}

/**
 * Stores failed versions in the engine, so that they are not tried again. A failure to do so costs one more attempt at
 * most, so it is never an error.
 */
export async function rememberFailures(
  outside: Outside,
  failures: readonly Failure[],
  askedBy?: string,
): Promise<void> {
  for (const { name, oldImageId, failedImageId } of failures) {
    const tag = failedVersionTag(name, failedImageId, outside.clock.nowMs(), askedBy);
    if (tag === undefined || oldImageId === '') continue;
    const outcome = await outside.engine.tagImage(oldImageId, tag);
    if (isDone(outcome)) continue;
    outside.log.warn('A failed version cannot be stored: it will be tried again', {
      container: name,
      error: outcome.message,
    });
  }
}

/** Removes stored failures. A tag that is the only reference to an image stays: only the clean-up removes images. */
export async function forgetFailures(outside: Outside, versions: readonly FailedVersion[]): Promise<void> {
  for (const { tag } of versions) {
    try {
      const image = await outside.engine.inspectImage(tag);
      if (image === undefined || otherNames(image, tag).length === 0) continue;
      const outcome = await outside.engine.removeImage(tag);
      if (!isDone(outcome)) outside.log.debug('A failed version cannot be forgotten', { tag, error: outcome.message });
    } catch (error) {
      outside.log.warn('A failed version cannot be forgotten', { tag, error: describeError(error) });
    }
  }
}

function isDone(outcome: CallOutcome): outcome is Extract<CallOutcome, { kind: 'done' | 'noop' }> {
  return outcome.kind === 'done' || outcome.kind === 'noop';
}

/** The aliases of a container's legacy links, and the name of each link's target; `''` if that is not known. */
type LinkTargets = ReadonlyMap<string, string>;

export function linksOf({ settings }: Pick<Container, 'settings'>): LinkTargets {
  const links = (settings.HostConfig.Links ?? []).map(parseLink);
  return new Map(links.map(({ alias, target }) => [alias, target]));
}

/**
 * A clause about a restored container that has lost links; empty if it has all of them. Docker resolves link targets
 * when Docker itself starts. If the name of a target is then free or belongs to another container, the link is lost
 * until the next start of the engine.
 */
export async function describeLostLinks(
  { engine }: Pick<Outside, 'engine'>,
  oldId: string,
  wanted: LinkTargets | undefined,
): Promise<string> {
  if (wanted === undefined || wanted.size === 0) return '';
  const container = await engine.inspectContainer(oldId).catch(() => undefined);
  if (container === undefined) return '';
  const has = linksOf(container);
  const lost = [...wanted].filter(([alias, target]) => !has.has(alias) || (target !== '' && has.get(alias) !== target));
  if (lost.length === 0) return '';
  const which = lost.map(([alias]) => quoted(alias)).join(', ');
  const links = lost.length === 1 ? `its link ${which}` : `its links ${which}`;
  return `; "${container.name}" has lost ${links}, because the engine ended meanwhile: restart the engine, or recreate the container`;
}

/**
 * The aliases of each successor's links, by the id of the old container. The names of the targets stay empty, because
 * targets have other names during a transaction.
 */
export async function linksOfSuccessors(
  { engine }: Pick<Outside, 'engine'>,
  successors: ReadonlyMap<string, string>,
): Promise<ReadonlyMap<string, LinkTargets>> {
  const found = new Map<string, LinkTargets>();
  for (const [oldId, id] of successors) {
    const successor = await engine.inspectContainer(id).catch(() => undefined);
    if (successor === undefined) continue;
    found.set(oldId, new Map([...linksOf(successor).keys()].map((alias) => [alias, ''])));
  }
  return found;
}

type Announcer = Pick<Outside, 'publish' | 'clock'>;

/** `from` and `to` are image ids or digests. `to` is empty when it is not known. */
type BegunChange = {
  readonly name: string;
  readonly entryKind?: EntryKind;
  readonly image: string;
  readonly formerImage?: string | undefined;
  readonly from: string;
  readonly to: string;
};

/** Publishes that the change of one container begins: an update, a restart or a rollback. */
export function announceStart({ publish, clock }: Announcer, runId: string, change: BegunChange): void {
  const { name: container, formerImage, ...images } = change;
  const former = formerImage !== undefined && { formerImage };
  publish({ kind: 'update_started', runId, container, ...images, ...former, atMs: clock.nowMs() });
}

/** Publishes the phase that the change of one container has reached. */
export function announcePhase(
  { publish }: Pick<Announcer, 'publish'>,
  runId: string,
  container: string,
  phase: UpdatePhase,
  progress: { readonly windowMs?: number; readonly copied?: CopyProgress } = {},
): void {
  publish({ kind: 'phase_entered', runId, container, phase, ...progress });
}

/** Publishes the end of the change of one container. */
export function announceEnd({ publish, clock }: Announcer, runId: string, outcome: ContainerOutcome): void {
  publish({ kind: endOf[outcome.outcome], runId, outcome, atMs: clock.nowMs() });
}

const endOf: Readonly<Record<OutcomeKind, 'update_completed' | 'update_failed' | 'update_deferred'>> = {
  updated: 'update_completed',
  went_back: 'update_completed',
  restarted: 'update_completed',
  fresh: 'update_completed',
  deferred: 'update_deferred',
  skipped: 'update_deferred',
  failed: 'update_failed',
  rolled_back: 'update_failed',
  unknown: 'update_failed',
};

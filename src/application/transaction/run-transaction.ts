import type { WhileUnproven } from './steps/step-context.ts';
import type { TransactOptions, TransactResult } from './transact-options.ts';
import type { MemberFacts } from '../../domain/transaction/facts.ts';
import { describeWithRemedy } from '../../domain/errors.ts';
import { isAlive } from '../../domain/container/container.ts';
import { outageOf } from '../../domain/run/outage.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import type { ContainerOutcome, OutcomeKind, UpdatePhase } from '../../domain/run/session.ts';
import type { ServiceSettings } from '../../domain/settings/settings.ts';
import { composeFileRemark } from '../../domain/plan/compose-file.ts';
import type { PlannedMember, PlannedTransaction } from '../../domain/plan/update-plan.ts';
import { rememberFailures } from './failed-versions.ts';
import type { OpenTransaction } from './facts/facts.ts';
import { tellLostLinks } from './lost-links.ts';
import { openTransaction } from './open-transaction.ts';
import { createPhaseWatch } from './phase-times.ts';
import {
  PreparationError,
  type PreparedMember,
  type PreparedTransaction,
  prepareTransaction,
} from './facts/prepare.ts';
import { handOver } from '../hand-over/hand-over.ts';
import { transact } from './transact.ts';

export type RunTransaction = typeof runTransaction;

/**
 * Moves one group to its new images, or leaves it as it was. Never throws for failures outside Upkeep: it
 * returns outcomes, one per member in the plan's order.
 */
export async function runTransaction(
  outside: Outside,
  settings: ServiceSettings,
  planned: PlannedTransaction,
  { runId, onHandedOver, whileUnproven }: TransactionRun,
  signal?: AbortSignal,
): Promise<readonly ContainerOutcome[]> {
  const { publish, clock } = outside;
  for (const { container, reference, formerReference, digest } of planned.members) {
    publish({
      kind: 'update_started',
      runId,
      container: container.name,
      image: reference,
      ...(formerReference !== undefined && { formerImage: formerReference }),
      from: container.imageId,
      to: digest ?? '',
      atMs: clock.nowMs(),
    });
  }
  const phases = createPhaseWatch(clock);
  const enter: EnterPhase = (container, phase) => {
    phases.enter(container, phase);
    publish({ kind: 'phase_entered', runId, container, phase });
  };
  const reached = await move(outside, settings, planned, { runId, enter, onHandedOver, whileUnproven }, signal);
  const outcomes = reached.map((outcome) => {
    const times = phases.read(outcome.name);
    return times === undefined ? outcome : { ...outcome, phases: times };
  });
  for (const outcome of outcomes) {
    publish({ kind: endOf[outcome.outcome], runId, outcome, atMs: clock.nowMs() });
  }
  return outcomes;
}

export type TransactionRun = {
  readonly runId: string;
  /** Given for the update of our own container: called once a helper has taken it over. */
  readonly onHandedOver?: (() => void) | undefined;
  readonly whileUnproven?: WhileUnproven | undefined;
};

type EnterPhase = (container: string, phase: UpdatePhase) => void;

const endOf: Readonly<Record<OutcomeKind, 'update_completed' | 'update_failed' | 'update_deferred'>> = {
  updated: 'update_completed',
  restarted: 'update_completed',
  fresh: 'update_completed',
  deferred: 'update_deferred',
  skipped: 'update_deferred',
  failed: 'update_failed',
  rolled_back: 'update_failed',
  unknown: 'update_failed',
};

async function move(
  outside: Outside,
  settings: ServiceSettings,
  planned: PlannedTransaction,
  { runId, enter, onHandedOver, whileUnproven }: TransactionRun & { readonly enter: EnterPhase },
  signal?: AbortSignal,
): Promise<readonly ContainerOutcome[]> {
  let prepared: PreparedTransaction;
  try {
    prepared = await prepareTransaction(
      outside,
      settings,
      planned,
      { runId, onPull: (name) => enter(name, 'pulling') },
      signal,
    );
  } catch (error) {
    return planned.members.map((member) => unprepared(member, planned, error, signal));
  }
  if (prepared.members.every(({ planned: { container }, image }) => image.id === container.imageId)) {
    return prepared.members.map((member) => ({
      ...describe(member),
      outcome: 'fresh',
      reason: 'the newer digest holds the same image',
      newImageId: member.image.id,
    }));
  }
  const transaction = openTransaction(outside, settings, prepared, planned);
  const onPhase = (phase: UpdatePhase) => {
    for (const { planned: member } of prepared.members) enter(member.container.name, phase);
  };
  const result = await transact({
    ...{ outside, settings, signal, transaction, onPhase, whileUnproven },
    mode: { kind: onHandedOver === undefined ? 'update' : 'hand-over', prepared },
  });
  if (result.result === 'aside')
    return [await letHelperFinish({ outside, settings, prepared, transaction, onPhase, onHandedOver })];
  const failures = prepared.members.flatMap(({ planned: { container } }) => {
    const failedImageId = result.failedImages.get(container.id);
    return failedImageId === undefined ? [] : [{ name: container.name, oldImageId: container.imageId, failedImageId }];
  });
  await rememberFailures(outside, failures);
  const reached = prepared.members.map((member, index) => outcomeOf(member, { result, index, transaction }));
  return Promise.all(reached.map((outcome, index) => withLostLinks(outside, outcome, prepared.members[index])));
}

type Handing = Pick<TransactOptions, 'outside' | 'settings' | 'transaction' | 'onPhase'> &
  Pick<TransactionRun, 'onHandedOver'> & { readonly prepared: PreparedTransaction };

/**
 * Hands the update of our own container to a helper; it is the only member. Without a helper nothing
 * changes, and the successor that was created aside is removed.
 */
async function letHelperFinish({ prepared, onHandedOver, ...options }: Handing): Promise<ContainerOutcome> {
  const [member] = prepared.members;
  if (member === undefined) throw new Error('a transaction without members');
  const { container, reference } = member.planned;
  const base = { ...describe(member), newImageId: member.image.id };
  const failure = await handOver(options.outside, {
    transaction: options.transaction.id,
    name: container.name,
    oldId: container.id,
    oldImageId: container.imageId,
    newImageId: member.image.id,
    reference,
  });
  if (failure === undefined) {
    onHandedOver?.();
    const reason = 'Upkeep itself: a helper container finishes this update, and the next start tells how it ended';
    return { ...base, outcome: 'deferred', reason };
  }
  const undone = await transact({ ...options, mode: { kind: 'recover' } });
  const left = undone.result === 'undone' ? '' : `; ${undone.reason}: the next run or start of Upkeep tries again`;
  return { ...base, outcome: 'failed', reason: `${failure}${left}` };
}

function unprepared(
  member: PlannedMember,
  planned: PlannedTransaction,
  error: unknown,
  signal: AbortSignal | undefined,
): ContainerOutcome {
  const { container, digest } = member;
  const base = {
    name: container.name,
    containerId: container.id,
    ...referencesOf(member),
    oldImageId: container.imageId,
    newImageId: '',
    oldDigest: '',
    newDigest: digest ?? '',
  };
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

function describe({ planned, oldDigest }: PreparedMember): Omit<ContainerOutcome, 'outcome' | 'reason' | 'newImageId'> {
  const { container, digest } = planned;
  const { id: containerId, name, imageId: oldImageId } = container;
  return { name, containerId, ...referencesOf(planned), oldImageId, oldDigest, newDigest: digest ?? '' };
}

/** Of a container that is not updated. */
export function referencesOf({ reference, formerReference }: PlannedMember) {
  if (formerReference === undefined) return { image: reference };
  return { image: formerReference, tagChange: { from: formerReference, to: reference } };
}

/**
 * Adds lost links. The comparison has covered new containers; an old one that came back may lack links
 * that the engine forgot when it was killed.
 */
async function withLostLinks(
  outside: Outside,
  outcome: ContainerOutcome,
  member: PreparedMember | undefined,
): Promise<ContainerOutcome> {
  if (member === undefined || (outcome.outcome !== 'rolled_back' && outcome.outcome !== 'failed')) return outcome;
  const { container } = member.planned;
  return { ...outcome, reason: outcome.reason + (await tellLostLinks(outside, container.id, container)) };
}

type Reached = {
  readonly result: TransactResult;
  readonly index: number;
  readonly transaction: Pick<OpenTransaction, 'stopTimes'>;
};

function outcomeOf(member: PreparedMember, { result, index, transaction }: Reached): ContainerOutcome {
  const id = member.planned.container.id;
  const log = result.logs.get(id);
  const facts = result.facts?.members[index];
  const base = { ...describe(member), newImageId: member.image.id, ...(log === undefined ? {} : { log }) };
  const isGone = facts !== undefined && facts.new === undefined && !facts.vanishes;
  if (result.result === 'committed' && !isGone) {
    const outcome: OutcomeKind = member.planned.cause === 'stale' ? 'updated' : 'restarted';
    const remarks = [result.warnings.get(id) ?? leftStopped(member.planned), composeFileRemark(member.planned)];
    const reason = remarks.filter((remark) => remark !== '').join('; ');
    const time = outage(result.startedAt.get(id));
    const newContainerId = facts?.new?.id;
    const taken = newContainerId === undefined ? {} : { newContainerId };
    const { reference: image } = member.planned;
    return { ...base, ...taken, image, outcome, reason, ...(facts?.startsFirst ? { downtimeMs: 0 } : time) };
  }
  const reason = `${result.reason}${copied(facts)}`;
  if (result.result === 'undone' && result.parked !== 'any' && !result.parked.has(id)) {
    return { ...base, outcome: result.busy ? 'deferred' : 'failed', reason };
  }
  // Another updater may have begun with it as soon as it was back.
  const isTakenUp = result.result === 'undone' && facts?.nameHeldBy === 'rival';
  const isBack = facts?.old?.place === 'name' && (isAlive(facts.old.status) || !facts.wasRunning);
  const restored = facts !== undefined && (isBack || isTakenUp);
  if (result.result === 'undone' && facts?.old === undefined && facts?.new?.place === 'name') {
    return {
      ...base,
      outcome: 'failed',
      reason: `${result.reason}; the old container was removed meanwhile, so the new version stays`,
    };
  }
  if (facts !== undefined && facts.old === undefined && facts.new === undefined && facts.nameHeldBy === 'nobody') {
    return {
      ...base,
      outcome: 'failed',
      reason: `${result.reason}; somebody removed the old container and the new one meanwhile, so it must be created anew`,
    };
  }
  if (result.result === 'stuck' || !restored) {
    const state = restored ? 'the old container is back, but not all is as it was' : 'the container is not back yet';
    return {
      ...base,
      outcome: 'failed',
      reason: `${result.reason}; ${state}, the next run or start of Upkeep tries again`,
    };
  }
  const wasTried = result.stopped || (facts.startsFirst && result.hasStarted);
  if (!wasTried) return { ...base, outcome: result.busy ? 'deferred' : 'failed', reason };
  return {
    ...base,
    outcome: 'rolled_back',
    reason,
    ...outage(facts.old?.startedAt),
  };

  /** A container that did not run before has no outage. */
  function outage(startedAt: string | undefined) {
    if (!isAlive(member.planned.container.state.status)) return {};
    return outageOf({ stopSentAtMs: transaction.stopTimes.sentAtMs(id), endedAt: result.endedAt.get(id), startedAt });
  }
}

/** Also where an engine that was restarted has removed an old container with --rm. */
function copied(facts: MemberFacts | undefined): string {
  if (facts?.standsIn !== true) return '';
  return facts.vanishes
    ? '; it runs again as a copy without --rm, until its next update'
    : '; it was pruned together with its successor, and was created anew as it was';
}

/** Said only of a container that ran before: a stopped one is expected to stay stopped. */
function leftStopped({ afterwards, container }: PlannedMember): string {
  return afterwards === 'stopped' && isAlive(container.state.status)
    ? 'created and left stopped, as no-restart asks: it has not been proven'
    : '';
}

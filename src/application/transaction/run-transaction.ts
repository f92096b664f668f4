import type { WhileAwaitingHealth } from './steps/step-context.ts';
import type { TransactOptions } from './transact-options.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import type { ContainerOutcome, UpdatePhase } from '../../domain/run/session.ts';
import type { ServiceSettings } from '../../domain/settings/service-settings.ts';
import type { PlannedTransaction } from '../../domain/plan/planned-transaction.ts';
import { announceEnd, announcePhase, announceStart } from './announce.ts';
import { createPhaseWatch } from './phase-watch.ts';
import { failuresOf, rememberFailures } from './failed-versions.ts';
import { linksOf, describeLostLinks } from './lost-links.ts';
import { describeMember, outcomeOf, unprepared } from './member-outcome.ts';
import { beginTransaction } from './begin-transaction.ts';
import {
  type ImagesAhead,
  type PreparedMember,
  type PreparedTransaction,
  prepareTransaction,
} from './facts/prepare.ts';
import { handOver } from './hand-over.ts';
import { transact } from './transact.ts';

export type RunTransaction = typeof runTransaction;

/**
 * Updates one group to its new images, or leaves it unchanged. Never throws for failures outside Upkeep. Returns one
 * outcome per member, in the plan's order.
 */
export async function runTransaction(
  outside: Outside,
  settings: ServiceSettings,
  planned: PlannedTransaction,
  { runId, onHandedOver, whileUnproven, ahead }: TransactionRun,
  signal?: AbortSignal,
): Promise<readonly ContainerOutcome[]> {
  for (const { container, reference, formerReference, digest } of planned.members) {
    announceStart(outside, runId, {
      name: container.name,
      image: reference,
      formerImage: formerReference,
      from: container.imageId,
      to: digest ?? '',
    });
  }
  const phases = createPhaseWatch(outside.clock);
  for (const { container } of planned.members) {
    const image = ahead?.get(container.id);
    if (image?.kind === 'fetched') phases.add(container.name, 'pulling', image.tookMs);
  }
  const enter: EnterPhase = (container, phase) => {
    phases.enter(container, phase);
    announcePhase(outside, runId, container, phase);
  };
  const reached = await replaceContainers(
    outside,
    settings,
    planned,
    { runId, enter, onHandedOver, whileUnproven, ahead },
    signal,
  );
  const outcomes = reached.map((outcome) => {
    const times = phases.read(outcome.name);
    return times === undefined ? outcome : { ...outcome, phases: times };
  });
  for (const outcome of outcomes) announceEnd(outside, runId, outcome);
  return outcomes;
}

export type TransactionRun = {
  readonly runId: string;
  /** Set for the update of our own container. Called once a helper has taken it over. */
  readonly onHandedOver?: (() => void) | undefined;
  readonly whileUnproven?: WhileAwaitingHealth | undefined;
  /** Images that were pulled before the first transaction of the run. */
  readonly ahead?: ImagesAhead | undefined;
};

type Attempt = TransactionRun & {
  readonly enter: EnterPhase;
  /** The first attempt was undone, because the tag was moved. */
  readonly isSecond?: boolean;
};

type EnterPhase = (container: string, phase: UpdatePhase) => void;

async function replaceContainers(
  outside: Outside,
  settings: ServiceSettings,
  planned: PlannedTransaction,
  run: Attempt,
  signal?: AbortSignal,
): Promise<readonly ContainerOutcome[]> {
  const { runId, enter, onHandedOver, whileUnproven, ahead, isSecond = false } = run;
  let prepared: PreparedTransaction;
  try {
    prepared = await prepareTransaction(
      outside,
      settings,
      planned,
      { runId, onPull: (name) => enter(name, 'pulling'), ahead },
      signal,
    );
  } catch (error) {
    return planned.members.map((member) => unprepared(member, planned, error, signal));
  }
  if (prepared.members.every(({ planned: { container }, image }) => image.id === container.imageId)) {
    return prepared.members.map((member) => ({
      ...describeMember(member),
      outcome: 'fresh',
      reason: 'the newer digest holds the same image',
      newImageId: member.image.id,
    }));
  }
  const transaction = beginTransaction(outside, settings, prepared, planned);
  const onPhase = (phase: UpdatePhase) => {
    for (const { planned: member } of prepared.members) enter(member.container.name, phase);
  };
  const result = await transact({
    outside,
    settings,
    signal,
    transaction,
    onPhase,
    whileUnproven,
    mode: { kind: onHandedOver === undefined ? 'update' : 'hand-over', prepared },
  });
  // An instance that starts may take a slow update for a dead one, and move its tag back, while others give way to it.
  const mayTryAgain = result.result === 'undone' && result.wasTagMoved && !isSecond;
  if (mayTryAgain) return replaceContainers(outside, settings, planned, { ...run, isSecond: true }, signal);
  if (result.result === 'aside')
    return [await handOverToHelper({ outside, settings, prepared, transaction, onPhase, onHandedOver })];
  const failures = failuresOf(transaction, result.failedImages);
  await rememberFailures(outside, failures);
  const rolledBack = new Set(failures.map(({ name }) => name));
  const reached = prepared.members.map((member, index): ContainerOutcome => {
    const outcome = outcomeOf(member, { result, index, transaction });
    return rolledBack.has(outcome.name) ? { ...outcome, isTakenBack: true } : outcome;
  });
  // Until the rollback is complete, links have the names of containers that are not back yet.
  if (result.result !== 'undone') return reached;
  return Promise.all(reached.map((outcome, index) => withLostLinks(outside, outcome, prepared.members[index])));
}

type HandOverOptions = Pick<TransactOptions, 'outside' | 'settings' | 'transaction' | 'onPhase'> &
  Pick<TransactionRun, 'onHandedOver'> & { readonly prepared: PreparedTransaction };

/**
 * Hands the update of our own container, its only member, to a helper. If no helper can be started, the successor is
 * removed and nothing has changed.
 */
async function handOverToHelper({ prepared, onHandedOver, ...options }: HandOverOptions): Promise<ContainerOutcome> {
  const [member] = prepared.members;
  if (member === undefined) throw new Error('a transaction without members');
  const { container, reference } = member.planned;
  const base = { ...describeMember(member), newImageId: member.image.id };
  const order = {
    transaction: options.transaction.id,
    name: container.name,
    oldId: container.id,
    oldImageId: container.imageId,
    newImageId: member.image.id,
    reference,
  };
  const failure = await handOver(options.outside, order, member.files);
  if (failure === undefined) {
    onHandedOver?.();
    const reason = 'Upkeep itself: a helper container finishes this update, and the next start reports the result';
    return { ...base, outcome: 'deferred', reason };
  }
  const undone = await transact({ ...options, mode: { kind: 'recover' } });
  const remark = undone.result === 'undone' ? '' : `; ${undone.reason}: the next run or start of Upkeep tries again`;
  return { ...base, outcome: 'failed', reason: `${failure}${remark}` };
}

/**
 * Adds lost links to the outcomes. New containers were compared; an old one that came back may lack links that the
 * engine lost when it was killed.
 */
async function withLostLinks(
  outside: Outside,
  outcome: ContainerOutcome,
  member: PreparedMember | undefined,
): Promise<ContainerOutcome> {
  if (member === undefined || (outcome.outcome !== 'rolled_back' && outcome.outcome !== 'failed')) return outcome;
  const { container } = member.planned;
  return { ...outcome, reason: outcome.reason + (await describeLostLinks(outside, container.id, linksOf(container))) };
}

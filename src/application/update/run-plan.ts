import type { Outcomes } from '../../domain/run/session.ts';
import { describeError } from '../../domain/errors.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import { quoted } from '../../domain/text/printable.ts';
import type { ContainerOutcome, OutcomeKind } from '../../domain/run/session.ts';
import type { ServiceSettings } from '../../domain/settings/service-settings.ts';
import type { CanaryGroup, UpdatePlan } from '../../domain/plan/update-plan.ts';
import type { PlannedMember, PlannedTransaction } from '../../domain/plan/planned-transaction.ts';
import { type CanaryVerdict, judgeCanary, newImageOf } from '../../domain/plan/canary.ts';
import type { NetworkOrder } from '../../domain/plan/network-order.ts';
import { fetchWhenBack, isUnpulled } from './fetch-ahead.ts';
import type { ImagesAhead } from '../transaction/facts/prepare.ts';
import { createSlots } from '../async/concurrency.ts';
import { whyNotReady } from './requirements.ts';
import { restartDependents } from './restart-dependents.ts';
import { type RunTransaction, runTransaction, type TransactionRun } from '../transaction/run-transaction.ts';

/**
 * Runs the transactions of a plan, `updateConcurrency` at once or one by one, and then the restarts. A transaction
 * begins after its dependencies, and what pulls need begins after all that can do without it. During a wait for health, up to `unproven` more may begin. A failure stops only
 * dependent transactions, and with a canary the rest of its group. After an abort no further transaction begins.
 */
export async function runPlan(
  outside: Outside,
  settings: ServiceSettings,
  plan: UpdatePlan,
  { perform = runTransaction, whyNotNow, order = inPlannedOrder(plan), alone = (work) => work(), ...run }: PlanRun,
  signal?: AbortSignal,
): Promise<Outcomes> {
  const atOnce = settings.rollingRestart ? 1 : settings.updateConcurrency;
  const slots = createSlots(atOnce, atOnce === 1 ? 0 : settings.unproven);
  const outcomes = new Map<string, ContainerOutcome>();
  const ends = new Map<string, Promise<End>>();
  const { ahead = noImages } = run;

  async function attempt(transaction: PlannedTransaction): Promise<readonly ContainerOutcome[]> {
    const awaited = await Promise.all(transaction.after.flatMap((id) => ends.get(id) ?? []));
    const failed = awaited.find((end) => !end.succeeded);
    if (failed !== undefined)
      return leftOutcomes(transaction, `It depends on ${quoted(failed.leader)}, which was not updated`);
    const failedCanary = await failedBefore(transaction, plan.canaries ?? [], ends);
    if (failedCanary !== undefined)
      return leftOutcomes(transaction, `The new version failed in ${quoted(failedCanary)}`, 'deferred');
    const followed = await Promise.all((order.follows.get(transaction.id) ?? []).flatMap((id) => ends.get(id) ?? []));
    const isBack = followed.some((end) => end.succeeded && order.carriers.has(end.transaction.id));
    return slots.run(async ({ pause }) => {
      if (signal?.aborted) return leftOutcomes(transaction, cancelledBeforeTurn);
      try {
        const why = await whyNotNow?.(transaction.members.map(({ container }) => container.id));
        const notReady = why ?? (await whyNotReady(outside, settings, transaction.requires, signal));
        if (notReady !== undefined) return leftOutcomes(transaction, notReady, 'deferred');
        const isAgain = isBack && isUnpulled(transaction.members, ahead);
        const images = isAgain ? await fetchWhenBack(outside, settings, transaction, { ...run, ahead }, signal) : ahead;
        const work = () =>
          perform(outside, settings, transaction, { ...run, ahead: images, whileUnproven: pause }, signal);
        return await (order.carriers.has(transaction.id) ? alone(work) : work());
      } catch (error) {
        if (signal?.aborted) return leftOutcomes(transaction, cancelledBeforeTurn);
        outside.log.error('An update failed because of an internal error', { error });
        return leftOutcomes(transaction, describeError(error), 'failed');
      }
    });
  }

  for (const transaction of order.transactions) {
    const end = attempt(transaction).then((reached): End => {
      for (const [index, outcome] of reached.entries()) {
        const member = transaction.members[index];
        if (member !== undefined) outcomes.set(member.container.id, outcome);
      }
      const leader = transaction.members[0]?.container.name ?? '';
      const succeeded = reached.every(({ outcome }) => successes.includes(outcome));
      return { leader, succeeded, transaction, verdict: judgeCanary(transaction, reached) };
    });
    ends.set(transaction.id, end);
  }
  await Promise.all(ends.values());
  await restartDependents(outside, settings, plan.restarts, { runId: run.runId, outcomes }, signal);
  return outcomes;
}

export type PlanRun = TransactionRun & {
  readonly perform?: RunTransaction;
  /** Called just before a transaction begins. Returns why containers with these ids must not be updated now. */
  readonly whyNotNow?: (ids: readonly string[]) => Promise<string | undefined>;
  /** Absent: the order of the plan. */
  readonly order?: NetworkOrder;
  /** Performs the transaction of a carrier of the network while no other engine of the run pulls. */
  readonly alone?: <Result>(work: () => Promise<Result>) => Promise<Result>;
};

const noImages: ImagesAhead = new Map();

function inPlannedOrder({ transactions }: UpdatePlan): NetworkOrder {
  return { transactions, carriers: new Set(), follows: new Map() };
}

export const cancelledBeforeTurn = 'The run was cancelled before its turn';

/** The outcome of a container that was not changed. */
export function untouched(
  { id, name, image, imageId }: LeftContainer,
  outcome: OutcomeKind,
  reason: string,
): ContainerOutcome {
  const images = { oldImageId: imageId, newImageId: imageId, oldDigest: '', newDigest: '' };
  return { name, ...(id !== undefined && { containerId: id }), image, outcome, reason, ...images };
}

type LeftContainer = Pick<ContainerOutcome, 'name' | 'image'> & { readonly id?: string; readonly imageId: string };

type End = {
  readonly leader: string;
  readonly succeeded: boolean;
  readonly transaction: PlannedTransaction;
  readonly verdict: CanaryVerdict;
};

/** Waits for each canary that a transaction depends on. Returns the container in which the new image failed, if any. */
async function failedBefore(
  { id }: PlannedTransaction,
  canaries: readonly CanaryGroup[],
  ends: ReadonlyMap<string, Promise<End>>,
): Promise<string | undefined> {
  for (const { image, transactions } of canaries) {
    const place = transactions.indexOf(id);
    for (const earlier of transactions.slice(0, Math.max(0, place))) {
      const end = await ends.get(earlier);
      if (end?.verdict === 'passed') break;
      if (end?.verdict === 'failed') {
        const member = end.transaction.members.find((candidate) => newImageOf(candidate) === image);
        return member?.container.name ?? end.leader;
      }
    }
  }
  return undefined;
}

const successes: readonly OutcomeKind[] = ['updated', 'restarted', 'fresh'];

function leftOutcomes(
  { members }: PlannedTransaction,
  reason: string,
  outcome: OutcomeKind = 'skipped',
): readonly ContainerOutcome[] {
  return members.map(({ container, reference, formerReference = reference }: PlannedMember) =>
    untouched(
      { id: container.id, name: container.name, image: formerReference, imageId: container.imageId },
      outcome,
      reason,
    ),
  );
}

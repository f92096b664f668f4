import { describeWithRemedy } from '../../domain/errors.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import type { ServiceSettings } from '../../domain/settings/settings.ts';
import type { PlannedTransaction, UpdatePlan } from '../../domain/plan/update-plan.ts';
import type { OpenTransaction } from './facts.ts';
import { openTransaction } from './open-transaction.ts';
import { type PreparedTransaction, prepareTransaction } from './prepare.ts';
import { transact } from './transact.ts';

/** What creating a group's successors aside, and comparing them, has shown. */
export type Rehearsal = {
  readonly containers: readonly string[];
  /** Whether they would be what they are to replace. */
  readonly faithful: boolean;
  /** What would differ, or why it could not be told; empty for a faithful one. */
  readonly reason: string;
};

/**
 * Does of each update what can be done without touching a container, and takes it back: pulls the
 * image, creates the successor under a name of its own, compares it, removes it. A tag is moved for
 * that moment, because the engine creates by it.
 */
export async function rehearsePlan(
  outside: Outside,
  settings: ServiceSettings,
  plan: UpdatePlan,
  { runId }: { readonly runId: string },
  signal?: AbortSignal,
): Promise<readonly Rehearsal[]> {
  const rehearsals: Rehearsal[] = [];
  for (const planned of plan.transactions) {
    const containers = planned.members.map(({ container }) => container.name);
    const reason = await whyNotFaithful(outside, settings, planned, runId, signal);
    rehearsals.push({ containers, faithful: reason === '', reason });
  }
  return rehearsals;
}

async function whyNotFaithful(
  outside: Outside,
  settings: ServiceSettings,
  planned: PlannedTransaction,
  runId: string,
  signal?: AbortSignal,
): Promise<string> {
  let prepared: PreparedTransaction;
  try {
    prepared = await prepareTransaction(outside, settings, planned, { runId, onPull: () => {} }, signal);
  } catch (error) {
    return describeWithRemedy(error);
  }
  const transaction = await withTagsOfNow(outside, openTransaction(outside, settings, prepared, planned));
  const { result, reason, isRehearsed } = await transact({
    outside,
    settings,
    transaction,
    prepared,
    isRehearsal: true,
    onPhase: () => {},
    signal,
  });
  if (result !== 'undone') return reason === '' ? 'what was created aside could not be removed' : reason;
  return isRehearsed ? '' : reason;
}

/**
 * An update that fails gives the tag back to the image that the container runs; here nothing at all may have changed. A
 * tag that was not there cannot be taken away again without the images that were pulled.
 */
async function withTagsOfNow({ engine }: Outside, transaction: OpenTransaction): Promise<OpenTransaction> {
  const members = await Promise.all(
    transaction.members.map(async (member) => ({
      ...member,
      taggedBefore: (await engine.inspectImage(member.reference))?.id ?? member.oldImageId,
    })),
  );
  return { ...transaction, members };
}

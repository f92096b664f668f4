import { describeWithRemedy } from '../../domain/text/errors.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import type { ServiceSettings } from '../../domain/settings/effective-settings.ts';
import type { UpdatePlan, PlannedTransaction } from '../../domain/plan/update-plan.ts';
import type { OpenTransaction } from './facts/open-transaction.ts';
import { beginTransaction } from './begin-transaction.ts';
import { type PreparedTransaction, prepareTransaction } from './facts/prepare.ts';
import { transact } from './transact.ts';

/** The result of the rehearsal of one group. Its successors were created under temporary names and compared. */
export type Rehearsal = {
  readonly containers: readonly string[];
  /** True if the successors match the containers that they would replace. */
  readonly faithful: boolean;
  /** The differences, or why no comparison was possible. Empty for a faithful rehearsal. */
  readonly reason: string;
};

/**
 * Rehearses each update without a change to existing containers: pulls the image, creates the successor under a
 * temporary name, compares and removes it. The tag is moved meanwhile, because the engine creates from tags.
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
    prepared = await prepareTransaction(
      outside,
      settings,
      planned,
      { runId, onPull: () => {}, removesAll: true },
      signal,
    );
  } catch (error) {
    return describeWithRemedy(error);
  }
  const transaction = await withTagsOfNow(
    outside,
    beginTransaction(outside, settings, prepared, { ...planned, isForHelper: false }),
  );
  const { result, reason, isRehearsed } = await transact({
    outside,
    settings,
    transaction,
    mode: { kind: 'rehearse', prepared },
    onPhase: () => {},
    signal,
  });
  if (result !== 'undone') return reason === '' ? 'the new containers of the rehearsal could not be removed' : reason;
  return isRehearsed ? '' : reason;
}

/**
 * Records the tags as they are now. A failed update sets the tag to the image that the container runs, but a rehearsal
 * must restore it exactly. A tag that did not exist cannot be removed without the pulled image.
 */
async function withTagsOfNow({ engine }: Outside, transaction: OpenTransaction): Promise<OpenTransaction> {
  const members = await Promise.all(
    transaction.members.map(async (member) => ({
      ...member,
      taggedBefore: (await engine.inspectImage(member.reference))?.id ?? member.taggedBefore,
    })),
  );
  return { ...transaction, members };
}

import type { StepOutcome } from '../../../domain/transaction/memory/step-outcome.ts';
import type { StepOf } from '../../../domain/transaction/step.ts';
import { autoRemoveReplicaName } from '../../../domain/transaction/transaction-names.ts';
import { fetchAgain, foreignPlatform } from '../facts/fetch-image.ts';
import { memberAsItWas, partsAsTheyWere, recipeOf } from './recipe-of.ts';
import { nothingPrepared, type StepContext } from './step-context.ts';
import { createUnderTag } from './create.ts';

/** Creates the old container again without `--rm`. It shares the volumes, so that they outlive the old one. */
export async function createAutoRemoveReplica(
  context: StepContext,
  { member: index }: StepOf<'autoRemoveReplica'>,
): Promise<StepOutcome> {
  const { transaction, prepared } = context;
  const member = transaction.members[index];
  const parts = prepared?.members[index];
  if (member === undefined || parts?.oldImage === undefined || prepared === undefined) return nothingPrepared;
  const replaced = await replacementsOfRemoved(context);
  const former = partsAsTheyWere(parts);
  const recipe = recipeOf(context, {
    prepared,
    parts: former,
    member: memberAsItWas(member),
    role: 'standin',
    replaced,
  });
  const image = await fetchAgain(context, parts.oldImage, {
    reference: former.planned.reference,
    digest: parts.oldDigest,
    platform: foreignPlatform(parts.planned.container, parts.oldImage, prepared.info),
  });
  if (image === undefined) return { kind: 'refused', status: 404, message: 'its image was removed too' };
  const order = { image, parts: former, keepsTag: true };
  const outcome = await createUnderTag(context, order, autoRemoveReplicaName(member.name), recipe);
  if (outcome.kind === 'done') transaction.autoRemoveReplicas.set(member.oldId, outcome.id);
  return outcome.kind === 'done' ? { kind: 'done' } : outcome;
}

/**
 * The replacements of removed old containers, by their ids. A replica refers to the other old containers while they
 * exist.
 */
async function replacementsOfRemoved({ outside, transaction }: StepContext): Promise<ReadonlyMap<string, string>> {
  const { members, successors, autoRemoveReplicas } = transaction;
  const replaced = new Map<string, string>();
  for (const { oldId } of members) {
    const id = autoRemoveReplicas.get(oldId) ?? successors.get(oldId);
    if (id !== undefined && (await outside.engine.inspectContainer(oldId)) === undefined) replaced.set(oldId, id);
  }
  return replaced;
}

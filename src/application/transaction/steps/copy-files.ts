import type { StepOutcome } from '../../../domain/transaction/memory/step-outcome.ts';
import type { StepOf } from '../../../domain/transaction/step.ts';
import { readBundle, writeBundle } from '../facts/placed-files.ts';
import { nothingPrepared, type StepContext } from './step-context.ts';

/** Copies the placed files of the old container into a new one: its successor, or its replica. */
export async function copyFiles(
  { outside, transaction }: StepContext,
  { id, member: index }: StepOf<'copyFiles'>,
): Promise<StepOutcome> {
  const member = transaction.members[index];
  if (member?.files === undefined) return nothingPrepared;
  const { oldId, files } = member;
  const bundle = transaction.files.get(oldId) ?? (await readBundle(outside, oldId, files));
  transaction.files.set(oldId, bundle);
  return writeBundle(outside, id, bundle);
}

import type { StepOutcome } from '../../../domain/transaction/memory/step-outcome.ts';
import { keptMarkTag } from '../../../domain/transaction/open-mark.ts';
import type { StepOf } from '../../../domain/transaction/step.ts';
import { keptName } from '../../../domain/transaction/transaction-names.ts';
import { type StepContext, nothingPrepared } from './step-context.ts';

/** Keeps the old container. Its time begins now, by the engine's clock. */
export async function keepOld({ outside, transaction }: StepContext, { id }: StepOf<'keep'>): Promise<StepOutcome> {
  const member = transaction.members.find(({ oldId }) => oldId === id);
  if (member === undefined) return nothingPrepared;
  const { name, policy = { Name: '', MaximumRetryCount: 0 }, wasRunning, keepMs } = member;
  const { nowMs } = await outside.engine.info();
  const imageId = (await outside.engine.inspectContainer(id))?.imageId ?? member.oldImageId;
  const marked = await outside.engine.tagImage(imageId, keptMarkTag(id));
  if (marked.kind === 'refused' || marked.kind === 'unknown') return marked;
  return outside.engine.renameContainer(id, keptName({ name, policy, wasRunning, untilMs: nowMs + keepMs }));
}

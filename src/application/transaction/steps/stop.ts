import type { StepOutcome } from '../../../domain/transaction/memory/step-outcome.ts';
import type { StepOf } from '../../../domain/transaction/step.ts';
import { mannersOf } from '../../health/manners.ts';
import type { StepContext } from './step-context.ts';

export async function stopContainer(
  { outside, settings, transaction }: StepContext,
  { id }: StepOf<'stop'>,
): Promise<StepOutcome> {
  // Its timeout, signal and labels are fixed at its creation.
  const container = transaction.lastRead.get(id) ?? (await outside.engine.inspectContainer(id));
  await transaction.stopTimes.note(outside, id);
  return outside.engine.stopContainer(id, mannersOf(container, settings).stop);
}

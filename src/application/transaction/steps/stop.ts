import type { StepOf } from '../../../domain/transaction/step.ts';
import { mannersOf } from '../../health/manners.ts';
import type { StepContext, StepOutcome } from './step-context.ts';

export async function stopContainer(
  { outside, settings, transaction }: StepContext,
  { id }: StepOf<'stop'>,
): Promise<StepOutcome> {
  const container = await outside.engine.inspectContainer(id);
  await transaction.stopTimes.note(outside, id);
  return outside.engine.stopContainer(id, mannersOf(container, settings).stop);
}

import type { StepOutcome } from '../../../domain/transaction/memory/step-outcome.ts';
import type { StepOf } from '../../../domain/transaction/step.ts';
import { stopAndHealthPolicyOf } from '../../health/stop-and-health-policy.ts';
import type { StepContext } from './step-context.ts';

export async function stopContainer(
  { outside, settings, transaction }: StepContext,
  { id }: StepOf<'stop'>,
): Promise<StepOutcome> {
  // Its timeout, signal and labels are fixed at its creation.
  const container = transaction.lastRead.get(id) ?? (await outside.engine.inspectContainer(id));
  await transaction.stopTimes.note(outside, id);
  return outside.engine.stopContainer(id, stopAndHealthPolicyOf(container, settings).stop);
}

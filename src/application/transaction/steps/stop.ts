import type { StepOutcome } from '../../../domain/transaction/memory/step-outcome.ts';
import type { StepOf } from '../../../domain/transaction/step.ts';
import { stopAndHealthPolicyOf } from '../../health/stop-and-health-policy.ts';
import type { StepContext } from './step-context.ts';

export async function stopContainer(
  { outside, settings, transaction }: StepContext,
  { id }: StepOf<'stop'>,
): Promise<StepOutcome> {
  // The timeout, the signal and the labels are fixed at the creation of a container.
  const container = transaction.lastRead.get(id) ?? (await outside.engine.inspectContainer(id));
  await transaction.stopTimes.note(outside, id);
  return outside.engine.stopContainer(id, stopAndHealthPolicyOf(container, settings).stop);
}

import type { StepOutcome } from '../../../domain/transaction/memory/step-outcome.ts';
import type { StepOf } from '../../../domain/transaction/step.ts';
import type { StepContext } from './step-context.ts';

/**
 * Docker 20.10 answers 404 for a container that has crashed since the facts were read: they tell whether it is there.
 * The engine also refuses a rename to the container's own name: then the request has arrived twice, and the rename is ours.
 */
export async function renameContainer(
  { outside: { engine } }: StepContext,
  { id, to }: StepOf<'rename'>,
): Promise<StepOutcome> {
  const outcome = await engine.renameContainer(id, to);
  if (outcome.kind !== 'refused') return outcome;
  if (outcome.status === 404) return { kind: 'unknown', message: outcome.message };
  return (await engine.inspectContainer(id))?.name === to ? { kind: 'noop' } : outcome;
}

import type { StepOutcome } from '../../../domain/transaction/memory/step-outcome.ts';
import type { StepOf } from '../../../domain/transaction/step.ts';
import type { StepContext } from './step-context.ts';

/**
 * Renames a container. Docker 20.10 answers 404 for a container that has crashed since the facts were read; the next
 * facts show whether it exists. The engine refuses a rename to the present name: the request has then arrived twice,
 * and the rename is ours.
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

import type { StepOf } from '../../../domain/transaction/step.ts';
import type { StepContext, StepOutcome } from './step-context.ts';

/**
 * Renames a container. Docker 20.10 answers 404 for one that has crashed since the facts were read, so the
 * facts tell whether it exists. The engine also refuses a container that has the name already: then the
 * request arrived twice, and the rename is ours.
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

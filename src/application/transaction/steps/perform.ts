import type { StepOutcome } from '../../../domain/transaction/memory/step-outcome.ts';
import { ServiceError, describeError } from '../../../domain/errors.ts';
import type { Step, StepKind, StepOf } from '../../../domain/transaction/step.ts';
import { performers } from './performers.ts';
import type { StepContext } from './step-context.ts';

/** Performs a step. Never throws. No answer from the engine gives `unknown`; a bug gives `refused` and is logged. */
export async function perform(context: StepContext, step: Step): Promise<StepOutcome> {
  try {
    return await performStep(context, step);
  } catch (error) {
    if (!(error instanceof ServiceError)) {
      context.outside.log.error('a step of a transaction failed', { step: step.kind, error });
      return { kind: 'refused', status: 0, message: describeError(error) };
    }
    const refused = error.code === 'invalid-input' || error.code === 'not-found' || error.code === 'engine-refused';
    return refused
      ? { kind: 'refused', status: 0, message: error.message }
      : { kind: 'unknown', message: error.message };
  }
}

function performStep<K extends StepKind>(context: StepContext, step: StepOf<K>): Promise<StepOutcome> {
  return performers[step.kind](context, step);
}

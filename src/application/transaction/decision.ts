import type { Decision, StepKind } from '../../domain/transaction/step.ts';
import type { TransactOptions } from './transact-options.ts';

/** Before the first stop an abort costs nothing: the successors go, the names come back. */
export function heedAbort({ signal, prepared }: TransactOptions, decision: Decision): Decision {
  const early = decision.kind === 'step' && decision.phase === 'preparing';
  if (!early || prepared === undefined || !signal?.aborted) return decision;
  return { kind: 'turn', reason: 'the run was cancelled', busy: true };
}

export const rehearsed: Decision = { kind: 'turn', reason: 'it was a rehearsal', busy: false };

/** A rehearsal may only create, connect and compare new containers. */
export function endRehearsal({ isRehearsal }: TransactOptions, decision: Decision): Decision {
  if (isRehearsal !== true || decision.kind !== 'step' || decision.phase === 'rolling back') return decision;
  return asideSteps.includes(decision.step.kind) ? decision : rehearsed;
}

const asideSteps: readonly StepKind[] = ['mark', 'create', 'standIn', 'connect', 'compare'];

/** Once our own container has been stopped there is nobody to go on; before, all is left as one who comes finds it best. */
export function isForHelper({ outside, handedOver }: TransactOptions, { step, phase }: StepDecision): boolean {
  if (step.kind === 'stop' && step.id === outside.instance.containerId) return true;
  return handedOver === 'begun' && phase !== 'rolling back' && step.kind !== 'hook' && !asideSteps.includes(step.kind);
}

export type StepDecision = Extract<Decision, { kind: 'step' }>;

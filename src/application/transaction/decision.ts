import type { Decision, StepKind } from '../../domain/transaction/step.ts';
import type { StepDecision } from '../../domain/transaction/memory/learn.ts';
import type { TransactOptions } from './transact-options.ts';

/** Replaces the decision with the one to undo everything, after an abort or at the end of a rehearsal. */
export function orTurnBack(options: Pick<TransactOptions, 'mode' | 'signal'>, decision: Decision): Decision {
  return endRehearsal(options, heedAbort(options, decision));
}

/** Before the first stop an abort has no cost: the successors are removed and the names restored. */
function heedAbort({ signal, mode }: Pick<TransactOptions, 'mode' | 'signal'>, decision: Decision): Decision {
  const early = decision.kind === 'step' && decision.phase === 'preparing';
  if (!early || !('prepared' in mode) || !signal?.aborted) return decision;
  return { kind: 'turn', reason: 'the run was cancelled', busy: true };
}

export const rehearsed: Decision = { kind: 'turn', reason: 'it was a rehearsal', busy: false };

/** A rehearsal may only create, connect and compare new containers. */
function endRehearsal({ mode }: Pick<TransactOptions, 'mode'>, decision: Decision): Decision {
  if (mode.kind !== 'rehearse' || decision.kind !== 'step' || decision.phase === 'rolling back') return decision;
  return asideSteps.includes(decision.step.kind) ? decision : rehearsed;
}

const asideSteps: readonly StepKind[] = ['mark', 'create', 'autoRemoveReplica', 'connect', 'compare'];

/**
 * True if a helper must perform the step. This process cannot continue once our own container has been stopped. Before
 * that, it leaves everything in a state that a helper can continue.
 */
export function isForHelper(
  { outside, mode }: Pick<TransactOptions, 'outside' | 'mode'>,
  { step, phase }: StepDecision,
): boolean {
  if (step.kind === 'stop' && step.id === outside.instance.containerId) return true;
  const isOurTurnOver = phase !== 'rolling back' && step.kind !== 'hook' && !asideSteps.includes(step.kind);
  return mode.kind === 'hand-over' && isOurTurnOver;
}

import type { StepOutcome } from '../../../domain/transaction/memory/step-outcome.ts';
import type { Member } from '../../../domain/transaction/facts.ts';
import type { OpenTransaction } from '../facts/facts.ts';
import type { FirstToEnd } from '../facts/first-to-end.ts';

export function memberOf(successorId: string, { members, successors }: OpenTransaction): Member | undefined {
  return members.find(({ oldId }) => successors.get(oldId) === successorId);
}

export function endedFirst({ id, reason, ownFault }: FirstToEnd, wasSeenWell: boolean): StepOutcome {
  return ownFault
    ? { kind: 'fault', id, message: reason, wasSeenWell }
    : { kind: 'refused', status: 404, message: reason };
}

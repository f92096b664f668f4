import type { Member, OpenTransaction } from '../facts/facts.ts';
import type { FirstToEnd } from '../facts/first-to-end.ts';
import type { StepOutcome } from './step-context.ts';

export function memberOf(successorId: string, { members, successors }: OpenTransaction): Member | undefined {
  return members.find(({ oldId }) => successors.get(oldId) === successorId);
}

export function endedFirst({ id, reason, ownFault }: FirstToEnd, wasSeenWell: boolean): StepOutcome {
  return ownFault
    ? { kind: 'fault', id, message: reason, wasSeenWell }
    : { kind: 'refused', status: 404, message: reason };
}

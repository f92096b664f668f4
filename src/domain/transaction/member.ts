import { isAlive } from '../container/container.ts';
import type { ExecutionMemory, MemberFacts } from './facts.ts';

/** The successor's name is the lock: a member that never had one may be in another updater's hands. */
export function isEngaged(member: MemberFacts, { engaged }: ExecutionMemory): boolean {
  return member.new !== undefined || engaged === 'all' || (member.old !== undefined && engaged.has(member.old.id));
}

/** Whether the successor is not yet, or no longer, what it is to be: a job may have ended, others must run. */
export function needsStart({ new: successor, desiredEndState }: MemberFacts): boolean {
  if (successor === undefined || desiredEndState === 'stopped') return false;
  return desiredEndState === 'completed' ? successor.startedAt === '' : !isAlive(successor.status);
}

export function isTaken({ nameHeldBy }: MemberFacts): boolean {
  return nameHeldBy === 'stranger' || nameHeldBy === 'copy';
}

/** A container whose name somebody else has taken stays parked and stopped: theirs wins. */
export function isEntitled(member: MemberFacts): boolean {
  return !isTaken(member);
}

/** The plan may have been read during another updater's work, so we only repair containers that we have parked. */
export function wasOursToChange({ old }: MemberFacts, { parked }: ExecutionMemory): boolean {
  return parked === 'any' || (old !== undefined && parked.has(old.id));
}

/**
 * Whether a recovery finds the old container under its own name, or one that a person gave it, where it may be as its owner wants it. It is on its way
 * back only when the mark says so, and then only as far as nothing speaks for a person.
 */
export function isFoundInPlace({ old }: MemberFacts, { isRecovery, seenParked }: ExecutionMemory): boolean {
  const isPlain = old?.place === 'name' || old?.place === 'elsewhere';
  return isRecovery && isPlain && !seenParked.has(old.id);
}

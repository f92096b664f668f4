import { isAlive } from '../container/container.ts';
import type { ExecutionMemory, MemberFacts } from './facts.ts';

/**
 * Whether the member has had a successor. The successor's name is the lock: without it another updater may be at work.
 */
export function isEngaged(member: MemberFacts, { engaged }: ExecutionMemory): boolean {
  return member.new !== undefined || engaged === 'all' || (member.old !== undefined && engaged.has(member.old.id));
}

/** Whether the successor is not in its desired end state: a job may have ended, others must run. */
export function needsStart({ new: successor, desiredEndState }: MemberFacts): boolean {
  if (successor === undefined || desiredEndState === 'stopped') return false;
  return desiredEndState === 'completed' ? successor.startedAt === '' : !isAlive(successor.status);
}

export function isTaken({ nameHeldBy }: MemberFacts): boolean {
  return nameHeldBy === 'stranger' || nameHeldBy === 'copy';
}

/**
 * Whether the old container may return to its name. If another container has taken the name, the old one stays parked
 * and stopped.
 */
export function isEntitled(member: MemberFacts): boolean {
  return !isTaken(member);
}

/** The plan may have been made during another updater's work, so only containers that we have parked are repaired. */
export function wasOursToChange({ old }: MemberFacts, { parked }: ExecutionMemory): boolean {
  return parked === 'any' || (old !== undefined && parked.has(old.id));
}

/**
 * Whether a recovery finds the old container under its own name, or one that a person gave it, so that its state may be
 * its owner's choice. Only the mark shows that it is to be restored, and only where no fact indicates a person.
 */
export function isFoundInPlace({ old }: MemberFacts, { isRecovery, seenParked }: ExecutionMemory): boolean {
  const isPlain = old?.place === 'name' || old?.place === 'elsewhere';
  return isRecovery && isPlain && !seenParked.has(old.id);
}

import { isAlive } from '../container/container.ts';
import type { RestartPolicy } from '../container/container-settings.ts';
import type { ExecutionMemory, MemberFacts, ContainerFacts } from './facts.ts';
import { noRestart, samePolicy } from './policy.ts';
import { type Step, stepKey } from './step.ts';
import { droppedName, parkedName } from './transaction-names.ts';

/**
 * Whether the member has had a successor. The successor's name is the lock: without it another updater may be at work.
 */
export function isInTransaction(member: MemberFacts, { created }: ExecutionMemory): boolean {
  return member.new !== undefined || created === 'all' || (member.old !== undefined && created.has(member.old.id));
}

/** Whether the successor is not in its desired end state: a job may have ended, others must run. */
export function needsStart({ new: successor, desiredEndState }: MemberFacts): boolean {
  if (successor === undefined || desiredEndState === 'stopped') return false;
  return desiredEndState === 'running' ? !isAlive(successor.status) : successor.startedAt === '';
}

export function isNameTaken({ nameHeldBy }: MemberFacts): boolean {
  return nameHeldBy === 'stranger' || nameHeldBy === 'copy';
}

/**
 * Whether the old container may return to its name. If another container has taken the name, the old one stays parked
 * and stopped.
 */
export function mayTakeName(member: MemberFacts): boolean {
  return !isNameTaken(member);
}

/** Another updater may have been at work during the planning, so only containers that we have parked are repaired. */
export function wasParkedHere({ old }: MemberFacts, { parked }: ExecutionMemory): boolean {
  return parked === 'any' || (old !== undefined && parked.has(old.id));
}

/**
 * Whether a recovery finds the old container at its plain name or renamed from outside. Its state may then be its
 * owner's choice: it is restored only with a mark, and only if no fact indicates a person.
 */
export function isFoundInPlace({ old }: MemberFacts, { isRecovery, seenParked }: ExecutionMemory): boolean {
  const isPlain = old?.place === 'name' || old?.place === 'elsewhere';
  return isRecovery && isPlain && !seenParked.has(old.id);
}

export const rename = ({ id }: ContainerFacts, to: string): Step => ({ kind: 'rename', id, to });

export function park({ name, policy, wasRunning }: MemberFacts, old: ContainerFacts): Step {
  return rename(old, parkedName(name, policy ?? old.policy, wasRunning));
}

export function drop({ name, policy, wasRunning }: MemberFacts, old: ContainerFacts): Step {
  return rename(old, droppedName(name, policy ?? old.policy, wasRunning));
}

export function takeName({ name, nameHeldBy }: MemberFacts, container: ContainerFacts | undefined): Step | false {
  if (container === undefined || nameHeldBy !== 'nobody' || container.place === 'elsewhere') return false;
  return rename(container, name);
}

export const setPolicy = ({ id }: ContainerFacts, policy: RestartPolicy): Step => ({
  kind: 'policy',
  id,
  policy,
  afterPause: false,
});

export function restorePolicy(member: MemberFacts): Step | false {
  if (member.old === undefined || member.policy === undefined) return false;
  const policy = mayTakeName(member) ? member.policy : noRestart;
  return !samePolicy(member.old.policy, policy) && setPolicy(member.old, policy);
}

/** Until the commit a successor has the policy `no`. After a crash, any other policy was set by a person. */
export function setFinalPolicy(
  { new: successor, policy }: MemberFacts,
  { isRecovery }: ExecutionMemory,
  afterPause: boolean,
): Step | undefined {
  if (successor === undefined || policy === undefined || samePolicy(successor.policy, policy)) return undefined;
  if (isRecovery && !samePolicy(successor.policy, noRestart)) return undefined;
  return { kind: 'policy', id: successor.id, policy, afterPause };
}

export const start = ({ id }: ContainerFacts): Step => ({ kind: 'start', id });

export function startOld({ old, policy, wasRunning }: MemberFacts): Step | false {
  return old !== undefined && policy !== undefined && wasRunning && !isAlive(old.status) && start(old);
}

export const stop = ({ id }: ContainerFacts): Step => ({ kind: 'stop', id });

export const remove = ({ id }: ContainerFacts): Step => ({ kind: 'remove', id });

/**
 * Keeps the mark while a container that we have parked must come back, even if its name is taken or the engine refuses
 * to rename it.
 */
export function unmark(member: MemberFacts, memory: ExecutionMemory): Step | false {
  const isWaiting = member.old?.place === 'old' && member.nameHeldBy !== 'rival' && wasParkedHere(member, memory);
  return member.isMarked && !isWaiting && { kind: 'unmark', oldId: member.oldId };
}

/** Leaves a container behind whose removal was given up, so that it is in nobody's way. */
export function leave(
  container: ContainerFacts | undefined,
  { givenUp }: Pick<ExecutionMemory, 'givenUp'>,
): Step | false {
  if (container === undefined || isAlive(container.status) || !givenUp.has(stepKey(remove(container)))) return false;
  return { kind: 'leave', id: container.id };
}

/** A container can be kept if it is stopped and only a person can start it. */
export function removeOrKeepOld({ keepMs }: MemberFacts, old: ContainerFacts): Step {
  return keepMs > 0 && !isAlive(old.status) && samePolicy(old.policy, noRestart)
    ? { kind: 'keep', id: old.id }
    : remove(old);
}

import { type RestartPolicy, isAlive } from '../container/container.ts';
import type { ExecutionMemory, MemberFacts, Standing } from './facts.ts';
import { isEntitled, wasOursToChange } from './member.ts';
import { noRestart, samePolicy } from './policy.ts';
import type { Step } from './step.ts';
import { droppedName, parkedName } from './transaction-names.ts';

export const rename = ({ id }: Standing, to: string): Step => ({ kind: 'rename', id, to });

export function park({ name, policy, wasRunning }: MemberFacts, old: Standing): Step {
  return rename(old, parkedName(name, policy ?? old.policy, wasRunning));
}

export function drop({ name, policy, wasRunning }: MemberFacts, old: Standing): Step {
  return rename(old, droppedName(name, policy ?? old.policy, wasRunning));
}

export function takeName({ name, nameHeldBy }: MemberFacts, standing: Standing | undefined): Step | false {
  if (standing === undefined || nameHeldBy !== 'nobody' || standing.place === 'elsewhere') return false;
  return rename(standing, name);
}

export const setPolicy = ({ id }: Standing, policy: RestartPolicy): Step => ({
  kind: 'policy',
  id,
  policy,
  afterPause: false,
});

export function restorePolicy(member: MemberFacts): Step | false {
  if (member.old === undefined || member.policy === undefined) return false;
  const policy = isEntitled(member) ? member.policy : noRestart;
  return !samePolicy(member.old.policy, policy) && setPolicy(member.old, policy);
}

/** A successor waits with no policy. After a crash, any other policy was set by a person. */
export function giveItsPolicy(
  { new: successor, policy }: MemberFacts,
  { isRecovery }: ExecutionMemory,
  afterPause: boolean,
): Step | undefined {
  if (successor === undefined || policy === undefined || samePolicy(successor.policy, policy)) return undefined;
  if (isRecovery && !samePolicy(successor.policy, noRestart)) return undefined;
  return { kind: 'policy', id: successor.id, policy, afterPause };
}

export const start = ({ id }: Standing): Step => ({ kind: 'start', id });

export function startOld({ old, policy, wasRunning }: MemberFacts): Step | false {
  return old !== undefined && policy !== undefined && wasRunning && !isAlive(old.status) && start(old);
}

export const stop = ({ id }: Standing): Step => ({ kind: 'stop', id });

export const remove = ({ id }: Standing): Step => ({ kind: 'remove', id });

/**
 * A container that we have parked must still come back, even if its name is taken or the engine refuses to rename it.
 */
export function unmark(member: MemberFacts, memory: ExecutionMemory): Step | false {
  const isWaiting = member.old?.place === 'old' && member.nameHeldBy !== 'rival' && wasOursToChange(member, memory);
  return member.isMarked && !isWaiting && { kind: 'unmark', oldId: member.oldId };
}

/** A container can be kept if it is stopped and only a person can start it. */
export function removeOrKeepOld({ keepMs }: MemberFacts, old: Standing): Step {
  return keepMs > 0 && !isAlive(old.status) && samePolicy(old.policy, noRestart)
    ? { kind: 'keep', id: old.id }
    : remove(old);
}

import { isAlive } from '../container/container.ts';
import { back } from './back.ts';
import { firstStep } from './choose-step.ts';
import { commit } from './commit.ts';
import type { MemberFacts, Standing, TransactionFacts } from './facts.ts';
import { forward } from './forward.ts';
import { remove } from './member-steps.ts';
import { isEngaged, needsStart } from './member.ts';
import { remake } from './remake.ts';
import type { Decision } from './step.ts';

/**
 * `decide` names the next step of a transaction from what the engine says now. The executor of an
 * update and the recovery after a crash are the same loop around it: read the facts, decide,
 * perform, again. After a crash the facts alone are enough to end it right; the memory of a process only
 * saves it from repeating a check, and says why it turned back.
 *
 * Forward, for all members of a group (targets first, so that what others hold on to is there first):
 *
 * 0. mark each member: a tag that only who may tag images can set, so that a recovery can tell our work from a forgery
 * 1. create each successor aside, and a stand-in for an old one that would not outlive its stop, connect its networks, compare it with what it replaces, run the
 *    pre-update hooks of the olds; nothing is touched so far
 * 2. rename each old aside, then each successor to the name: announces that a stop may be in flight
 * 3. give each old the policy that brings it back should the host lose power now
 * 4. stop the olds (unless two may run at once: then after the commit), start the successors unless they are to stay stopped, wait for the health gate, run
 *    the post-update hooks
 * 5. rename the leader's old once more: the commit. Before it everything goes back, after it forward
 * 6. move the restart policies over, remove the marks: from here on the new container is its owner's; then
 *    remove the olds, or keep them for a while
 *
 * One that is kept is no part of a transaction any more, unless it is to come back: then it is parked
 * again, as it was before the commit, and everything goes back from there.
 */
export function decide({ members, ...rest }: TransactionFacts): Decision {
  const facts = { ...rest, members: rest.memory.reopens ? members : members.map(withoutKept) };
  const ours = { ...facts, members: facts.members.filter((member) => isEngaged(member, facts.memory)) };
  const halfRemoved = buryDead(ours);
  if (halfRemoved !== undefined) return halfRemoved;
  switch (directionOf(ours)) {
    case 'forward':
      return forward(facts);
    case 'commit':
      return remake(facts, 'committing') ?? commit(ours);
    case 'back':
      return remake(facts, 'rolling back') ?? back(ours, facts.members);
  }
}

function directionOf(facts: TransactionFacts): 'forward' | 'commit' | 'back' {
  if (isCommitted(facts)) return 'commit';
  if (facts.memory.wish !== 'recover') return facts.memory.wish;
  return facts.members.length > 0 && facts.members.every(onlyProofIsMissing) ? 'forward' : 'back';
}

/** An engine that died in the middle of a removal keeps a `dead` container that still holds its name. */
function buryDead({ members, memory }: TransactionFacts): Decision | undefined {
  const isDead = (standing: Standing | undefined) => standing?.status === 'dead' || standing?.status === 'removing';
  return (
    firstStep('rolling back', members, ({ old }) => old !== undefined && isDead(old) && remove(old), memory) ??
    firstStep(
      'rolling back',
      members,
      ({ new: successor }) => successor !== undefined && isDead(successor) && remove(successor),
      memory,
    )
  );
}

/** The leader's name tells for the whole group: the others follow it. */
function isCommitted({ members }: TransactionFacts): boolean {
  const leader = members.find((member) => member.old !== undefined || member.new !== undefined);
  if (leader === undefined || leader.nameHeldBy === 'rival') return false;
  return leader.old === undefined ? leader.new?.place === 'name' : leader.old.place === 'drop';
}

function onlyProofIsMissing(member: MemberFacts): boolean {
  if (member.new?.place !== 'name' || member.old?.place === 'name') return false;
  if (member.old !== undefined && isAlive(member.old.status)) return false;
  return !needsStart(member);
}

function withoutKept(member: MemberFacts): MemberFacts {
  return member.old?.place === 'kept' ? { ...member, old: undefined } : member;
}

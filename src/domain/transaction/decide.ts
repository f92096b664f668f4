import { isAlive } from '../container/container.ts';
import type { UpdatePhase } from '../run/session.ts';
import { rollBack } from './roll-back.ts';
import { choicesIn, stepOf } from './choose-step.ts';
import { commit } from './commit.ts';
import type { ExecutionMemory, MemberFacts, ContainerFacts, TransactionFacts } from './facts.ts';
import { forward } from './forward.ts';
import { isInTransaction, needsStart, remove } from './member.ts';
import { type Decision, type Step, stepKey } from './step.ts';

/**
 * The next step of a transaction, from the engine's facts. An update and a recovery run the same loop: read
 * the facts, decide, perform, repeat. After a crash the facts alone are enough to end the transaction
 * correctly. The memory of a process only avoids a repeated check, and holds the reason for a rollback.
 *
 * The steps forward, for all members of a group, targets first, because other members depend on them:
 *
 * 0. Mark each member: a tag, which needs the right to tag images. It distinguishes our work from a forgery.
 * 1. Create each successor under a temporary name, and a replica for an old container that its stop would remove.
 *    Connect the networks, compare successor and old container, run the pre-update hooks. No old container changes.
 * 2. Rename each old container, then each successor to the name. A rename announces that a stop may be in flight.
 * 3. Give each old container the restart policy that starts it again after a power cut.
 * 4. Stop the old containers (after the commit where two may run at once). Start the successors, unless they must
 *    stay stopped. Wait for the health gate. Run the post-update hooks.
 * 5. Rename the leader's old container again: this is the commit. Before it everything is rolled back, after it
 *    everything is completed.
 * 6. Move the restart policies over and remove the marks. Then remove the old containers, or keep them for a while.
 *
 * A kept container is no longer part of a transaction, except for a rollback to it: then it is parked again, as
 * before the commit, and the transaction is rolled back.
 */
export function decide({ members, ...rest }: TransactionFacts): Decision {
  const facts = { ...rest, members: members.map((member) => withoutKept(member, rest.memory)) };
  const ours = { ...facts, members: facts.members.filter((member) => isInTransaction(member, facts.memory)) };
  const halfRemoved = removeDead(ours);
  if (halfRemoved !== undefined) return halfRemoved;
  switch (directionOf(ours)) {
    case 'forward':
      return forward(facts);
    case 'commit':
      return recreateReplica(facts, 'committing') ?? commit(ours);
    case 'back': {
      const next = rollBack(ours, facts.members);
      return recreateReplica(facts, 'rolling back', areNamesReturning(ours.members, next)) ?? next;
    }
  }
}

/** A replica may refer to other members by name, so they get their names back first, if they can. */
function areNamesReturning(members: readonly MemberFacts[], next: Decision): boolean {
  return next.kind === 'step' && members.some(({ old }) => old?.place === 'old');
}

function directionOf(facts: TransactionFacts): 'forward' | 'commit' | 'back' {
  if (isCommitted(facts)) return 'commit';
  if (facts.memory.direction !== 'recover') return facts.memory.direction;
  return facts.members.length > 0 && facts.members.every(onlyProofIsMissing) ? 'forward' : 'back';
}

/** An engine that died during a removal keeps a `dead` container that still has its name. */
function removeDead({ members, memory }: TransactionFacts): Decision | undefined {
  const isDead = (container: ContainerFacts | undefined) =>
    container?.status === 'dead' || container?.status === 'removing';
  const { next } = choicesIn('rolling back', memory);
  return (
    next(members, ({ old }) => old !== undefined && isDead(old) && remove(old)) ??
    next(members, ({ new: successor }) => successor !== undefined && isDead(successor) && remove(successor))
  );
}

/**
 * Creates a replica for an old container that a prune removed, unless it `waits`, connects it to its networks and fills
 * it with the placed files.
 */
function recreateReplica(
  { members, memory }: TransactionFacts,
  phase: UpdatePhase,
  waits = false,
): Decision | undefined {
  const steps = members.flatMap(
    ({ old, isReplica, lacksAutoRemoveReplica, missingOfAutoRemoveReplica, files }, member): Step[] => {
      if (old === undefined) return lacksAutoRemoveReplica && !waits ? [{ kind: 'autoRemoveReplica', member }] : [];
      if (!isReplica) return [];
      const { id } = old;
      const [networkId] = missingOfAutoRemoveReplica;
      if (networkId !== undefined) return [{ kind: 'connect', id, networkId, member }];
      const isFilled = files === undefined || memory.isRecovery || memory.filled.has(id);
      return isFilled ? [] : [{ kind: 'copyFiles', id, member }];
    },
  );
  const step = steps.find((each) => !memory.givenUp.has(stepKey(each)));
  return step && stepOf(phase, step);
}

/** The leader's name decides for the whole group. */
function isCommitted({ members, memory }: TransactionFacts): boolean {
  const leader = members.find((member) => member.old !== undefined || member.new !== undefined);
  if (leader === undefined || leader.nameHeldBy === 'rival') return false;
  if (leader.old !== undefined) return leader.old.place === 'drop';
  return leader.new?.place === 'name' && !mustProveItself(leader, members, memory);
}

/** If somebody removes the old container of an update, the successor of a single container still has to prove itself. */
function mustProveItself(
  { new: successor, desiredEndState }: MemberFacts,
  { length }: readonly MemberFacts[],
  { isRecovery, reopens, proven }: ExecutionMemory,
): boolean {
  if (length > 1 || isRecovery || reopens || desiredEndState === 'stopped') return false;
  return successor !== undefined && !proven.has(successor.id);
}

function onlyProofIsMissing(member: MemberFacts): boolean {
  if (member.new?.place !== 'name' || member.old?.place === 'name') return false;
  if (member.old !== undefined && isAlive(member.old.status)) return false;
  return !needsStart(member);
}

/** Without containers that are kept or left over. The kept one that must come back is part of the transaction. */
function withoutKept(member: MemberFacts, { reopens }: ExecutionMemory): MemberFacts {
  const part = (container: ContainerFacts | undefined) => (container?.place === 'kept' ? undefined : container);
  const old = reopens ? member.old : part(member.old);
  return { ...member, old, new: part(member.new), spare: part(member.spare) };
}

import { isAlive, samePolicy, noRestart } from '../container/container.ts';
import type { UpdatePhase } from '../run/session.ts';
import {
  clearData,
  freeReserve,
  choicesIn,
  stepOf,
  needsStart,
  remove,
  stepKey,
  firstOf,
  firstStep,
  drop,
  isNameTaken,
  park,
  rename,
  setPolicy,
  start,
  stop,
  wasParkedHere,
  policyWhileUnproven,
  leave,
  setFinalPolicy,
  restorePolicy,
  startOld,
  takeName,
  unmark,
  isFoundInPlace,
  type Decision,
  type Step,
  type StepOf,
  wasStarted,
} from './member.ts';
import { rollBack } from './roll-back.ts';
import {
  isParked,
  type ExecutionMemory,
  type MemberFacts,
  type ContainerFacts,
  type TransactionFacts,
} from './facts.ts';

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
 *    If the update copies data: measure them, and create the helpers.
 * 2. Rename each old container, then each successor to the name. A rename announces that a stop may be in flight.
 * 3. Give each old container the restart policy that starts it again after a power cut.
 * 4. Stop the old containers (after the commit where two may run at once). Copy the data. Start the successors, unless they must
 *    stay stopped. Wait for the health check. Run the post-update hooks.
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

/**
 * Whether the member has had a successor. The successor's name is the lock: without it another updater may be at work.
 */
function isInTransaction(member: MemberFacts, { created }: ExecutionMemory): boolean {
  return member.new !== undefined || created === 'all' || (member.old !== undefined && created.has(member.old.id));
}

/** A replica may refer to other members by name, so they get their names back first, if they can. */
function areNamesReturning(members: readonly MemberFacts[], next: Decision): boolean {
  return next.kind === 'step' && members.some(({ old }) => old?.place === 'old');
}

function directionOf(facts: TransactionFacts): 'forward' | 'commit' | 'back' {
  if (isCommitted(facts)) return 'commit';
  const isPresent = facts.members.length > 0 && facts.members.every(({ new: successor }) => successor !== undefined);
  if (facts.memory.data.choice === 'keep-new' && isPresent) return 'commit';
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

/** If someone removes the old container of an update, the successor of a single container still has to prove itself. */
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
  return { ...member, old, new: part(member.new), replica: part(member.replica) };
}

function forward(facts: TransactionFacts): Decision {
  return (
    firstOf(facts.members, (member) => whyNotForward(member, facts)) ??
    prepare(facts) ??
    prepareData(facts) ??
    runPreUpdateHooks(facts) ??
    swap(facts) ??
    saveData(facts) ??
    prove(facts) ??
    runPostUpdateHooks(facts) ??
    freeReserve(facts, 'committing') ??
    firstStep('committing', facts.members, (member) => member.old?.place === 'old' && drop(member, member.old)) ?? {
      kind: 'end',
      result: 'committed',
    }
  );
}

function whyNotForward(member: MemberFacts, { members, memory }: TransactionFacts): Decision | undefined {
  const rollBack = (reason: string, busy = false): Decision => ({ kind: 'rollBack', reason, busy });
  const isParkedByOther = member.old !== undefined && isParked(member.old.place) && !wasParkedHere(member, memory);
  if (isParkedByOther || member.nameHeldBy === 'rival')
    return rollBack(`another update of "${member.name}" is in progress`, true);
  if (isNameTaken(member)) return rollBack(`another container has taken the name "${member.name}"`, true);
  if (member.old?.place === 'name' && member.policy !== undefined && !samePolicy(member.old.policy, member.policy))
    return rollBack(`the restart policy of "${member.name}" was changed meanwhile`, true);
  if (member.old?.place === 'elsewhere') return rollBack(`someone renamed "${member.name}" meanwhile`, true);
  // A member of a group cannot be undone alone: its successor depends on the other successors.
  const isCarriedAlong = member.new?.place === 'name' || (member.new !== undefined && members.length > 1);
  const [rival] = member.rivals;
  const lostRace =
    rival === undefined ? undefined : rollBack(`another update of "${member.name}" is in progress ("${rival}")`, true);
  if (member.old === undefined && !isCarriedAlong)
    return lostRace ?? rollBack(`someone removed "${member.name}" meanwhile`);
  if (member.new === undefined) {
    if (member.old?.place === 'name') return undefined;
    return rollBack(
      member.autoRemoves
        ? `the new version of "${member.name}" did not run, so the engine removed it (--rm)`
        : `someone removed the successor of "${member.name}"`,
    );
  }
  const tagMoved = (created: string): Decision => {
    const reason = `the tag of "${member.reference}" was moved while ${created} "${member.name}" was created`;
    return { kind: 'rollBack', reason, busy: true, wasTagMoved: true };
  };
  if (member.targetImageId !== undefined && member.new.imageId !== member.targetImageId)
    return tagMoved('the successor of');
  if (member.replica !== undefined && member.replica.imageId !== member.old?.imageId) return tagMoved('a stand-in for');
  return lostRace;
}

function prepare({ members, memory, setsNoMarks }: TransactionFacts): Decision | undefined {
  const unmarked = setsNoMarks ? undefined : members.find(({ isMarked }) => !isMarked);
  if (unmarked !== undefined) return stepOf('preparing', { kind: 'mark', oldId: unmarked.oldId });
  for (const [member, { new: successor }] of members.entries()) {
    if (successor === undefined) return stepOf('preparing', { kind: 'create', member });
  }
  for (const [member, { new: successor, missingNetworks, files }] of members.entries()) {
    const lacking = { missingNetworks, files };
    const step = successor?.place === 'new' && completeOrCompare(successor, lacking, member, memory);
    if (step) return step;
  }
  for (const [member, { new: successor, replica, ...rest }] of members.entries()) {
    if (successor?.place !== 'new') continue;
    if (rest.lacksAutoRemoveReplica) return stepOf('preparing', { kind: 'autoRemoveReplica', member });
    const { missingOfAutoRemoveReplica: missingNetworks, files } = rest;
    const step = replica && completeOrCompare(replica, { missingNetworks, files }, member, memory);
    if (step) return step;
  }
  return undefined;
}

function completeOrCompare(
  { id }: ContainerFacts,
  {
    missingNetworks: [networkId],
    files,
  }: Pick<MemberFacts, 'missingNetworks'> & { readonly files: MemberFacts['files'] },
  member: number,
  { compared, filled }: ExecutionMemory,
): Decision | undefined {
  if (networkId !== undefined) return stepOf('preparing', { kind: 'connect', id, networkId, member });
  if (files !== undefined && !filled.has(id)) return stepOf('preparing', { kind: 'copyFiles', id, member });
  return compared.has(id) ? undefined : stepOf('preparing', { kind: 'compare', id, member });
}

/** Runs every pre-update hook before the first change. Each may refuse or defer the update of the whole group. */
function runPreUpdateHooks({ members, memory }: TransactionFacts): Decision | undefined {
  return firstStep(
    'preparing',
    members.toReversed(),
    ({ old }) => old?.place === 'name' && runHook('preUpdate', old, memory),
  );
}

function swap({ members, liveRestore }: TransactionFacts): Decision | undefined {
  const dependentsFirst = members.toReversed();
  return (
    firstStep('stopping', dependentsFirst, ({ old }) => old !== undefined && isBetweenTries(old) && stop(old)) ??
    firstStep('preparing', dependentsFirst, (member) => member.old?.place === 'name' && park(member, member.old)) ??
    firstStep(
      'preparing',
      dependentsFirst,
      (member) => member.new?.place === 'new' && rename(member.new, member.name),
    ) ??
    firstStep('preparing', members, ({ old, policy, wasRunning, startsFirst }) => {
      if (old?.place !== 'old' || startsFirst || policy === undefined || !wasRunning || !isAlive(old.status))
        return undefined;
      const waiting = policyWhileUnproven(policy, liveRestore);
      return !samePolicy(old.policy, waiting) && setPolicy(old, waiting);
    }) ??
    firstStep(
      'stopping',
      dependentsFirst,
      ({ old, startsFirst }) => old !== undefined && !startsFirst && isAlive(old.status) && stop(old),
    )
  );
}

/** Before anything is stopped: measures the data, then creates the volume of the copy and the helpers. */
function prepareData({ members, data, memory }: TransactionFacts): Decision | undefined {
  if (data === undefined || members.some(({ old }) => old?.place !== 'name')) return undefined;
  if (!memory.data.isMeasured) return stepOf('preparing', { kind: 'measureData' });
  return memory.data.isArmed ? undefined : stepOf('preparing', { kind: 'armData' });
}

/**
 * After the last stop and before the first start: copies the data, then takes the restart policy from every old
 * container. From then on the data may change, so no engine may start an old container on them.
 */
function saveData(facts: TransactionFacts): Decision | undefined {
  const { members, data, memory } = facts;
  if (data === undefined || memory.data.mayHaveStarted || members.some(wasStarted)) return undefined;
  if (members.every(({ desiredEndState }) => desiredEndState === 'stopped')) return undefined;
  if (!isSaved(facts)) return stepOf('saving data', { kind: 'saveData' });
  return firstStep('saving data', members, ({ old }) => {
    return old !== undefined && !samePolicy(old.policy, noRestart) && setPolicy(old, noRestart);
  });
}

/** An engine that was restarted since may have run an old container again. */
function isSaved({ members, memory }: TransactionFacts): boolean {
  const { savedOf } = memory.data;
  return (
    savedOf !== undefined && members.every(({ old }) => old === undefined || savedOf.get(old.id) === old.startedAt)
  );
}

/**
 * Docker cannot rename a container that its restart policy is about to start ("sandbox not found"), because it has no
 * network then.
 */
function isBetweenTries({ place, status }: ContainerFacts): boolean {
  return place === 'name' && status === 'restarting';
}

function prove({ members, memory }: TransactionFacts): Decision | undefined {
  const unproven: string[] = [];
  for (const member of members) {
    const { new: successor, desiredEndState, waitsFor } = member;
    if (desiredEndState === 'stopped' || successor === undefined || memory.proven.has(successor.id)) continue;
    if (successor.startedAt === '') {
      const awaited = waitsFor.flatMap((place) => members[place]?.new?.id ?? []).filter((id) => unproven.includes(id));
      return awaited.length === 0
        ? stepOf('starting', start(successor))
        : stepOf('checking health', { kind: 'awaitHealth', ids: awaited });
    }
    unproven.push(successor.id);
    if (needsStart(member)) break;
  }
  return unproven.length === 0 ? undefined : stepOf('checking health', { kind: 'awaitHealth', ids: unproven });
}

function runPostUpdateHooks({ members, memory }: TransactionFacts): Decision | undefined {
  return firstStep(
    'checking health',
    members,
    ({ new: successor }) => successor !== undefined && runHook('postUpdate', successor, memory),
  );
}

function runHook(
  hook: StepOf<'hook'>['hook'],
  { id, status, hasHook }: ContainerFacts,
  { hooked }: ExecutionMemory,
): Step | false {
  return hasHook && status === 'running' && !hooked.has(id) && { kind: 'hook', id, hook };
}

/** An earlier process may already have performed any of these steps. */
function commit(facts: TransactionFacts): Decision {
  const { members: all, memory, setsNoMarks } = facts;
  // A commit parks every old container first. An old container at its plain name is not part of it, even if a journal
  // names it.
  const members = all.filter(
    (member) => !isFoundInPlace(member, memory) || (member.isMarked && member.new === undefined),
  );
  const replaced = members.filter((member) => member.new !== undefined);
  const owed = replaced.filter((member) => lacksPolicy(member, memory));
  const orphaned = members.filter((member) => member.new === undefined);
  const { next, must } = choicesIn('committing', memory);
  const setPolicies = () => must(owed, (member) => setFinalPolicy(member, memory, member.old !== undefined));
  return (
    freeReserve(facts, 'committing') ??
    next(replaced, (member) => member.old?.place === 'old' && drop(member, member.old)) ??
    next(replaced, (member) => takeName(member, member.new)) ??
    next(replaced, ({ old }) => old !== undefined && !samePolicy(old.policy, noRestart) && setPolicy(old, noRestart)) ??
    // Without a mark, the policy is the record, and therefore the last change.
    (setsNoMarks ? undefined : setPolicies()) ??
    next(replaced, ({ old }) => old !== undefined && isAlive(old.status) && stop(old)) ??
    must(owed, (member) => member.new !== undefined && needsStart(member) && start(member.new)) ??
    setPolicies() ??
    firstOf(orphaned, (member) => whyNotOrphaned(member, memory)) ??
    clearData(facts, 'committing') ??
    must(replaced, (member) => unmark(member, memory)) ??
    next(replaced, ({ replica }) => replica !== undefined && remove(replica)) ??
    next(replaced.toReversed(), (member) => member.old !== undefined && removeOrKeepOld(member, member.old)) ??
    next(replaced, ({ old }) => leave(old, memory)) ??
    next(replaced, ({ replica }) => leave(replica, memory)) ??
    restoreOrphans(orphaned, memory) ??
    must(orphaned, (member) => unmark(member, memory)) ?? { kind: 'end', result: 'committed' }
  );
}

/**
 * Whether a committed successor still waits for its policy. With the policy set, the mark is removed and the container
 * belongs to its owner: a later stop or change of the policy is respected, even if the old container still exists.
 * Without a mark, the policy itself is the record; a container whose policy is `no` has none.
 */
function lacksPolicy(member: MemberFacts, { isRecovery }: ExecutionMemory): boolean {
  const { old, new: successor, isReplica, isMarked, hasNoMark, policy = noRestart } = member;
  if (!isRecovery || isMarked) return true;
  const hasPolicyOfUpdate = successor !== undefined && samePolicy(successor.policy, noRestart);
  if (hasNoMark && old?.place === 'drop' && hasPolicyOfUpdate && !samePolicy(policy, noRestart)) return true;
  return old !== undefined && !isReplica && !samePolicy(old.policy, noRestart);
}

/** After the commit the data are those of the new version, so an old container must not come back by itself. */
function whyNotOrphaned(member: MemberFacts, { data: { choice } }: TransactionFacts['memory']): Decision | undefined {
  const { old, isReplica } = member;
  const isSuperfluous = isReplica || isNameTaken(member);
  const isWithoutData = isSuperfluous || old?.place !== 'drop' || old.hasData !== true || choice === 'without-data';
  return isWithoutData ? undefined : { kind: 'stuck', fault: 'new-gone' };
}

/** A container can be kept if it is stopped and only a person can start it. */
function removeOrKeepOld({ keepMs }: MemberFacts, old: ContainerFacts): Step {
  return keepMs > 0 && !isAlive(old.status) && samePolicy(old.policy, noRestart)
    ? { kind: 'keep', id: old.id }
    : remove(old);
}

/** Members that lost their successor after the commit: it was removed from outside, or it had `--rm` and exited. */
function restoreOrphans(orphaned: readonly MemberFacts[], memory: ExecutionMemory): Decision | undefined {
  const { next, must } = choicesIn('committing', memory);
  const isSuperfluous = (member: MemberFacts) =>
    member.old?.place === 'drop' && (isNameTaken(member) || member.isReplica);
  return (
    next(orphaned, (member) => isSuperfluous(member) && member.old !== undefined && remove(member.old)) ??
    next(orphaned, (member) => takeName(member, member.old)) ??
    must(orphaned, (member) => !isNameTaken(member) && startOld(member)) ??
    next(orphaned, restorePolicy)
  );
}

import { isAlive, noRestart, samePolicy } from '../container/container.ts';
import {
  clearData,
  freeReserve,
  choicesIn,
  setFinalPolicy,
  leave,
  park,
  remove,
  rename,
  restorePolicy,
  setPolicy,
  start,
  startOld,
  stop,
  takeName,
  unmark,
  isFoundInPlace,
  isNameTaken,
  needsStart,
  wasParkedHere,
  isWaiting,
  policyOfReturn,
  policyWhileUnproven,
  type Decision,
  type Step,
  stepOf,
  stepKey,
  wasStarted,
  isRestored,
} from './member.ts';
import type { ExecutionMemory, MemberFacts, ContainerFacts, TransactionFacts } from './facts.ts';
import { transactionName, parseTransactionName } from './transaction-names.ts';

/**
 * The next step back. All members return together, and each step waits until those before it are done:
 *
 * 1. A kept container that a person wants back is marked and parked, as before the commit.
 * 2. Each failed successor gives up the name and is stopped, dependents first. Its networks end with the stop.
 * 3. The data are restored. No old container may start before that.
 * 4. Each old container takes its name, starts if it ran, and gets its restart policy.
 * 5. Moved tags move back. Replicas and the copies of data are removed.
 * 6. The marks are removed, then the failed successors. One that cannot be removed gets a name that says so.
 */
export function rollBack(facts: TransactionFacts, all: readonly MemberFacts[]): Decision {
  const { members, memory, liveRestore, setsNoMarks } = facts;
  const present = members.filter((member) => member.old !== undefined);
  const returning = present.filter((member) => isOursToReturn(member, memory));
  const stranded = members.filter((member) => member.old === undefined);
  const dependentsFirst = present.toReversed();
  const stopPossible = members.every((member) => member.new?.place !== 'new');
  const { next, must } = choicesIn('rolling back', memory);
  const held = dependentsFirst.filter(isHeld);
  const nextOrMust = isRestorePending(facts) ? must : next;
  const successors = dependentsFirst.map(({ new: made }) => made);
  // Without a mark, the successor is the only record of a parked container.
  const isRecord = (member: MemberFacts) => setsNoMarks === true && isWaiting(member, memory);
  const restoreTags = () => next(all, restoreMovedTag) ?? next(present, (member) => restoreTag(member, memory));
  return (
    freeReserve(facts, 'rolling back', successors) ??
    next(returning, ({ old, oldId, isMarked }) => {
      return old?.place === 'kept' && !isMarked && setsNoMarks !== true && { kind: 'mark', oldId };
    }) ??
    next(returning, (member) => member.old?.place === 'kept' && park(member, member.old)) ??
    next(returning, ({ new: successor, old }) => {
      const isUnproven = successor?.place === 'name' && old?.place === 'old';
      return isUnproven && !samePolicy(successor.policy, noRestart) && setPolicy(successor, noRestart);
    }) ??
    next(returning, (member) => setWaitingPolicy(member, liveRestore)) ??
    must(held, freeName) ??
    next(dependentsFirst, freeName) ??
    nextOrMust(dependentsFirst, ({ new: made }) => made !== undefined && isAlive(made.status) && stop(made)) ??
    restoreData(facts) ??
    must(held, (member) => takeName(member, member.old)) ??
    must(returning, (member) => isBesideItsSuccessor(member) && !isNameTaken(member) && startOld(member)) ??
    (setsNoMarks ? restoreTags() : undefined) ??
    next(returning, (member) => isRecord(member) && announceReturn(member)) ??
    next(returning, (member) => takeName(member, member.old)) ??
    must(returning, (member) => !isNameTaken(member) && mayStart(member, memory) && startOld(member)) ??
    next(returning, (member) => stopPossible && !isNameTaken(member) && waitOutPendingStop(member, memory)) ??
    must(
      returning,
      (member) => wasParkedHere(member, memory) && maySetPolicy(member, memory, liveRestore) && restorePolicy(member),
    ) ??
    restoreTags() ??
    next(present, ({ replica }) => replica !== undefined && remove(replica)) ??
    next(present, (member) => member.nameHeldBy === 'rival' && isRemovable(member) && remove(member.new)) ??
    clearData(facts, 'rolling back') ??
    must(all, (member) => !isStranded(member) && unmark(member, memory)) ??
    next(dependentsFirst, (member) => isRemovable(member) && !isRecord(member) && remove(member.new)) ??
    next(dependentsFirst, (member) => isRemovable(member) && !isRecord(member) && leave(member.new, memory)) ??
    next(present, ({ replica }) => leave(replica, memory)) ??
    finishStranded(stranded, memory) ??
    must(all, (member) => unmark(member, memory)) ??
    must(returning, (member) => takeName(member, member.old)) ??
    must(returning, (member) => isRecord(member) && freeName(member)) ?? { kind: 'end', result: 'undone' }
  );
}

/**
 * Without a mark, only the name of a parked container shows that it must come back. The last changes before that name
 * goes: its policy, or one that shows the same until the container runs. The journal is needed for both.
 */
function announceReturn(member: MemberFacts): Step | false {
  const { old, new: successor, nameHeldBy, policy, wasRunning } = member;
  if (old === undefined || successor === undefined || policy === undefined || nameHeldBy !== 'nobody') return false;
  if (old.hasData) return false;
  if (!wasRunning || isAlive(old.status)) return restorePolicy(member);
  return !samePolicy(old.policy, policyOfReturn) && setPolicy(old, policyOfReturn);
}

/** Takes the name from a successor that has failed. */
function freeName({ name, new: successor }: MemberFacts): Step | false {
  return successor?.place === 'name' && rename(successor, transactionName({ role: 'bad', name }));
}

/** The successor has not taken the place of its parked container. */
function isBesideItsSuccessor(member: MemberFacts): boolean {
  return member.new?.place === 'new' && member.old?.place === 'old';
}

/**
 * A container at its plain name belongs to its owner, unless the mark and a successor with the failed name show that it
 * was parked.
 */
function mayStart(member: MemberFacts, memory: ExecutionMemory): boolean {
  if (!isFoundInPlace(member, memory)) return true;
  const { old, new: successor, isMarked } = member;
  if (successor !== undefined) return isMarked && successor.place === 'bad';
  return isMarked && (old?.startedAt === '' || (member.data !== undefined && hasPolicyOfUpdate(member)));
}

/** Any policy other than the temporary one of a parked container was set by a person. */
function maySetPolicy(member: MemberFacts, memory: ExecutionMemory, liveRestore: boolean): boolean {
  if (!isFoundInPlace(member, memory)) return true;
  const { old, new: successor, policy, isMarked } = member;
  if (!isMarked || successor?.place === 'new' || old === undefined || policy === undefined) return false;
  if (member.data !== undefined && samePolicy(old.policy, noRestart)) return true;
  return samePolicy(old.policy, policyWhileUnproven(policy, liveRestore));
}

/** Before the data change, an update takes the policy away. A person would hardly do so. */
function hasPolicyOfUpdate({ old, policy = noRestart }: MemberFacts): boolean {
  return old !== undefined && samePolicy(old.policy, noRestart) && !samePolicy(policy, noRestart);
}

/** True if only the successor exists, which therefore stays. */
function isStranded({ old, new: successor }: MemberFacts): boolean {
  return old === undefined && successor !== undefined;
}

/**
 * While a copy of a successor has its name, the successor itself shows which one is ours. Without it the next recovery
 * would take the copy for ours.
 */
function isRemovable(member: MemberFacts): member is MemberFacts & { readonly new: ContainerFacts } {
  return member.new !== undefined && !(member.nameHeldBy === 'copy' && member.old?.place === 'old');
}

/** With this policy the engine starts the kept container after a power cut, like any parked one. */
function setWaitingPolicy(
  { old, new: successor, policy, wasRunning }: MemberFacts,
  liveRestore: boolean,
): Step | false {
  // The engine must not start it before its data are restored.
  if (old?.hasData === true) return false;
  if (old?.place !== 'old' || successor?.place !== 'name' || policy === undefined) return false;
  if (!wasRunning || isAlive(old.status)) return false;
  const waiting = policyWhileUnproven(policy, liveRestore);
  return !samePolicy(old.policy, waiting) && setPolicy(old, waiting);
}

/**
 * The old container was removed from outside. Its successor stays, unless the name is taken or another update brings the
 * container back.
 */
function finishStranded(stranded: readonly MemberFacts[], memory: ExecutionMemory): Decision | undefined {
  const isForeign = (member: MemberFacts) =>
    member.nameHeldBy === 'rival' || isNameTaken(member) || member.rivals.some(mayComeBack);
  const { next, must } = choicesIn('rolling back', memory);
  return (
    next(stranded, (member) => member.new !== undefined && isForeign(member) && remove(member.new)) ??
    next(stranded, (member) => takeName(member, member.new)) ??
    next(stranded, (member) => setFinalPolicy(member, memory, false)) ??
    must(stranded, (member) => member.new !== undefined && needsStart(member) && start(member.new))
  );
}

/** Whether a container with this name in a transaction is an old one, or its replica. */
function mayComeBack(name: string): boolean {
  return parseTransactionName(name)?.role === 'old';
}

function isOursToReturn(member: MemberFacts, memory: ExecutionMemory): boolean {
  const { old, nameHeldBy } = member;
  return old !== undefined && nameHeldBy !== 'rival' && (old.place === 'name' || wasParkedHere(member, memory));
}

function waitOutPendingStop(
  { old, wasRunning }: MemberFacts,
  { stopsInDoubt, stopTimedOut }: ExecutionMemory,
): Step | false {
  if (old === undefined || !wasRunning || !isAlive(old.status) || stopTimedOut.has(old.id)) return false;
  return (stopsInDoubt === 'any' || stopsInDoubt.has(old.id)) && { kind: 'waitOutPendingStop', id: old.id };
}

/** Without a successor, only this process knows from which image it has moved the tag. */
function restoreMovedTag(member: MemberFacts): Step | false {
  const { new: successor, nameHeldBy, targetImageId, tagMovedFrom, taggedImageId, reference } = member;
  if (successor !== undefined || tagMovedFrom === undefined || nameHeldBy === 'rival') return false;
  const isMoved = taggedImageId === targetImageId && taggedImageId !== tagMovedFrom;
  return isMoved && { kind: 'tag', imageId: tagMovedFrom, reference };
}

/** A recovery moves a tag back only to the image that the engine reports for the old container. */
function restoreTag(member: MemberFacts, memory: ExecutionMemory): Step | false {
  const { old, new: successor, autoRemoves, isReplica, isMarked, newImageId, taggedImageId, reference } = member;
  const movedTo = successor?.imageId ?? (autoRemoves || isReplica || isMarked ? newImageId : '');
  if (old === undefined || movedTo === '' || taggedImageId !== movedTo || member.nameHeldBy === 'rival') return false;
  const before = memory.isRecovery && member.taggedBefore === '' ? old.imageId : member.taggedBefore;
  if (before === '' || before === movedTo) return false;
  const isProven = isMarked || !isFoundInPlace(member, memory);
  if (memory.isRecovery && (before !== old.imageId || !isProven)) return false;
  return { kind: 'tag', imageId: before, reference };
}

/**
 * The step that is left before an old container may have its name, which is the record: until then the data may be those
 * of the new version, and afterwards they are never restored again.
 */
function restoreData(facts: TransactionFacts): Decision | undefined {
  const { members, data, memory } = facts;
  if (memory.data.choice === 'without-data') return undefined;
  if (!isRestorePending(facts)) return undefined;
  if (members.some(({ old }) => old !== undefined && isAlive(old.status)))
    return { kind: 'stuck', fault: 'old-started' };
  if (data === undefined) return { kind: 'stuck', fault: 'no-journal' };
  const { must } = choicesIn('restoring data', memory);
  const withdrawn = must(members, ({ old }) => {
    return old !== undefined && !samePolicy(old.policy, noRestart) && setPolicy(old, noRestart);
  });
  if (withdrawn !== undefined) return withdrawn;
  if (isRestored(facts)) return undefined;
  // A successor is started only after a complete save, so this is another volume, or somebody started it too early.
  if (memory.data.wasNeverSaved) return members.some(wasStarted) ? { kind: 'stuck', fault: 'no-copy' } : undefined;
  // The new version never ran, so the data are still the old ones.
  if (memory.data.hasNoCopy) return isChangeCertain(facts) ? { kind: 'stuck', fault: 'no-copy' } : undefined;
  const step: Step = { kind: 'restoreData' };
  return memory.givenUp.has(stepKey(step)) ? { kind: 'stuck', step } : stepOf('restoring data', step);
}

/**
 * Whether the data may be those of the new version. Before a successor has started they are not; but an engine that
 * lost its power may have forgotten a start, so a recovery also looks for the policy that announces it.
 */
export function isRestorePending(facts: TransactionFacts): boolean {
  const { members, data, memory } = facts;
  const present = members.filter(({ old }) => old !== undefined);
  if (present.length === 0 || !present.every(isHeld)) return false;
  // A prune would have removed the stand-in of a `--rm` container too, so the helper was never created beside it.
  const isNotMade = data?.save === undefined && present.some(({ isReplica, autoRemoves }) => isReplica && autoRemoves);
  const isSaveBegun = data?.save === undefined ? !isNotMade : data.save.startedAt !== '';
  if (!isSaveBegun) return false;
  if (isChangeCertain(facts)) return true;
  const isAnnounced = present.every(({ old }) => old !== undefined && samePolicy(old.policy, noRestart));
  return isAnnounced && (memory.isRecovery || memory.data.mayHaveStarted);
}

function isChangeCertain({ members }: TransactionFacts): boolean {
  return members.some((member) => member.new === undefined || wasStarted(member));
}

/** Whether the old container may not run under its present name, because a crash would lead to a restore again. */
function isHeld({ old, new: successor }: MemberFacts): boolean {
  return old?.place === 'old' && old.hasData === true && successor?.place !== 'new';
}

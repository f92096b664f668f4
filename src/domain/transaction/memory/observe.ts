import { isParked, type MemberFacts, type TransactionFacts } from '../facts.ts';
import { noteFailure, type TransactionMemory, withEntry, withOne } from './transaction-memory.ts';

/** Learns from facts that were just read. `autoRemoveReplicas`: ids of the replicas by the old container's id. */
export function observe(
  memory: TransactionMemory,
  { members }: Pick<TransactionFacts, 'members'>,
  autoRemoveReplicas: ReadonlyMap<string, string>,
): TransactionMemory {
  let known = memory;
  for (const member of members) known = observeMember(known, member, autoRemoveReplicas.get(member.oldId));
  return known;
}

function observeMember(
  memory: TransactionMemory,
  { oldId, old, new: successor }: MemberFacts,
  autoRemoveReplica: string | undefined,
): TransactionMemory {
  let { created, parked, seenParked, endedAt, startedAt, successorIds } = memory;
  if (old?.finishedAt && old.status === 'exited') endedAt = withEntry(endedAt, oldId, old.finishedAt);
  if (old !== undefined && isParked(old.place)) seenParked = withOne(seenParked, old.id);
  if (successor !== undefined) {
    if (created !== 'all') created = withOne(created, oldId);
    successorIds = withEntry(successorIds, oldId, successor.id);
    if (successor.startedAt !== '') startedAt = withEntry(startedAt, oldId, successor.startedAt);
  }
  if (autoRemoveReplica !== undefined && created !== 'all') created = withOne(created, autoRemoveReplica);
  if (autoRemoveReplica !== undefined && parked !== 'any') parked = withOne(parked, autoRemoveReplica);
  return { ...memory, created, parked, seenParked, endedAt, startedAt, successorIds };
}

/**
 * A transaction that was handed over fully prepared continues forward once. After that it is recovered like any other.
 */
export function continueHandOver(
  memory: TransactionMemory,
  { members }: Pick<TransactionFacts, 'members'>,
): TransactionMemory {
  if (memory.mode !== 'finish-as-helper' || memory.isTakenUp) return memory;
  const isPrepared = members.every(({ old, new: successor }) => old?.place === 'name' && successor?.place === 'new');
  if (!isPrepared) return { ...memory, isTakenUp: true };
  const successorIds = members.flatMap(({ new: successor }) => successor?.id ?? []);
  return {
    ...memory,
    isTakenUp: true,
    direction: 'forward',
    filled: withOne(memory.filled, ...successorIds),
    compared: withOne(memory.compared, ...successorIds),
    hooked: withOne(memory.hooked, ...members.flatMap(({ old }) => old?.id ?? [])),
  };
}

/** True if a successor disappeared on the way forward. The engine's events may show the reason. */
export function hasLostSuccessor(
  { direction }: TransactionMemory,
  { members }: Pick<TransactionFacts, 'members'>,
): boolean {
  return direction === 'forward' && members.some(({ old, new: successor }) => old?.place !== 'name' && !successor);
}

/**
 * For an engine without events: an undisturbed `--rm` successor that disappeared has exited, which counts as a failure.
 */
export function noteLostSuccessors(memory: TransactionMemory, facts: TransactionFacts): TransactionMemory {
  let known = memory;
  for (const { oldId, new: successor, autoRemoves } of facts.members) {
    const successorId = known.successorIds.get(oldId) ?? '';
    const isOwnEnd = successor === undefined && autoRemoves && known.undisturbed.has(successorId);
    if (isOwnEnd) known = noteFailure(known, successorId, facts);
  }
  return known;
}

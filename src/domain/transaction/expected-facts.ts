import { isAlive } from '../container/container.ts';
import { placedBy, isParked, type MemberFacts, type ContainerFacts, type TransactionFacts } from './facts.ts';
import type { Decision, Step, StepKind } from './member.ts';
import { noteFailure, withEntry, withOne, type TransactionMemory } from './memory.ts';

/**
 * The facts that the engine must show after a completed step, so that they need not be read. Undefined if only the
 * engine knows them. Expectations are used only by an update on its way forward. A rollback and a recovery read the
 * facts each time.
 */
export function expectedFactsAfter(
  facts: TransactionFacts,
  step: Step,
  memory: Pick<TransactionMemory, 'mode' | 'direction'>,
): TransactionFacts | undefined {
  if (!isOnItsWay(memory) || !facts.members.every(isForeseeable)) return undefined;
  const after = effects[step.kind];
  if (after === undefined) return undefined;
  return { ...facts, members: facts.members.map((member) => after(member, step)) };
}

/** Whether this is an update that nothing has turned back yet. */
export function isOnItsWay({ mode, direction }: Pick<TransactionMemory, 'mode' | 'direction'>): boolean {
  return direction === 'forward' && (mode === 'update' || mode === 'hand-over' || mode === 'rehearse');
}

/**
 * False with a replica, which takes the place of the old container when that stops. Also false if the old container
 * started or exited since the plan: the engine may restart it at any time.
 */
function isForeseeable({ needsAutoRemoveReplica, replica, isReplica, old, wasRunning }: MemberFacts): boolean {
  if (needsAutoRemoveReplica || replica !== undefined || isReplica) return false;
  return old?.place !== 'name' || isAlive(old.status) === wasRunning;
}

/**
 * Whether a decision may be based on expected facts. Its step must not affect anything that runs, must be reversible,
 * and the engine must refuse it if its object is missing or its name is taken. The facts are always read just before a
 * stop, a start, a removal, and the removal of a mark.
 */
export function mayUseExpectedFacts(decision: Decision): boolean {
  if (decision.kind === 'end') return decision.result === 'committed';
  return decision.kind === 'step' && withoutReading.has(decision.step.kind);
}

const withoutReading: ReadonlySet<StepKind> = new Set([
  'mark',
  'create',
  'copyFiles',
  'compare',
  'rename',
  'policy',
  'awaitHealth',
]);

type Effect = (member: MemberFacts, step: Step) => MemberFacts;

const effects: Partial<Record<StepKind, Effect>> = {
  mark: (member, step) =>
    step.kind === 'mark' && step.oldId === member.oldId ? { ...member, isMarked: true } : member,
  copyFiles: (member) => member,
  compare: (member) => member,
  rename: (member, step) => (step.kind === 'rename' ? renamed(member, step.id, step.to) : member),
  policy: (member, step) =>
    step.kind === 'policy' ? ofOne(member, step.id, (one) => ({ ...one, policy: step.policy })) : member,
  // Only the engine knows the time. The health check reads the result.
  start: (member, step) =>
    step.kind === 'start'
      ? ofOne(member, step.id, (one) => ({ ...one, status: 'running', startedAt: unreadTime }))
      : member,
  remove: (member, step) =>
    step.kind === 'remove' && member.old?.id === step.id ? { ...member, old: undefined } : member,
};

/** Placeholder for a start time that was not read. */
const unreadTime = 'unread';

function ofOne(member: MemberFacts, id: string, change: (container: ContainerFacts) => ContainerFacts): MemberFacts {
  if (member.old?.id === id) return { ...member, old: change(member.old) };
  return member.new?.id === id ? { ...member, new: change(member.new) } : member;
}

function renamed(member: MemberFacts, id: string, to: string): MemberFacts {
  const after = ofOne(member, id, ({ hasData: _, ...one }) => ({ ...one, ...placedBy(to, member.name) }));
  if (after === member) return member;
  const { old, new: successor } = after;
  const isFree = member.nameHeldBy === 'old' || member.nameHeldBy === 'new';
  const nameHeldBy =
    old?.place === 'name' ? 'old' : successor?.place === 'name' ? 'new' : isFree ? 'nobody' : member.nameHeldBy;
  const isBeforeSwap = old?.place === 'name' && successor?.place === 'new';
  return { ...after, nameHeldBy, rivals: isBeforeSwap ? member.rivals : [] };
}

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
  if (memory.mode !== 'finish-as-helper' || memory.hasResumed) return memory;
  const isPrepared = members.every(({ old, new: successor }) => old?.place === 'name' && successor?.place === 'new');
  if (!isPrepared) return { ...memory, hasResumed: true };
  const successorIds = members.flatMap(({ new: successor }) => successor?.id ?? []);
  return {
    ...memory,
    hasResumed: true,
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
    const isOwnEnd = successor === undefined && autoRemoves && known.withoutOutsideChange.has(successorId);
    if (isOwnEnd) known = noteFailure(known, successorId, facts);
  }
  return known;
}

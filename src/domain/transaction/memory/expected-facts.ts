import { isAlive } from '../../container/container.ts';
import type { MemberFacts, ContainerFacts, TransactionFacts } from '../facts.ts';
import { placeOf } from '../facts.ts';
import type { Decision, Step, StepKind } from '../step.ts';
import type { TransactionMemory } from './transaction-memory.ts';

/**
 * The facts that the engine must show after a completed step, so that they need not be read. Undefined if only the
 * engine knows them. Expectations are used only by an update on its way forward. A rollback and a recovery read the
 * facts each time.
 */
export function expectedFactsAfter(
  facts: TransactionFacts,
  step: Step,
  { mode, direction }: Pick<TransactionMemory, 'mode' | 'direction'>,
): TransactionFacts | undefined {
  const isUpdate = mode === 'update' || mode === 'hand-over' || mode === 'rehearse';
  if (!isUpdate || direction !== 'forward' || !facts.members.every(isForeseeable)) return undefined;
  const after = effects[step.kind];
  if (after === undefined) return undefined;
  return { ...facts, members: facts.members.map((member) => after(member, step)) };
}

/**
 * False with a replica, which takes the place of the old container when that stops. Also false if the old container
 * started or exited since the plan: the engine may restart it at any time.
 */
function isForeseeable({ needsAutoRemoveReplica, spare, isReplica, old, wasRunning }: MemberFacts): boolean {
  if (needsAutoRemoveReplica || spare !== undefined || isReplica) return false;
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
  'gate',
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
  // Only the engine knows the time. The gate reads the result.
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
  const after = ofOne(member, id, (one) => ({ ...one, place: placeOf(to, member.name) }));
  if (after === member) return member;
  const { old, new: successor } = after;
  const isFree = member.nameHeldBy === 'old' || member.nameHeldBy === 'new';
  const nameHeldBy =
    old?.place === 'name' ? 'old' : successor?.place === 'name' ? 'new' : isFree ? 'nobody' : member.nameHeldBy;
  const isBeforeSwap = old?.place === 'name' && successor?.place === 'new';
  return { ...after, nameHeldBy, rivals: isBeforeSwap ? member.rivals : [] };
}

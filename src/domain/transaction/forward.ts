import { isAlive } from '../container/container.ts';
import { firstOf, firstStep, stepOf } from './choose-step.ts';
import {
  isParked,
  type ContainerFacts,
  type ExecutionMemory,
  type MemberFacts,
  type TransactionFacts,
} from './facts.ts';
import { drop, isNameTaken, needsStart, park, rename, setPolicy, start, stop, wasParkedHere } from './member.ts';
import { policyWhileUnproven, samePolicy } from './policy.ts';
import type { Decision, Step, StepArguments } from './step.ts';

export function forward(facts: TransactionFacts): Decision {
  return (
    firstOf(facts.members, (member) => whyNotForward(member, facts)) ??
    prepare(facts) ??
    runPreUpdateHooks(facts) ??
    swap(facts) ??
    prove(facts) ??
    runPostUpdateHooks(facts) ??
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
  if (member.old?.place === 'elsewhere') return rollBack(`somebody renamed "${member.name}" meanwhile`, true);
  // A member of a group cannot be undone alone: its successor depends on the other successors.
  const isCarriedAlong = member.new?.place === 'name' || (member.new !== undefined && members.length > 1);
  const [rival] = member.rivals;
  const lostRace =
    rival === undefined ? undefined : rollBack(`another update of "${member.name}" is in progress ("${rival}")`, true);
  if (member.old === undefined && !isCarriedAlong)
    return lostRace ?? rollBack(`somebody removed "${member.name}" meanwhile`);
  if (member.new === undefined) {
    if (member.old?.place === 'name') return undefined;
    return rollBack(
      member.autoRemoves
        ? `the new version of "${member.name}" did not run, so the engine removed it (--rm)`
        : `somebody removed the successor of "${member.name}"`,
    );
  }
  const tagMoved = (created: string): Decision => {
    const reason = `the tag of "${member.reference}" was moved while ${created} "${member.name}" was created`;
    return { kind: 'rollBack', reason, busy: true, wasTagMoved: true };
  };
  if (member.targetImageId !== undefined && member.new.imageId !== member.targetImageId)
    return tagMoved('the successor of');
  if (member.spare !== undefined && member.spare.imageId !== member.old?.imageId) return tagMoved('a stand-in for');
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
  for (const [member, { new: successor, spare, ...replica }] of members.entries()) {
    if (successor?.place !== 'new') continue;
    if (replica.lacksAutoRemoveReplica) return stepOf('preparing', { kind: 'autoRemoveReplica', member });
    const { missingOfAutoRemoveReplica: missingNetworks, files } = replica;
    const step = spare && completeOrCompare(spare, { missingNetworks, files }, member, memory);
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
        : stepOf('checking health', { kind: 'gate', ids: awaited });
    }
    unproven.push(successor.id);
    if (needsStart(member)) break;
  }
  return unproven.length === 0 ? undefined : stepOf('checking health', { kind: 'gate', ids: unproven });
}

function runPostUpdateHooks({ members, memory }: TransactionFacts): Decision | undefined {
  return firstStep(
    'checking health',
    members,
    ({ new: successor }) => successor !== undefined && runHook('postUpdate', successor, memory),
  );
}

function runHook(
  hook: StepArguments['hook']['hook'],
  { id, status, hasHook }: ContainerFacts,
  { hooked }: ExecutionMemory,
): Step | false {
  return hasHook && status === 'running' && !hooked.has(id) && { kind: 'hook', id, hook };
}

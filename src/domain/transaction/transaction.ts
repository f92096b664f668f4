import type { Afterwards } from '../settings/afterwards.ts';
import { type ContainerStatus, isAlive, type RestartPolicy } from '../container/container.ts';
import type { UpdatePhase } from '../run/event.ts';
import { droppedName, failedName, parkedName, parseKeptName, parseStandingName } from './transaction-names.ts';

/**
 * `decide` names the next step of a transaction from what the engine says now. The executor of an
 * update and the recovery after a crash are the same loop around it: read the facts, decide,
 * perform, again. No step relies on the memory of an earlier one.
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
  const facts = { ...rest, members: rest.course.reopens ? members : members.map(withoutKept) };
  const ours = { ...facts, members: facts.members.filter((member) => isEngaged(member, facts.course)) };
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

/** Where a container stands, by its name; `elsewhere`: somebody gave it a name of their own. */
export type Place = 'name' | 'new' | 'old' | 'drop' | 'kept' | 'bad' | 'elsewhere';

export type Standing = {
  readonly id: string;
  readonly place: Place;
  readonly status: ContainerStatus;
  /** The engine's timestamps, verbatim; empty when never started, never ended. */
  readonly startedAt: string;
  readonly finishedAt: string;
  readonly policy: RestartPolicy;
  readonly imageId: string;
  /** It wants a command run in it for this update: an old one before, a new one after. */
  readonly hasHook: boolean;
};

export type MemberFacts = {
  readonly name: string;
  /** The container that was there before the update; `old` is its stand-in once a stop has removed it. */
  readonly oldId: string;
  /** The engine carries the mark of this transaction for it: see `OpenMark`. */
  readonly isMarked: boolean;
  /** The old container; once a stop has made the engine remove it (`--rm`), what stands in for it. */
  readonly old: Standing | undefined;
  readonly new: Standing | undefined;
  /** Of the old container and its stand-in the one that is not `old`: it goes in the end. */
  readonly spare: Standing | undefined;
  /** The old container needs a stand-in that is not there yet: it would not outlive its stop, or was pruned. */
  readonly lacksStandIn: boolean;
  /** `old` is a stand-in. */
  readonly standsIn: boolean;
  /** Ids of networks that the stand-in lacks. */
  readonly missingOfStandIn: readonly string[];
  /** The engine removes the successor as soon as it stops. */
  readonly vanishes: boolean;
  /** The old container runs on until its successor is proven: it is stopped after the commit. */
  readonly startsFirst: boolean;
  /** `rival`: the successor of the same old container in another transaction; `copy`: a container with our successor's journal. */
  readonly nameHeldBy: 'old' | 'new' | 'rival' | 'copy' | 'stranger' | 'nobody';
  /** The old container's policy before all this; undefined when nothing tells it, and then nothing changed it. */
  readonly policy: RestartPolicy | undefined;
  /** The engine cannot change it: nothing waits with another policy than its own, and successors have theirs from the start. */
  readonly policyIsFixed: boolean;
  readonly wasRunning: boolean;
  readonly afterwards: Afterwards;
  /** The old container is kept after the commit, where it cannot come up by itself. */
  readonly keeps: boolean;
  /** Places in the list of the members that must have passed the gate before this one is started. */
  readonly waitsFor: readonly number[];
  /** The tag that follows the update: from the plan, in a recovery from the old container; empty when there is none. */
  readonly reference: string;
  /** The image that gets the tag back when all is undone: the old one's, unless a person had moved the tag before. Empty when nothing tells. */
  readonly taggedBefore: string;
  /** What the successor must be made of; undefined in a recovery. */
  readonly targetImageId: string | undefined;
  /** The image that the tag meant before this process moved it to create the successor; undefined when it did not. */
  readonly tagMovedFrom?: string | undefined;
  /** What the journal says of that; empty when nothing tells. */
  readonly newImageId: string;
  /** Ids of networks that the successor still lacks. */
  readonly missingNetworks: readonly string[];
  /** Containers of other transactions on the same name. */
  readonly rivals: readonly string[];
  /** The image that the reference points at now; undefined when unknown or of no interest yet. */
  readonly taggedImageId: string | undefined;
};

export type TransactionFacts = {
  /** Targets first; the first is the leader. Never empty. */
  readonly members: readonly MemberFacts[];
  readonly liveRestore: boolean;
  readonly course: Course;
};

/** What this process has seen for itself, and cannot be read from the engine. */
export type Course = {
  /** `recover`: a transaction found at start; the facts tell which way it goes. */
  readonly wish: 'forward' | 'back' | 'recover';
  /** It was begun by another life of this process, or by another instance. */
  readonly isRecovery: boolean;
  /** What an earlier commit has kept is to come back. */
  readonly reopens: boolean;
  /** Ids of olds that this process has seen under a name that only an update gives. */
  readonly seenParked: ReadonlySet<string>;
  /** Ids of olds whose successor this transaction has created: nothing else is ours to touch. */
  readonly engaged: 'all' | ReadonlySet<string>;
  /** Ids of olds that this transaction has renamed: those of other updaters are not ours to bring back. */
  readonly parked: 'any' | ReadonlySet<string>;
  /** Ids of successors that were found to be faithful. */
  readonly compared: ReadonlySet<string>;
  /** Ids of successors that passed the health gate. */
  readonly proven: ReadonlySet<string>;
  /** Ids of containers whose hook has been run for this transaction. */
  readonly hooked: ReadonlySet<string>;
  /** Ids of olds whose stop may still be going on in the engine though nobody waits for it. */
  readonly stopsInDoubt: 'any' | ReadonlySet<string>;
  /** Ids of olds that were watched for as long as such a stop can take. */
  readonly outwaited: ReadonlySet<string>;
  /** Ids of olds that were removed together with their successors, when somebody had all stopped containers removed. */
  readonly pruned: ReadonlySet<string>;
  /** `stepKey`s of steps that failed too often to be tried again now. */
  readonly givenUp: ReadonlySet<string>;
};

type StepArguments = {
  /** Set or remove the mark of the transaction for one old container. */
  readonly mark: { readonly oldId: string };
  readonly unmark: { readonly oldId: string };
  readonly create: { readonly member: number };
  readonly standIn: { readonly member: number };
  readonly connect: { readonly id: string; readonly networkId: string; readonly member: number };
  /** Hold what the engine made of a successor against what it is to replace. */
  readonly compare: { readonly id: string; readonly member: number };
  readonly rename: { readonly id: string; readonly to: string };
  /** `afterPause`: the engine does not sync its directories, so two writes must not be reordered by a power cut. */
  readonly policy: { readonly id: string; readonly policy: RestartPolicy; readonly afterPause: boolean };
  readonly stop: { readonly id: string };
  readonly start: { readonly id: string };
  readonly gate: { readonly ids: readonly string[] };
  readonly hook: { readonly id: string; readonly hook: 'preUpdate' | 'postUpdate' };
  /** Watch a running container until no stop of an earlier life can end it any more. */
  readonly outwait: { readonly id: string };
  readonly tag: { readonly imageId: string; readonly reference: string };
  readonly remove: { readonly id: string };
  /** Name an old container that is done with so that it stays for a while. */
  readonly keep: { readonly id: string };
};

export type StepKind = keyof StepArguments;
export type StepOf<K extends StepKind> = { readonly kind: K } & StepArguments[K];
export type Step = { [K in StepKind]: StepOf<K> }[StepKind];

export type Decision =
  | { readonly kind: 'step'; readonly step: Step; readonly phase: UpdatePhase }
  /** Going forward is no longer possible. */
  | { readonly kind: 'turn'; readonly reason: string; readonly busy: boolean }
  | { readonly kind: 'end'; readonly result: 'committed' | 'undone' }
  /** A step that must not be left out was given up: everything stays as it is, for the next start or a person. */
  | { readonly kind: 'stuck'; readonly step: Step };

/** The same for the same step on the same container: attempts are counted by it. */
export function stepKey(step: Step): string {
  return JSON.stringify(step);
}

/**
 * The policy that an old container waits with while its successor is unproven. Without live-restore
 * `always` is the one policy that survives every way an engine can die; with live-restore a parked
 * `always` would be started beside the survivor, so it waits with `no`.
 */
export function deadManPolicy(policy: RestartPolicy, liveRestore: boolean): RestartPolicy {
  const never = policy.Name === '' || policy.Name === 'no';
  if (never) return policy;
  if (liveRestore) return policy.Name === 'unless-stopped' ? policy : noRestart;
  return always;
}

/** An engine stores an omitted policy as empty or as `no`; they mean the same. */
export function samePolicy(one: RestartPolicy, other: RestartPolicy): boolean {
  const name = (policy: RestartPolicy) => (policy.Name === '' ? 'no' : policy.Name);
  const retries = (policy: RestartPolicy) => (policy.Name === 'on-failure' ? policy.MaximumRetryCount : 0);
  return name(one) === name(other) && retries(one) === retries(other);
}

const noRestart: RestartPolicy = { Name: 'no', MaximumRetryCount: 0 };
const always: RestartPolicy = { Name: 'always', MaximumRetryCount: 0 };

function directionOf(facts: TransactionFacts): 'forward' | 'commit' | 'back' {
  if (isCommitted(facts)) return 'commit';
  if (facts.course.wish !== 'recover') return facts.course.wish;
  return facts.members.length > 0 && facts.members.every(onlyProofIsMissing) ? 'forward' : 'back';
}

/** The successor's name is the lock: a member that never had one may be in another updater's hands. */
function isEngaged(member: MemberFacts, { engaged }: Course): boolean {
  return member.new !== undefined || engaged === 'all' || (member.old !== undefined && engaged.has(member.old.id));
}

/** An engine that died in the middle of a removal keeps a `dead` container that still holds its name. */
function buryDead({ members, course }: TransactionFacts): Decision | undefined {
  const isDead = (standing: Standing | undefined) => standing?.status === 'dead' || standing?.status === 'removing';
  return (
    firstStep('rolling back', members, ({ old }) => old !== undefined && isDead(old) && remove(old), course) ??
    firstStep(
      'rolling back',
      members,
      ({ new: successor }) => successor !== undefined && isDead(successor) && remove(successor),
      course,
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

/** Whether the successor is not yet, or no longer, what it is to be: a job may have ended, others must run. */
function needsStart({ new: successor, afterwards }: MemberFacts): boolean {
  if (successor === undefined || afterwards === 'stopped') return false;
  return afterwards === 'completed' ? successor.startedAt === '' : !isAlive(successor.status);
}

function forward(facts: TransactionFacts): Decision {
  return (
    firstOf(facts.members, (member) => whyNotForward(member, facts)) ??
    prepare(facts) ??
    askFirst(facts) ??
    swap(facts) ??
    prove(facts) ??
    tellAfterwards(facts) ??
    firstStep('committing', facts.members, (member) => member.old?.place === 'old' && drop(member, member.old)) ?? {
      kind: 'end',
      result: 'committed',
    }
  );
}

function whyNotForward(member: MemberFacts, { members, course }: TransactionFacts): Decision | undefined {
  const turn = (reason: string, busy = false): Decision => ({ kind: 'turn', reason, busy });
  if (member.old !== undefined && member.old.place !== 'name' && !isEngaged(member, course)) {
    return turn(`another update of "${member.name}" is in progress`, true);
  }
  if (member.nameHeldBy === 'rival') return turn(`another update of "${member.name}" is in progress`, true);
  if (isTaken(member)) return turn(`another container has taken the name "${member.name}"`, true);
  if (member.old?.place === 'name' && member.policy !== undefined && !samePolicy(member.old.policy, member.policy))
    return turn(`the restart policy of "${member.name}" was changed meanwhile`, true);
  if (member.old?.place === 'elsewhere') return turn(`somebody renamed "${member.name}" meanwhile`, true);
  // In a group there is no way back for it: its successor holds on to those of the others.
  const isCarriedAlong = member.new?.place === 'name' || (member.new !== undefined && members.length > 1);
  if (member.old === undefined && !isCarriedAlong) return turn(`somebody removed "${member.name}" meanwhile`);
  if (member.new === undefined) {
    if (member.old?.place === 'name') return undefined;
    return turn(
      member.vanishes
        ? `the new version of "${member.name}" did not run, so the engine removed it (--rm)`
        : `somebody removed the successor of "${member.name}"`,
    );
  }
  if (member.targetImageId !== undefined && member.new.imageId !== member.targetImageId) {
    return turn(`the tag of "${member.reference}" was moved while the successor of "${member.name}" was created`, true);
  }
  if (member.spare !== undefined && member.spare.imageId !== member.old?.imageId) {
    return turn(`the tag of "${member.reference}" was moved while a stand-in for "${member.name}" was created`, true);
  }
  const rival = member.rivals[0];
  return rival === undefined ? undefined : turn(`another update of "${member.name}" is in progress ("${rival}")`, true);
}

function prepare({ members, course }: TransactionFacts): Decision | undefined {
  const unmarked = members.find(({ isMarked }) => !isMarked);
  if (unmarked !== undefined) return stepOf('preparing', { kind: 'mark', oldId: unmarked.oldId });
  for (const [member, { new: successor }] of members.entries()) {
    if (successor === undefined) return stepOf('preparing', { kind: 'create', member });
  }
  for (const [member, { new: successor, missingNetworks }] of members.entries()) {
    const [networkId] = missingNetworks;
    if (successor === undefined || successor.place !== 'new') continue;
    if (networkId !== undefined) return stepOf('preparing', { kind: 'connect', id: successor.id, networkId, member });
    if (!course.compared.has(successor.id)) return stepOf('preparing', { kind: 'compare', id: successor.id, member });
  }
  for (const [member, { new: successor, lacksStandIn, spare, missingOfStandIn }] of members.entries()) {
    if (successor?.place !== 'new') continue;
    if (lacksStandIn) return stepOf('preparing', { kind: 'standIn', member });
    const [networkId] = missingOfStandIn;
    if (spare === undefined) continue;
    if (networkId !== undefined) return stepOf('preparing', { kind: 'connect', id: spare.id, networkId, member });
    if (!course.compared.has(spare.id)) return stepOf('preparing', { kind: 'compare', id: spare.id, member });
  }
  return undefined;
}

/** Each old may put the update off, and with it that of the whole group: all are asked before any is touched. */
function askFirst({ members, course }: TransactionFacts): Decision | undefined {
  return firstStep(
    'preparing',
    members.toReversed(),
    ({ old }) => old?.place === 'name' && runHook('preUpdate', old, course),
  );
}

function tellAfterwards({ members, course }: TransactionFacts): Decision | undefined {
  return firstStep(
    'checking health',
    members,
    ({ new: successor }) => successor !== undefined && runHook('postUpdate', successor, course),
  );
}

function runHook(
  hook: StepArguments['hook']['hook'],
  { id, status, hasHook }: Standing,
  { hooked }: Course,
): Step | false {
  return hasHook && status === 'running' && !hooked.has(id) && { kind: 'hook', id, hook };
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
      const waiting = deadManPolicy(policy, liveRestore);
      return !samePolicy(old.policy, waiting) && { kind: 'policy', id: old.id, policy: waiting, afterPause: false };
    }) ??
    firstStep(
      'stopping',
      dependentsFirst,
      ({ old, startsFirst }) => old !== undefined && !startsFirst && isAlive(old.status) && stop(old),
    )
  );
}

/** Docker cannot rename what its restart policy is about to start again ("sandbox not found"): that has no network then. */
function isBetweenTries({ place, status }: Standing): boolean {
  return place === 'name' && status === 'restarting';
}

function prove({ members, course }: TransactionFacts): Decision | undefined {
  const unproven: string[] = [];
  for (const member of members) {
    const { new: successor, afterwards, waitsFor } = member;
    if (afterwards === 'stopped' || successor === undefined || course.proven.has(successor.id)) continue;
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

/** Everything here is allowed to find its work done already, by an earlier life of this process. */
function commit({ members: all, course }: TransactionFacts): Decision {
  // A commit parks every old container first: one at its plain name is no part of it, whatever a journal says.
  const members = all.filter(
    (member) => !isFoundInPlace(member, course) || (member.isMarked && member.new === undefined),
  );
  const replaced = members.filter((member) => member.new !== undefined);
  const owed = replaced.filter((member) => isOwedMore(member, course));
  const orphaned = members.filter((member) => member.new === undefined);
  const next = (choose: (member: MemberFacts) => Step | false | undefined) =>
    firstStep('committing', replaced, choose, course);
  return (
    next((member) => member.old?.place === 'old' && drop(member, member.old)) ??
    next((member) => takeName(member, member.new)) ??
    next(({ old }) => old !== undefined && !samePolicy(old.policy, noRestart) && setPolicy(old, noRestart)) ??
    mustNext('committing', owed, course, (member) => giveItsPolicy(member, course, member.old !== undefined)) ??
    next(({ old }) => old !== undefined && isAlive(old.status) && stop(old)) ??
    mustNext(
      'committing',
      owed,
      course,
      (member) => member.new !== undefined && needsStart(member) && start(member.new),
    ) ??
    mustNext('committing', replaced, course, (member) => unmark(member, course)) ??
    next(({ spare }) => spare !== undefined && remove(spare)) ??
    firstStep(
      'committing',
      replaced.toReversed(),
      (member) => member.old !== undefined && letGo(member, member.old),
      course,
    ) ??
    restoreOrphans(orphaned, course) ??
    mustNext('committing', orphaned, course, (member) => unmark(member, course)) ?? { kind: 'end', result: 'committed' }
  );
}

/**
 * Whether a committed successor still waits for its policy. Once it has that, the mark goes, and it is its
 * owner's: who stops it or changes its policy then is not overruled, though the old container may still be there.
 */
function isOwedMore({ old, standsIn, isMarked }: MemberFacts, { isRecovery }: Course): boolean {
  return !isRecovery || isMarked || (old !== undefined && !standsIn && !samePolicy(old.policy, noRestart));
}

/** A successor waits without a policy; after a crash, any other one that it has is from a person. */
function giveItsPolicy(
  { new: successor, policy }: MemberFacts,
  { isRecovery }: Course,
  afterPause: boolean,
): Step | undefined {
  if (successor === undefined || policy === undefined || samePolicy(successor.policy, policy)) return undefined;
  if (isRecovery && !samePolicy(successor.policy, noRestart)) return undefined;
  return { kind: 'policy', id: successor.id, policy, afterPause };
}

/** A container that we have parked, and whose name is taken or that the engine refuses to rename, is still to come back. */
function unmark(member: MemberFacts, course: Course): Step | false {
  const isWaiting = member.old?.place === 'old' && member.nameHeldBy !== 'rival' && wasOursToChange(member, course);
  return member.isMarked && !isWaiting && { kind: 'unmark', oldId: member.oldId };
}

/** Members that lost their successor after the commit: to somebody else, or one that is `--rm` by ending. */
function restoreOrphans(orphaned: readonly MemberFacts[], course: Course): Decision | undefined {
  return (
    firstStep(
      'committing',
      orphaned,
      (member) => member.old?.place === 'drop' && (isTaken(member) || member.standsIn) && remove(member.old),
      course,
    ) ??
    firstStep('committing', orphaned, (member) => takeName(member, member.old), course) ??
    mustNext('committing', orphaned, course, (member) => isEntitled(member) && startOld(member)) ??
    firstStep('committing', orphaned, restorePolicy, course)
  );
}

/** Who prunes means what is of no use any more, not what was about to start: that is made again, as it was. */
function remake({ members, course }: TransactionFacts, phase: UpdatePhase): Decision | undefined {
  const steps = members.flatMap(({ old, standsIn, lacksStandIn, missingOfStandIn }, member): Step[] => {
    if (old === undefined) return lacksStandIn ? [{ kind: 'standIn', member }] : [];
    const [networkId] = missingOfStandIn;
    return standsIn && networkId !== undefined ? [{ kind: 'connect', id: old.id, networkId, member }] : [];
  });
  const step = steps.find((each) => !course.givenUp.has(stepKey(each)));
  return step && stepOf(phase, step);
}

function back({ members, course, liveRestore }: TransactionFacts, all: readonly MemberFacts[]): Decision {
  const present = members.filter((member) => member.old !== undefined);
  const returning = present.filter((member) => isOursToReturn(member, course));
  const stranded = members.filter((member) => member.old === undefined);
  const dependentsFirst = present.toReversed();
  const stopPossible = members.every((member) => member.new?.place !== 'new');
  const next = (choose: (member: MemberFacts) => Step | false | undefined, order: readonly MemberFacts[] = returning) =>
    firstStep('rolling back', order, choose, course);
  return (
    next(({ old, oldId, isMarked }) => old?.place === 'kept' && !isMarked && { kind: 'mark', oldId }) ??
    next((member) => member.old?.place === 'kept' && park(member, member.old)) ??
    next(({ new: successor, old }) => {
      const isUnproven = successor?.place === 'name' && old?.place === 'old';
      return isUnproven && !samePolicy(successor.policy, noRestart) && setPolicy(successor, noRestart);
    }) ??
    next((member) => awaitReturn(member, liveRestore)) ??
    next(
      ({ name, new: successor }) => successor?.place === 'name' && rename(successor, failedName(name)),
      dependentsFirst,
    ) ??
    next(
      ({ new: successor }) => successor !== undefined && isAlive(successor.status) && stop(successor),
      dependentsFirst,
    ) ??
    mustNext(
      'rolling back',
      returning,
      course,
      (member) => member.new?.place === 'new' && member.old?.place === 'old' && isEntitled(member) && startOld(member),
    ) ??
    next((member) => takeName(member, member.old)) ??
    mustNext(
      'rolling back',
      returning,
      course,
      (member) => isEntitled(member) && mayStart(member, course) && startOld(member),
    ) ??
    next((member) => stopPossible && isEntitled(member) && outwait(member, course)) ??
    mustNext(
      'rolling back',
      returning,
      course,
      (member) => wasOursToChange(member, course) && maySetPolicy(member, course, liveRestore) && restorePolicy(member),
    ) ??
    next(giveTagBack, all) ??
    next((member) => restoreTag(member, course), present) ??
    next(({ spare }) => spare !== undefined && remove(spare), present) ??
    mustNext('rolling back', all, course, (member) => !isCarriedOn(member) && unmark(member, course)) ??
    next((member) => isRemovable(member) && remove(member.new), dependentsFirst) ??
    carryOn(stranded, course) ??
    mustNext('rolling back', all, course, (member) => unmark(member, course)) ??
    mustNext('rolling back', returning, course, (member) => takeName(member, member.old)) ?? {
      kind: 'end',
      result: 'undone',
    }
  );
}

/**
 * Whether a recovery finds the old container under its own name, or one that a person gave it, where it may be as its owner wants it. It is on its way
 * back only when the mark says so, and then only as far as nothing speaks for a person.
 */
function isFoundInPlace({ old }: MemberFacts, { isRecovery, seenParked }: Course): boolean {
  const isPlain = old?.place === 'name' || old?.place === 'elsewhere';
  return isRecovery && isPlain && !seenParked.has(old.id);
}

/** Only what was parked before has its successor under this name: until then a container at its plain name is its owner's. */
function mayStart(member: MemberFacts, course: Course): boolean {
  if (!isFoundInPlace(member, course)) return true;
  const { old, new: successor, isMarked } = member;
  return isMarked && (successor === undefined ? old?.startedAt === '' : successor.place === 'bad');
}

/** Any other policy than the one that an old container waits with has been set by a person. */
function maySetPolicy(member: MemberFacts, course: Course, liveRestore: boolean): boolean {
  if (!isFoundInPlace(member, course)) return true;
  const { old, new: successor, policy, isMarked } = member;
  if (!isMarked || successor?.place === 'new' || old === undefined || policy === undefined) return false;
  return samePolicy(old.policy, deadManPolicy(policy, liveRestore));
}

/** Its old container is gone, so that the successor stays. */
function isCarriedOn({ old, new: successor }: MemberFacts): boolean {
  return old === undefined && successor !== undefined;
}

/** While a copy of it has the name, a successor shows which of the two is ours: without it the next start would take the copy for it. */
function isRemovable(member: MemberFacts): member is MemberFacts & { readonly new: Standing } {
  return member.new !== undefined && !(member.nameHeldBy === 'copy' && member.old?.place === 'old');
}

/** What was kept comes up by itself from here on, should the host lose power, as any old container does in this place. */
function awaitReturn({ old, new: successor, policy, wasRunning }: MemberFacts, liveRestore: boolean): Step | false {
  if (old?.place !== 'old' || successor?.place !== 'name' || policy === undefined) return false;
  if (!wasRunning || isAlive(old.status)) return false;
  const waiting = deadManPolicy(policy, liveRestore);
  return !samePolicy(old.policy, waiting) && setPolicy(old, waiting);
}

/** Somebody removed the old container, so that its successor is all there is: it stays, unless the name is taken. */
function carryOn(stranded: readonly MemberFacts[], course: Course): Decision | undefined {
  const isForeign = (member: MemberFacts) => member.nameHeldBy === 'rival' || isTaken(member);
  const next = (choose: (member: MemberFacts) => Step | false | undefined) =>
    firstStep('rolling back', stranded, choose, course);
  return (
    next((member) => member.new !== undefined && isForeign(member) && remove(member.new)) ??
    next((member) => takeName(member, member.new)) ??
    next((member) => giveItsPolicy(member, course, false)) ??
    mustNext('rolling back', stranded, course, (member) => {
      return member.new !== undefined && needsStart(member) && start(member.new);
    })
  );
}

function isOursToReturn(member: MemberFacts, course: Course): boolean {
  const { old, nameHeldBy } = member;
  return old !== undefined && nameHeldBy !== 'rival' && (old.place === 'name' || wasOursToChange(member, course));
}

/** What we planned with may have been read while another updater was at it: only what we have parked is ours to set right. */
function wasOursToChange({ old }: MemberFacts, { parked }: Course): boolean {
  return parked === 'any' || (old !== undefined && parked.has(old.id));
}

/** A container whose name somebody else has taken stays parked and stopped: theirs wins. */
function isEntitled(member: MemberFacts): boolean {
  return !isTaken(member);
}

function isTaken({ nameHeldBy }: MemberFacts): boolean {
  return nameHeldBy === 'stranger' || nameHeldBy === 'copy';
}

function startOld({ old, policy, wasRunning }: MemberFacts): Step | false {
  return old !== undefined && policy !== undefined && wasRunning && !isAlive(old.status) && start(old);
}

function outwait({ old, wasRunning }: MemberFacts, { stopsInDoubt, outwaited }: Course): Step | false {
  if (old === undefined || !wasRunning || !isAlive(old.status) || outwaited.has(old.id)) return false;
  return (stopsInDoubt === 'any' || stopsInDoubt.has(old.id)) && { kind: 'outwait', id: old.id };
}

function restorePolicy(member: MemberFacts): Step | false {
  if (member.old === undefined || member.policy === undefined) return false;
  const policy = isEntitled(member) ? member.policy : noRestart;
  return !samePolicy(member.old.policy, policy) && setPolicy(member.old, policy);
}

/** Where there is no successor, as none could be created, this process alone knows what it has moved the tag away from. */
function giveTagBack(member: MemberFacts): Step | false {
  const { new: successor, nameHeldBy, targetImageId, tagMovedFrom, taggedImageId, reference } = member;
  if (successor !== undefined || tagMovedFrom === undefined || nameHeldBy === 'rival') return false;
  const isMoved = taggedImageId === targetImageId && taggedImageId !== tagMovedFrom;
  return isMoved && { kind: 'tag', imageId: tagMovedFrom, reference };
}

/** In a recovery, a tag goes back only to the image that the engine names for the old container. */
function restoreTag(member: MemberFacts, course: Course): Step | false {
  const { old, new: successor, vanishes, standsIn, isMarked, newImageId, taggedImageId, reference } = member;
  const movedTo = successor?.imageId ?? (vanishes || standsIn || isMarked ? newImageId : '');
  if (old === undefined || movedTo === '' || taggedImageId !== movedTo || member.nameHeldBy === 'rival') return false;
  const before = course.isRecovery && member.taggedBefore === '' ? old.imageId : member.taggedBefore;
  if (before === '' || before === movedTo) return false;
  const isProven = isMarked || !isFoundInPlace(member, course);
  if (course.isRecovery && (before !== old.imageId || !isProven)) return false;
  return { kind: 'tag', imageId: before, reference };
}

function takeName({ name, nameHeldBy }: MemberFacts, standing: Standing | undefined): Step | false {
  if (standing === undefined || nameHeldBy !== 'nobody' || standing.place === 'elsewhere') return false;
  return rename(standing, name);
}

function park({ name, policy, wasRunning }: MemberFacts, old: Standing): Step {
  return rename(old, parkedName(name, policy ?? old.policy, wasRunning));
}

function drop({ name, policy, wasRunning }: MemberFacts, old: Standing): Step {
  return rename(old, droppedName(name, policy ?? old.policy, wasRunning));
}

/** Only what is stopped, and that nothing but a person starts again, can be kept. */
function letGo({ keeps }: MemberFacts, old: Standing): Step {
  return keeps && !isAlive(old.status) && samePolicy(old.policy, noRestart)
    ? { kind: 'keep', id: old.id }
    : remove(old);
}

function withoutKept(member: MemberFacts): MemberFacts {
  return member.old?.place === 'kept' ? { ...member, old: undefined } : member;
}

const rename = ({ id }: Standing, to: string): Step => ({ kind: 'rename', id, to });
const setPolicy = ({ id }: Standing, policy: RestartPolicy): Step => ({
  kind: 'policy',
  id,
  policy,
  afterPause: false,
});
const stop = ({ id }: Standing): Step => ({ kind: 'stop', id });
const start = ({ id }: Standing): Step => ({ kind: 'start', id });
const remove = ({ id }: Standing): Step => ({ kind: 'remove', id });

function stepOf(phase: UpdatePhase, step: Step): Decision {
  return { kind: 'step', step, phase };
}

/** The first step that a member needs and that was not given up. */
function firstStep(
  phase: UpdatePhase,
  members: readonly MemberFacts[],
  choose: (member: MemberFacts) => Step | false | undefined,
  course?: Course,
): Decision | undefined {
  return firstOf(members, (member) => {
    const step = possible(choose(member), member);
    return step === undefined || course?.givenUp.has(stepKey(step)) ? undefined : stepOf(phase, step);
  });
}

/** Like `firstStep`, for steps without which the rest must not be done. */
function mustNext(
  phase: UpdatePhase,
  members: readonly MemberFacts[],
  course: Course,
  choose: (member: MemberFacts) => Step | false | undefined,
): Decision | undefined {
  return firstOf(members, (member) => {
    const step = possible(choose(member), member);
    if (step === undefined) return undefined;
    return course.givenUp.has(stepKey(step)) ? { kind: 'stuck', step } : stepOf(phase, step);
  });
}

/** An engine that cannot change policies is not asked to. */
function possible(step: Step | false | undefined, { policyIsFixed }: MemberFacts): Step | undefined {
  return step === false || (step?.kind === 'policy' && policyIsFixed) ? undefined : step;
}

function firstOf(
  members: readonly MemberFacts[],
  choose: (member: MemberFacts) => Decision | undefined,
): Decision | undefined {
  for (const member of members) {
    const decision = choose(member);
    if (decision !== undefined) return decision;
  }
  return undefined;
}

/** Which place a name means for the member called `name`. */
export function placeOf(actual: string, name: string): Place {
  if (actual === name) return 'name';
  const standing = parseStandingName(actual);
  if (standing?.name === name) return standing.role;
  return parseKeptName(actual)?.name === name ? 'kept' : 'elsewhere';
}

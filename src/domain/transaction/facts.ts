import { isAlive, type ContainerStatus, type DataItem, type RestartPolicy } from '../container/container.ts';
import type { DesiredEndState } from '../settings/effective-settings.ts';
import { parseKeptName, parseTransactionName } from './transaction-names.ts';
import { isRestored, type Decision, type Step, type StepKind } from './member.ts';
import { noteFailure, withEntry, withOne, type TransactionMemory } from './memory.ts';

export type TransactionFacts = {
  /** Targets first. The first member is the leader. Never empty. */
  readonly members: readonly MemberFacts[];
  readonly liveRestore: boolean;
  /** Present if the update copies data. */
  readonly data?: DataFacts | undefined;
  /** Present if marks could not be removed again: then none is set. */
  readonly setsNoMarks?: true | undefined;
  readonly memory: ExecutionMemory;
};

/** The helpers of an update that copies data. Undefined: there is none, or nothing shows that Upkeep has made it. */
export type DataFacts = { readonly save: DataHelper | undefined; readonly restore: DataHelper | undefined };

export type DataHelper = {
  readonly status: ContainerStatus;
  readonly exitCode: number;
  /** Empty if it never started. */
  readonly startedAt: string;
};

/** The data of a whole transaction: the same in the journals of all its members. */
export type JournaledData = {
  /** The name of the first member. */
  readonly leader: string;
  /** Each source once, whichever members use it. Item `i` is the folder `/i` of the copy. */
  readonly items: readonly DataItem[];
  /** The id of the helpers' image. */
  readonly imageId: string;
  /** The time for which the copy is kept after the commit, milliseconds. 0: it is removed. */
  readonly keepMs: number;
  /** Copies of earlier updates stay after the commit: a person goes back to the old version without their data. */
  readonly keepsFormer?: true;
};

/** The stored part of a container in a transaction, from the journal on its successor. */
export type JournaledMember = {
  /** The name that the old and the new container compete for. */
  readonly name: string;
  /** The container before the update. */
  readonly oldId: string;
  readonly oldImageId: string;
  /** The tag that the update uses, `Config.Image` of the successor. Empty without one. */
  readonly reference: string;
  /** `Config.Image` of the old container, if it is another tag. */
  readonly formerReference?: string;
  /** The reference in the compose file, if the successor has another tag. */
  readonly composeReference?: string;
  /**
   * The image that the tag is moved back to when the update is undone: the old one's, unless a person had moved the tag
   * before. Empty when unknown, and when the successor got another tag.
   */
  readonly taggedBefore: string;
  /** Image of the successor; empty if unknown. */
  readonly newImageId: string;
  /** It was pulled from the repository of `reference`, and is no image that was tagged with that name here. */
  readonly isPulled?: true;
  /** Its runtime lets no policy change, so that the successor was created with its own. */
  readonly hasFixedPolicy?: true;
  /** The engine removes the successor as soon as it stops. */
  readonly autoRemoves: boolean;
  readonly wasRunning: boolean;
  /** The old container was unhealthy before the update, so its successor need not be healthy. */
  readonly wasUnhealthy?: true;
  /** The update has set no mark, because none could be removed again. */
  readonly hasNoMark?: true;
  readonly desiredEndState: DesiredEndState;
  /** Absent: the update copies no data. */
  readonly data?: JournaledData;
  /** The placed files that the successor gets: see `PlacedFiles`. Absent: none. */
  readonly files?: readonly string[];
  /** The time for which the old container is kept after the commit, milliseconds. 0: it is removed. */
  readonly keepMs: number;
};

/** One container's part in a transaction, from the plan or the journal. */
export type Member = JournaledMember & {
  /** The old container's policy before the update. Undefined when it is not known and was not changed. */
  readonly policy: RestartPolicy | undefined;
  /** Indexes of the members that must pass the health check before this one starts. Empty in a recovery. */
  readonly waitsFor: readonly number[];
  /** The image that the successor must be created from; undefined in a recovery. */
  readonly targetImageId: string | undefined;
  /** The old container would be removed by its stop, so a replica must replace it. */
  readonly needsAutoRemoveReplica: boolean;
  /** The old container keeps running until its successor is proven, and is stopped after the commit. */
  readonly startsFirst: boolean;
  /** The networks to connect after the creation. */
  readonly laterNetworks: readonly { readonly networkId: string; readonly networkName: string }[];
};

/**
 * A member with the engine's facts about it. In a recovery `reference` is the old container's, because a journal is not
 * trusted about tags.
 */
export type MemberFacts = Member & {
  /** The engine has the mark of this transaction for it: see `TransactionMark`. */
  readonly isMarked: boolean;
  /** The old container, or its replica once a stop has made the engine remove it (`--rm`). */
  readonly old: ContainerFacts | undefined;
  readonly new: ContainerFacts | undefined;
  /** The redundant one of the old container and its replica. It is removed at the end. */
  readonly replica: ContainerFacts | undefined;
  /** The old container needs a replica that does not exist yet: its stop would remove it, or it was pruned. */
  readonly lacksAutoRemoveReplica: boolean;
  /** True if `old` is a replica. */
  readonly isReplica: boolean;
  /** Ids of networks that the replica lacks. */
  readonly missingOfAutoRemoveReplica: readonly string[];
  /** `rival`: the successor of the same old container in another transaction; `copy`: a container with our successor's journal. */
  readonly nameHeldBy: 'old' | 'new' | 'rival' | 'copy' | 'stranger' | 'nobody';
  /** The engine cannot change policies: every container keeps the one it was created with. */
  readonly policyIsFixed: boolean;
  /** The image of the tag before this process moved it to create the successor. Undefined when it did not. */
  readonly tagMovedFrom?: string | undefined;
  /** Ids of networks that the successor still lacks. */
  readonly missingNetworks: readonly string[];
  /** Containers of other transactions on the same name. */
  readonly rivals: readonly string[];
  /** The image that the reference points at now. Undefined when unknown or not needed yet. */
  readonly taggedImageId: string | undefined;
};

export type ContainerFacts = {
  readonly id: string;
  readonly place: Place;
  readonly status: ContainerStatus;
  /** The engine's timestamps, verbatim. Empty if it never started or never ended. */
  readonly startedAt: string;
  readonly finishedAt: string;
  readonly policy: RestartPolicy;
  readonly imageId: string;
  /** It is parked, and its data are restored before it may have its name again. */
  readonly hasData?: true;
  /** Whether it has a hook for this update: pre-update in an old container, post-update in a new one. */
  readonly hasHook: boolean;
};

/** The place of a container, by its name. `elsewhere`: it was renamed from outside. */
type Place = 'name' | 'new' | 'old' | 'drop' | 'kept' | 'bad' | 'elsewhere';

/** Whether only an update gives this place to an old container. */
export function isParked(place: Place): boolean {
  return place === 'old' || place === 'drop' || place === 'kept';
}

/** The place that a name means for the member called `name`. */
export function placeOf(actual: string, name: string): Place {
  if (actual === name) return 'name';
  const given = parseTransactionName(actual);
  if (given?.name === name) return given.role;
  return parseKeptName(actual)?.name === name ? 'kept' : 'elsewhere';
}

/** The place, and whether the name also holds its data back. */
export function placedBy(actual: string, name: string): Pick<ContainerFacts, 'place' | 'hasData'> {
  const given = parseTransactionName(actual);
  const hasData = given !== undefined && 'hasData' in given && given.hasData && given.name === name;
  return { place: placeOf(actual, name), ...(hasData && { hasData }) };
}

/** Facts that this process has seen and that cannot be read from the engine. */
export type ExecutionMemory = {
  /** `recover`: a transaction found at a start. The facts decide its direction. */
  readonly direction: 'forward' | 'back' | 'recover';
  /** An earlier process or another instance began it. */
  readonly isRecovery: boolean;
  /** A kept container of an earlier commit must come back. */
  readonly reopens: boolean;
  /** Ids of old containers that this process has seen under a name that only an update gives. */
  readonly seenParked: ReadonlySet<string>;
  /** Ids of old containers with a successor created by this transaction. Others must not be changed. */
  readonly created: 'all' | ReadonlySet<string>;
  /**
   * Ids of old containers that this transaction has renamed. Containers that another updater renamed must not be moved
   * back.
   */
  readonly parked: 'any' | ReadonlySet<string>;
  /** Ids of new containers that have the placed files of the old one. */
  readonly filled: ReadonlySet<string>;
  /** Ids of successors that match their old containers. */
  readonly compared: ReadonlySet<string>;
  /** Ids of successors that passed the health check. */
  readonly proven: ReadonlySet<string>;
  /** Ids of containers whose hook was run in this transaction. */
  readonly hooked: ReadonlySet<string>;
  /** Ids of old containers that the engine may still be stopping after the call has ended. */
  readonly stopsInDoubt: 'any' | ReadonlySet<string>;
  /** Ids of old containers that were watched for the longest duration of a pending stop. */
  readonly stopTimedOut: ReadonlySet<string>;
  /** Ids of old containers that a prune has removed, and that must come back. */
  readonly pruned: ReadonlySet<string>;
  /** `stepKey`s of steps that failed too often to be tried again now. */
  readonly givenUp: ReadonlySet<string>;
  /** Ids of images that failed by their own fault, by the id of the old container. */
  readonly failedImages: ReadonlyMap<string, string>;
  readonly data: DataMemory;
};

/** The part about data. */
export type DataMemory = {
  /** Volumes or helpers may exist. */
  readonly hasBegun: boolean;
  readonly isMeasured: boolean;
  /** Both helpers and the volume of the copy exist. */
  readonly isArmed: boolean;
  /** `startedAt` of each old container when its data were saved, by id. Undefined: they were not. */
  readonly savedOf: ReadonlyMap<string, string> | undefined;
  /** A successor may have been started, even if no answer came. */
  readonly mayHaveStarted: boolean;
  readonly isRestored: boolean;
  /** The restore was run in this process, and there was no complete copy. */
  readonly hasNoCopy: boolean;
  /** The same, but the volume of the copy is there: the save was interrupted, so no successor was started. */
  readonly wasNeverSaved: boolean;
  /** A call was refused because the disk is full. */
  readonly isDiskFull: boolean;
  readonly isReserveFreed: boolean;
  readonly isCleared: boolean;
  /** The choice of a person for data that cannot be restored. */
  readonly choice: 'keep-new' | 'without-data' | undefined;
};

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
 * stop, a start, a removal, and the removal of a mark, or the policy of a successor that stands for it.
 */
export function mayUseExpectedFacts(
  decision: Decision,
  { setsNoMarks }: Pick<TransactionFacts, 'setsNoMarks'>,
): boolean {
  if (decision.kind === 'end') return decision.result === 'committed';
  if (decision.kind !== 'step') return false;
  const isRecord = setsNoMarks === true && decision.step.kind === 'policy' && decision.step.afterPause;
  return !isRecord && withoutReading.has(decision.step.kind);
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
  { members, data }: Pick<TransactionFacts, 'members' | 'data'>,
  autoRemoveReplicas: ReadonlyMap<string, string>,
): TransactionMemory {
  // An earlier process may have started the helper, which then goes on by itself.
  let known = isRestored({ data }) ? { ...memory, data: { ...memory.data, isRestored: true } } : memory;
  for (const member of members) known = observeMember(known, member, autoRemoveReplicas.get(member.oldId));
  return continueHandOver(known, members);
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
function continueHandOver(memory: TransactionMemory, members: readonly MemberFacts[]): TransactionMemory {
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

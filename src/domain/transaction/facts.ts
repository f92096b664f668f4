import type { ContainerStatus, RestartPolicy } from '../container/container.ts';
import type { DesiredEndState } from '../settings/desired-end-state.ts';
import { parseKeptName, parseStandingName } from './transaction-names.ts';

export type TransactionFacts = {
  /** Targets first; the first is the leader. Never empty. */
  readonly members: readonly MemberFacts[];
  readonly liveRestore: boolean;
  readonly memory: ExecutionMemory;
};

/** The part of a container in a transaction that is written down: the journal on its successor holds it. */
export type JournaledMember = {
  /** The name that old and new contend for. */
  readonly name: string;
  /** The container that was there before the update. */
  readonly oldId: string;
  readonly oldImageId: string;
  /** The tag that follows the update, `Config.Image` of the successor; empty when there is none. */
  readonly reference: string;
  /** `Config.Image` of the old container, where that is another tag. */
  readonly formerReference?: string;
  /** The image that gets the tag back when all is undone: the old one's, unless a person had moved the tag before. Empty when nothing tells, and when the successor got another tag. */
  readonly taggedBefore: string;
  /** Image of the successor; empty if unknown. */
  readonly newImageId: string;
  /** The engine removes the successor as soon as it stops. */
  readonly autoRemoves: boolean;
  readonly wasRunning: boolean;
  readonly desiredEndState: DesiredEndState;
  /** For how long the old container is kept after the commit, milliseconds; 0: it is removed. */
  readonly keepMs: number;
};

/** One container's part in a transaction under way, as the plan or the journal tells it. */
export type Member = JournaledMember & {
  /** The old container's policy before all this; undefined when nothing tells it, and then nothing changed it. */
  readonly policy: RestartPolicy | undefined;
  /** Places in the list of the members that must have passed the gate before this one is started; empty in a recovery. */
  readonly waitsFor: readonly number[];
  /** The image that the successor must be created from; undefined in a recovery. */
  readonly targetImageId: string | undefined;
  /** The old container would not outlive its stop, so that something must stand in for it. */
  readonly needsAutoRemoveReplica: boolean;
  /** The old container runs on until its successor is proven: it is stopped after the commit. */
  readonly startsFirst: boolean;
  /** The networks that are connected after the create. */
  readonly laterNetworks: readonly { readonly networkId: string; readonly networkName: string }[];
};

/** A member, and the engine's facts about it. In a recovery `reference` is the old container's, because no journal is believed about tags. */
export type MemberFacts = Member & {
  /** The engine carries the mark of this transaction for it: see `OpenMark`. */
  readonly isMarked: boolean;
  /** The old container; once a stop has made the engine remove it (`--rm`), what stands in for it. */
  readonly old: Standing | undefined;
  readonly new: Standing | undefined;
  /** Of the old container and its stand-in the one that is not `old`: it goes in the end. */
  readonly spare: Standing | undefined;
  /** The old container needs a stand-in that is not there yet: it would not outlive its stop, or was pruned. */
  readonly lacksAutoRemoveReplica: boolean;
  /** `old` is a stand-in. */
  readonly standsIn: boolean;
  /** Ids of networks that the stand-in lacks. */
  readonly missingOfAutoRemoveReplica: readonly string[];
  /** `rival`: the successor of the same old container in another transaction; `copy`: a container with our successor's journal. */
  readonly nameHeldBy: 'old' | 'new' | 'rival' | 'copy' | 'stranger' | 'nobody';
  /** The engine cannot change it: nothing waits with another policy than its own, and successors have theirs from the start. */
  readonly policyIsFixed: boolean;
  /** The image that the tag meant before this process moved it to create the successor; undefined when it did not. */
  readonly tagMovedFrom?: string | undefined;
  /** Ids of networks that the successor still lacks. */
  readonly missingNetworks: readonly string[];
  /** Containers of other transactions on the same name. */
  readonly rivals: readonly string[];
  /** The image that the reference points at now; undefined when unknown or of no interest yet. */
  readonly taggedImageId: string | undefined;
};

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

/** Where a container stands, by its name; `elsewhere`: somebody gave it a name of their own. */
export type Place = 'name' | 'new' | 'old' | 'drop' | 'kept' | 'bad' | 'elsewhere';

/** Which place a name means for the member called `name`. */
export function placeOf(actual: string, name: string): Place {
  if (actual === name) return 'name';
  const standing = parseStandingName(actual);
  if (standing?.name === name) return standing.role;
  return parseKeptName(actual)?.name === name ? 'kept' : 'elsewhere';
}

/** Facts that this process has seen and that cannot be read from the engine. */
export type ExecutionMemory = {
  /** `recover`: a transaction found at start; the facts tell which way it goes. */
  readonly wish: 'forward' | 'back' | 'recover';
  /** It was begun by another life of this process, or by another instance. */
  readonly isRecovery: boolean;
  /** A container that an earlier commit kept is to come back. */
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

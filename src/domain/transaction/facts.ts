import type { ContainerStatus, RestartPolicy } from '../container/container.ts';
import type { Afterwards } from '../settings/afterwards.ts';
import { parseKeptName, parseStandingName } from './transaction-names.ts';

export type TransactionFacts = {
  /** Targets first; the first is the leader. Never empty. */
  readonly members: readonly MemberFacts[];
  readonly liveRestore: boolean;
  readonly course: Course;
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
  /** Image that the successor must have; undefined in a recovery. */
  readonly targetImageId: string | undefined;
  /** The image that the tag meant before this process moved it to create the successor; undefined when it did not. */
  readonly tagMovedFrom?: string | undefined;
  /** Image of the successor from the journal; empty if unknown. */
  readonly newImageId: string;
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

/** Observations of this process that cannot be read from the engine. */
export type Course = {
  /** `recover`: a transaction found at start; the facts tell which way it goes. */
  readonly wish: 'forward' | 'back' | 'recover';
  /** It was begun by another life of this process, or by another instance. */
  readonly isRecovery: boolean;
  /** True if a container that an earlier commit kept is to come back. */
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

import type { CandidateKind } from '../decision/approval.ts';
import type { LabelledSetting } from '../settings/labelled-settings.ts';
import type { ContainerStatus, HealthStatus } from '../container/container.ts';
import type { UnfinishedUpdate } from '../recovery/unfinished-update.ts';
import type { Hold } from '../decision/hold-code.ts';
import type { Omission } from '../check/unwatched.ts';
import type { VersionChange } from '../container/image-version.ts';
import type { EntryKind } from '../run/session.ts';
import type { ServiceMode, UpdateWord } from '../swarm/swarm-service.ts';
import type { PastOutcome } from '../run/past-outcome.ts';
import type { Staleness } from '../check/verdict.ts';

/** Containers and images that Upkeep watches: an immutable snapshot. */
export type Inventory = {
  /** Rises with every change of the content, so that output made from one revision can be cached. */
  readonly revision: number;
  /** False until the engine has been listed for the first time. */
  readonly known: boolean;
  /** The scope they are of; empty: unscoped. Empty too before the engine has been listed. */
  readonly scope: string;
  /** The watched containers, newest first, as Docker lists them. */
  readonly containers: readonly TrackedContainer[];
  /** Watched containers that an update has not come to an end with, by their own names. */
  readonly unfinished: readonly UnfinishedTracked[];
  /** Images of the containers, one per image id and reference, sorted by name. */
  readonly images: readonly TrackedImage[];
  /** Containers for which the last check found something newer, held back or not. */
  readonly updatesAvailable: number;
};

/** A container that is not watched. `reason` follows its name: `is stopped`. */
export type UnwatchedTracked = Pick<TrackedContainer, 'name' | 'image' | 'engine'> & Omission;

export type UnfinishedTracked = Pick<UnfinishedUpdate, 'name' | 'state' | 'reason'> & {
  /** The reference it was created from, as the engine lists it. */
  readonly image: string;
  /** Present where there are several. */
  readonly engine?: string;
};

export type TrackedContainer = LastCheck & {
  readonly id: string;
  readonly name: string;
  /** Present where there are several. */
  readonly engine?: string;
  /** The reference it was created from, as people write it. */
  readonly image: string;
  readonly imageId: string;
  /** The registry digest of its image; empty for a local build. */
  readonly digest: string;
  /** Whether it has a process, a paused one included. */
  readonly running: boolean;
  readonly status: ContainerStatus;
  readonly health: HealthStatus;
  /** By the engine's clock, in whole seconds. */
  readonly createdAtMs: number;
  /** Whether we run in it ourselves. */
  readonly self: boolean;
  /** In force: label and setting together. */
  readonly monitorOnly: boolean;
  readonly noPull: boolean;
  /** Value of the container's label; without one, true if unlabelled containers are watched. */
  readonly enabled: boolean;
  /** Empty: none. */
  readonly scope: string;
  /** Names of the containers it needs, as far as the engine's list tells: by label, by compose, by a shared network. */
  readonly dependsOn: readonly string[];
  /** The labels that are heard, verbatim: of an own and a drop-in label that say the same, the own one. */
  readonly labelsInEffect: Readonly<Record<string, string>>;
  /** The settings that these labels change. */
  readonly settings: readonly LabelledSetting[];
  /** Present where services of a swarm are watched too. */
  readonly kind?: EntryKind;
  /** Of a service: its mode, how many tasks are wanted and how many run, and the swarm's word for its last update. */
  readonly mode?: ServiceMode;
  readonly wantedTasks?: number;
  readonly runningTasks?: number;
  readonly updateState?: UpdateWord;
  /** Compose project, or stack; absent where there is none. */
  readonly project?: string;
  /** Version of its image as people name it; absent where nothing is known. */
  readonly version?: string;
  /** Whether a rollback has something to go back to, as far as the engine's lists tell. */
  readonly canRollBack: boolean;
  /** The newest outcome other than `fresh` in the runs of this process; absent: there is none. */
  readonly last?: PastOutcome;
};

/** Result of the last check of the container's image. */
export type LastCheck = {
  /** Undefined before there was one. */
  readonly staleness: Staleness | undefined;
  /** Whether an update would replace it. */
  readonly stale: boolean;
  /** True also for a version that is held back. A failed check keeps the former value. */
  readonly updateAvailable: boolean;
  /** Empty where it is not known. */
  readonly latestDigest: string;
  readonly reason: string;
  readonly checkedAtMs: number | undefined;
  /** Kind of reason of `held` and `unknown`. */
  readonly hold?: Hold;
  /** What an update would apply, where that is not the newest version; see `latestDigest`. */
  readonly candidateDigest?: string;
  /** Held until then, milliseconds since the epoch. */
  readonly eligibleAtMs?: number;
  /** Unknown, and the registry may be asked again then. */
  readonly retryAtMs?: number;
  /** Facts of the newer image, where there is one: see `ImageVersions`. */
  readonly latestVersion?: string;
  /** See `CheckedContainer`. */
  readonly candidate?: string;
  readonly candidateKind?: CandidateKind;
  readonly change?: VersionChange;
  readonly releasedAtMs?: number;
  readonly downloadBytes?: number;
  readonly sourceUrl?: string;
};

export type TrackedImage = {
  /** Present where there are several. */
  readonly engine?: string;
  /** The reference, as people write it. */
  readonly name: string;
  readonly imageId: string;
  readonly digest: string;
  /** How many watched containers run it. */
  readonly containers: number;
};

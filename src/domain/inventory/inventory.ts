import type { LabelledSetting } from '../settings/effective-settings.ts';
import type { ContainerStatus, HealthStatus } from '../container/container.ts';
import type { UnfinishedUpdate } from '../recovery/unfinished-update.ts';
import type { Hold, CandidateKind } from '../decision/decisions.ts';
import type { UnwatchedReason } from '../check/watch-rules.ts';
import type { ImageVersions } from '../image/image-labels.ts';
import type { EntryKind, PastOutcome } from '../run/session.ts';
import type { ServiceMode, SwarmUpdateStatus } from '../container/swarm-service.ts';
import type { Staleness } from '../check/verdict.ts';

/** Containers and images that Upkeep watches: an immutable snapshot. */
export type Inventory = {
  /** Increases with every change of the content, so that output for one revision can be cached. */
  readonly revision: number;
  /** False before the first listing. */
  readonly known: boolean;
  /** The scope; empty: unscoped, or not yet listed. */
  readonly scope: string;
  /** The watched containers, newest first, as Docker lists them. */
  readonly containers: readonly TrackedContainer[];
  /** Watched containers with an interrupted update, by their plain names. */
  readonly unfinished: readonly UnfinishedTracked[];
  /** Images of the containers, one per image id and reference, sorted by name. */
  readonly images: readonly TrackedImage[];
  /** Containers with a newer version in the last check, held back or not. Undefined while no check has told. */
  readonly updatesAvailable: number | undefined;
};

/** A container that is not watched. `reason` follows its name: `is stopped`. */
export type UnwatchedTracked = Pick<TrackedContainer, 'name' | 'image' | 'engine'> & UnwatchedReason;

export type UnfinishedTracked = Pick<UnfinishedUpdate, 'name' | 'state' | 'reason' | 'isDown'> & {
  /** The reference it was created from, as the engine lists it. */
  readonly image: string;
  /** Present with several engines. */
  readonly engine?: string;
};

export type TrackedContainer = LastCheck & {
  readonly id: string;
  readonly name: string;
  /** Present with several engines. */
  readonly engine?: string;
  /** The reference that it was created from, in short form. */
  readonly image: string;
  readonly imageId: string;
  /** The registry digest of its image; empty for a local build. */
  readonly digest: string;
  /** Whether it has a process. A paused one has. */
  readonly running: boolean;
  readonly status: ContainerStatus;
  readonly health: HealthStatus;
  /** By the engine's clock, in whole seconds. */
  readonly createdAtMs: number;
  /** By the engine's clock; absent without a process, or if unknown. */
  readonly startedAtMs?: number;
  /** Whether we run in it ourselves. */
  readonly self: boolean;
  /** The effective value of label and option. */
  readonly monitorOnly: boolean;
  readonly noPull: boolean;
  /** Value of the container's label; without one, true if unlabelled containers are watched. */
  readonly enabled: boolean;
  /** Empty: none. */
  readonly scope: string;
  /**
   * Names of the containers that it depends on, as far as the engine's list shows: by label, by compose, by a shared
   * network.
   */
  readonly dependsOn: readonly string[];
  /** The effective labels, verbatim. If an own and a drop-in label mean the same, only the own one. */
  readonly labelsInEffect: Readonly<Record<string, string>>;
  /** The settings that these labels change. */
  readonly settings: readonly LabelledSetting[];
  /** Present where services of a swarm are watched too. */
  readonly kind?: EntryKind;
  /** For a service: its mode, its wanted and running tasks, and the swarm's state of its last update. */
  readonly mode?: ServiceMode;
  readonly wantedTasks?: number;
  readonly runningTasks?: number;
  readonly updateState?: SwarmUpdateStatus;
  /** Compose project, or stack; absent without one. */
  readonly project?: string;
  /** Version of its image for display; absent when nothing is known. */
  readonly version?: string;
  /** Whether a rollback has a former image, as far as the engine's lists show. */
  readonly canRollBack: boolean;
  /** The address of an icon that one of its labels gives; absent without one. */
  readonly icon?: string;
  /** The newest outcome other than `fresh` in the runs of this process; absent without one. */
  readonly last?: PastOutcome;
};

/** Result of the last check of the container's image. */
export type LastCheck = Omit<ImageVersions, 'version'> & {
  /** Undefined before the first check. */
  readonly staleness: Staleness | undefined;
  /** Whether an update would replace it. */
  readonly stale: boolean;
  /** Also true for a version that is held back. A failed check keeps the earlier value. */
  readonly updateAvailable: boolean;
  /** Empty when it is not known. */
  readonly latestDigest: string;
  readonly reason: string;
  readonly checkedAtMs: number | undefined;
  /** Kind of reason of `held` and `unknown`. */
  readonly hold?: Hold;
  /** The version that an update would apply, if it is not the newest: see `latestDigest`. */
  readonly candidateDigest?: string;
  /** Held until then, milliseconds since the epoch. */
  readonly eligibleAtMs?: number;
  /** After a failed check: the time of the next permitted registry request. */
  readonly retryAtMs?: number;
  /** See `CheckedContainer`. */
  readonly candidate?: string;
  readonly candidateKind?: CandidateKind;
};

export type TrackedImage = {
  /** Present with several engines. */
  readonly engine?: string;
  /** The reference in short form. */
  readonly name: string;
  readonly imageId: string;
  readonly digest: string;
  /** The number of watched containers that run it. */
  readonly containers: number;
};

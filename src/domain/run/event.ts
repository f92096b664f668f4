import {
  entryKeyOf,
  type ContainerOutcome,
  type EntryKind,
  type Session,
  type SessionSummary,
  type Trigger,
  type UpdatePhase,
  type EngineRuns,
} from './session.ts';
import type { ComposeState } from '../compose/compose-state.ts';
import type { TaskProgress } from '../container/swarm-service.ts';
import type { JsonObject } from '../text/json.ts';

/**
 * Everything that the service publishes. Log, live table, metrics, history and streams listen; updating code knows none
 * of them.
 */
export type ServiceEvent = OneEvent & {
  /** The engine of the event, if the process works on several. */
  readonly engine?: string;
};

type OneEvent =
  | {
      readonly kind: 'scan_started';
      readonly runId: string;
      readonly purpose: ScanPurpose;
      readonly trigger: Trigger;
      /** The person or token that has asked for it; absent if nobody has, or the command line. */
      readonly by?: string;
      readonly atMs: number;
    }
  /** A full update was skipped, because another one was running. */
  | { readonly kind: 'scan_skipped'; readonly trigger: Trigger; readonly reason: string; readonly atMs: number }
  | {
      readonly kind: 'containers_selected';
      readonly runId: string;
      /** By `entryKeyOf`. */
      readonly names: readonly string[];
      /** The notification targets of a container's label, by `entryKeyOf`. */
      readonly recipients?: Readonly<Record<string, readonly string[]>>;
    }
  | {
      readonly kind: 'container_checked';
      readonly runId: string;
      readonly container: string;
      readonly entryKind?: EntryKind;
      /** In short form. */
      readonly image: string;
      readonly status: string;
      readonly reason: string;
      readonly checked?: CheckedFacts;
    }
  | {
      readonly kind: 'pull_progress';
      readonly runId: string;
      readonly container: string;
      readonly progress: PullProgress;
    }
  | {
      readonly kind: 'update_started';
      readonly runId: string;
      readonly container: string;
      readonly entryKind?: EntryKind;
      readonly image: string;
      /** The reference before an update to another tag. */
      readonly formerImage?: string;
      readonly from: string;
      readonly to: string;
      /** The container returns to its previous version on request. */
      readonly isRollback?: true;
      readonly atMs: number;
    }
  | {
      readonly kind: 'phase_entered';
      readonly runId: string;
      readonly container: string;
      readonly entryKind?: EntryKind;
      readonly phase: UpdatePhase;
      /** With `checking health`: how long the new container must run, in milliseconds. */
      readonly windowMs?: number;
      /** For a service of a swarm. Published again for each further running task. */
      readonly tasks?: TaskProgress;
      /** While data are copied. Published again for each measurement. */
      readonly copied?: CopyProgress;
    }
  | {
      /** `update_deferred`: it was begun and then deferred before any change. This is not a failure. */
      readonly kind: 'update_completed' | 'update_failed' | 'update_deferred';
      readonly runId: string;
      readonly outcome: ContainerOutcome;
      readonly atMs: number;
    }
  /** Results of earlier updates, each reported once: of interrupted updates, and of our own by a helper. */
  | { readonly kind: 'earlier_updates_settled'; readonly transactions: readonly RecoveredTransaction[] }
  | {
      readonly kind: 'image_cleanup';
      readonly runId: string;
      readonly images: readonly RemovedImage[];
      readonly atMs: number;
    }
  /** After a check, `failed` counts the containers that could not be checked. */
  | ({
      readonly kind: 'scan_completed';
      readonly runId: string;
      readonly purpose: ScanPurpose;
      /** Containers that went back on request; absent without any. */
      readonly wentBack?: number;
      /** The whole run; undefined for a check. */
      readonly session: Session | undefined;
      readonly atMs: number;
    } & SessionSummary)
  | {
      readonly kind: 'scan_failed';
      readonly runId: string;
      readonly purpose: ScanPurpose;
      readonly error: string;
      readonly atMs: number;
    }
  /** One of several engines does not answer. Its last containers stay listed. */
  | { readonly kind: 'engine_unreachable'; readonly error: string; readonly atMs: number }
  | { readonly kind: 'engine_reachable'; readonly atMs: number }
  /** A compose file was written after an update or a rollback, or could not be. */
  | {
      readonly kind: 'compose_file';
      readonly container: string;
      readonly state: ComposeState;
      readonly atMs: number;
    }
  /** Release notes were read after a check, so that a reader of the containers may find more now. */
  | { readonly kind: 'notes_read'; readonly atMs: number }
  /** A person has decided, or another process has checked, so that a reader of the containers finds other states. */
  | { readonly kind: 'results_changed'; readonly atMs: number };

/** The kind of reason of a verdict, its times and its versions. Absent values are unknown. */
export type CheckedFacts = {
  readonly hold?: string;
  readonly eligibleAtMs?: number;
  readonly retryAtMs?: number;
  readonly latestDigest?: string;
  /** The digest that an update would apply, if it is not the newest one. */
  readonly candidateDigest?: string;
  /** The name of the newer image in short form, and the difference of its tag: `digest` means the same tag. */
  readonly candidate?: string;
  readonly candidateKind?: string;
  readonly version?: string;
  readonly latestVersion?: string;
  readonly change?: string;
};

/** A check changes nothing, an update may replace containers. Both begin with the same listing. */
export type ScanPurpose = 'check' | 'update';

export type RemovedImage = {
  readonly imageId: string;
  readonly imageName: string;
  readonly containerId: string;
  readonly containerName: string;
};

export type PullProgress = {
  readonly layersDone: number;
  readonly layers: number;
  readonly bytes: number;
  readonly totalBytes: number;
};

/** Of a copy of data. The data may have grown since they were measured. */
export type CopyProgress = Pick<PullProgress, 'bytes' | 'totalBytes'>;

/** From 0 to 100, rounded down. Undefined until the size is known. */
export function percentOf({ bytes, totalBytes }: CopyProgress): number | undefined {
  return totalBytes > 0 ? Math.min(100, Math.floor((100 * bytes) / totalBytes)) : undefined;
}

/** The interrupted updates that a start found, and the outcome of each. */
export type RecoveryReport = EngineRuns & {
  readonly transactions: readonly RecoveredTransaction[];
  /** A helper is updating Upkeep's own container. A new run waits for it to end. */
  readonly awaitsHelper?: true;
};

export type RecoveredTransaction = {
  /** Present with several engines. */
  readonly engine?: string;
  /** Names of containers, or of one service. */
  readonly containers: readonly string[];
  readonly kind?: EntryKind;
  /**
   * `finished`: the new version runs. `undone`: the old one runs. `left`: not changed for now. `failed`: the repair
   * failed. `solved`: it was reported as open, and someone else has ended it since.
   */
  readonly result: 'finished' | 'undone' | 'left' | 'failed' | 'solved';
  readonly reason: string;
  /** With `left`: an interrupted update that must still be repaired. */
  readonly isPending?: true;
  /** With `left`: this process goes on with the repair, which waits for a container. Its end is an event. */
  readonly isUnderWay?: true;
  /** With `left`: it only looks like an update. The reason explains why it is not confirmed. */
  readonly looksAlike?: true;
  /** The notification targets of a container's label, by the container's name. */
  readonly recipients?: Readonly<Record<string, readonly string[]>>;
};

/** Its containers, by `entryKeyOf`. */
export function keysOfRepaired({ containers, kind }: RecoveredTransaction): readonly string[] {
  return containers.map((name) => entryKeyOf({ name, kind }));
}

export type ServiceStatus = {
  /** When the last run ended, and its counts; undefined before the first. */
  readonly lastRun: { readonly atMs: number; readonly summary: SessionSummary } | undefined;
  /** Milliseconds since the epoch; undefined when nothing is scheduled. */
  readonly nextRunAtMs: number | undefined;
  /** Whether an update is under way. */
  readonly running: boolean;
  /** Whether an interrupted update is being finished or undone. */
  readonly repairing: boolean;
  /** Watched containers with a newer version in the last check; undefined while no check has told. */
  readonly updatesAvailable: number | undefined;
  /** For display: `every 6h`. Absent when nothing is scheduled. */
  readonly schedule?: string;
  /** Why nothing is scheduled. Absent when something is, or before the service has begun. */
  readonly scheduleOff?: string;
  /** The update under way; absent when there is none. */
  readonly run?: RunUnderWay;
};

export type RunUnderWay = {
  readonly runId: string;
  readonly trigger: Trigger;
  readonly by?: string;
  readonly startedAtMs: number;
  /** Its containers return to their previous version on request. */
  readonly isRollback?: true;
  /** Containers whose update has begun and not ended. */
  readonly containers: readonly {
    readonly name: string;
    /** Present with several engines. */
    readonly engine?: string;
    readonly kind?: EntryKind;
    readonly phase: UpdatePhase | 'waiting';
    /** Progress of a pull or of a copy of data, from 0 to 100; absent while it is unknown. */
    readonly percent?: number;
    /** For a service of a swarm: its running tasks of this phase's version. */
    readonly tasks?: TaskProgress;
  }[];
};

/** A running service, through its HTTP API. Its answers come from outside and are not validated. */
export type RunningService = {
  /** The whole document, with its `api_version`. Throws a `ServiceError` with the reason if it cannot be read. */
  readonly read: (document: ServiceDocument, signal: AbortSignal) => Promise<JsonObject>;
  /** Changes something and returns its document. Throws in the same way. */
  readonly send: (order: ServiceOrder, signal: AbortSignal) => Promise<JsonObject>;
  /**
   * Events from now until the signal aborts. Lost events are requested again. Throws if the service refuses or stays
   * unreachable.
   */
  readonly follow: (signal: AbortSignal) => AsyncIterable<JsonObject>;
};

type ServiceDocument = 'containers/details' | 'history' | 'config' | 'decisions' | `notes?${string}`;

/** `body` is sent as JSON. */
type ServiceOrder =
  | { readonly method: 'POST'; readonly what: 'decisions'; readonly body: JsonObject }
  | { readonly method: 'DELETE'; readonly what: `decisions/${string}`; readonly body?: undefined };

/** The times of automatic updates. An interval is counted by the monotonic clock; a calendar follows the wall clock. */
export type Schedule = {
  /** For people: `every 6h`, `every day at 04:00 (Europe/Berlin)`. */ readonly words: string;
} & (
  | { readonly kind: 'interval'; readonly everyMs: number }
  | {
      readonly kind: 'calendar';
      /** The first run after a time, both in milliseconds since the epoch. Undefined after the last one. */
      readonly nextRunAfter: (ms: number) => number | undefined;
    }
);

/** The calendar with each run this much later; an interval, which begins at the start of its process, is unchanged. */
export function delayed(schedule: Schedule, delayMs: number): Schedule {
  if (schedule.kind === 'interval' || delayMs === 0) return schedule;
  return {
    ...schedule,
    nextRunAfter: (ms) => {
      const nextMs = schedule.nextRunAfter(ms - delayMs);
      return nextMs === undefined ? undefined : nextMs + delayMs;
    },
  };
}

/** Without a schedule, updates run at the start if at all. */
export type UpdateSchedule = {
  readonly schedule: Schedule | undefined;
  readonly updateOnStart: boolean;
  /** Why there is no schedule, in words. */
  readonly whyNone?: string;
};

import type { CheckReport } from './check/check.ts';
import type { EventLog } from './events/event-log.ts';
import type { HistoryEntry } from './events/history.ts';
import type { RecoveryOrder, RecoveryReport } from './recovery/recover.ts';
import type { Rehearsal } from './transaction/rehearse.ts';
import type { ServiceError } from '../domain/errors.ts';
import type { ServiceEvent } from '../domain/run/event.ts';
import type { Inventory } from '../domain/inventory/inventory.ts';
import type { Schedule } from '../domain/schedule/schedule.ts';
import type { Session, SessionSummary, Trigger } from '../domain/run/session.ts';
import type { UpdatePlan } from '../domain/plan/update-plan.ts';

/** Which of the watched containers a request is about; both empty: all of them. Items of a kind are OR, the kinds AND. */
export type Request = {
  /** References; without a tag, any tag. */
  readonly images: readonly string[];
  /** Names, or regular expressions that match the whole name. */
  readonly containers: readonly string[];
};

/** Without a trigger: `command`. */
export type CheckRequest = Request & { readonly trigger?: Trigger };

export type UpdateRequest = Request & {
  readonly trigger: Trigger;
  /** Also versions that failed in a container before. */
  readonly retryFailed?: boolean;
  /** Hears the run's id once the update has its turn and begins. */
  readonly onBegin?: (runId: string) => void;
};

/** What the service can do: the table of contents. Commands and routes know nothing else of us. */
export type Application = {
  /** Asks the registries; changes nothing. What an abort leaves unanswered is `unknown` in the report. */
  readonly check: (request: CheckRequest, signal?: AbortSignal) => Promise<CheckReport>;
  /** What an update would do now; changes nothing, pulls nothing. */
  readonly plan: (
    request: Request & Pick<UpdateRequest, 'retryFailed'>,
    signal?: AbortSignal,
  ) => Promise<{ readonly report: CheckReport; readonly plan: UpdatePlan }>;
  /**
   * The same, and creates each new container aside to compare it with the old one, which runs on;
   * then takes it back. Images are pulled, and stay. Waits for its turn.
   */
  readonly rehearse: (
    request: Request & Pick<UpdateRequest, 'retryFailed'>,
    signal?: AbortSignal,
  ) => Promise<{
    readonly report: CheckReport;
    readonly plan: UpdatePlan;
    readonly rehearsals: readonly Rehearsal[];
  }>;
  /**
   * Replaces what is stale, one run at a time: without filters it throws `busy` when another runs or
   * waits, and waits for the end of a repair; with filters it waits for its turn. An abort is heard while it waits and at safe points: it
   * never leaves a container half-replaced.
   */
  readonly update: (request: UpdateRequest, signal?: AbortSignal) => Promise<Session>;
  /**
   * Puts containers, by their names, back to the image that they ran before their last update, and
   * remembers the one they leave so that no run brings it back. Throws before anything is touched when
   * one of them cannot go back. Waits for its turn.
   */
  readonly rollBack: (names: readonly string[], signal?: AbortSignal) => Promise<Session>;
  /**
   * Finishes or undoes what an interrupted update left in the engine. Every start begins with it. Where
   * a helper is replacing our own container it waits for the end of that.
   */
  readonly recover: (signal?: AbortSignal, order?: Pick<RecoveryOrder, 'unsealed'>) => Promise<RecoveryReport>;
  /** As the helper that was made for it: brings one update of our own container to its end. */
  readonly finishUpdate: (transaction: string) => Promise<RecoveryReport>;
  /** Whether an update would replace our own container too; known once `recover` has come to an end. */
  readonly updatesItself: () => boolean;
  /** Returns the way to stop listening. A listener that throws is logged and kept. */
  readonly subscribe: (listener: (event: ServiceEvent) => void) => () => void;

  /** Updates all when the schedule says so, until the signal aborts and what runs then has come to a safe point. */
  readonly keepUpdating: (order: KeepUpdating, signal: AbortSignal) => Promise<void>;
  /** Begins to keep the inventory in step with the engine, until `close`; resolves once it is known. */
  readonly follow: (signal?: AbortSignal) => Promise<void>;
  /** From memory, whatever the engine does: without `follow` it stays unknown and empty. */
  readonly inventory: () => Inventory;
  /** Why the inventory cannot be believed now: its engine cannot be reached, and tells of no changes; undefined when it can. */
  readonly inventoryFailure: () => ServiceError | undefined;
  /** The update runs of this process, oldest first, at most 500. */
  readonly history: () => readonly HistoryEntry[];
  readonly status: () => ServiceStatus;
  readonly eventLog: EventLog;
  /** What the containers of the engine are called, watched or not; of one that an update has renamed, its own name. */
  readonly containerNames: (signal?: AbortSignal) => Promise<readonly string[]>;
  /** Resolves when the engine answers; throws why it does not after 5 s at most. */
  readonly ready: (signal?: AbortSignal) => Promise<void>;
  /** Ends what goes on by itself: what `follow` began, and the watch over a helper. */
  readonly close: () => Promise<void>;
};

/** Without a schedule: at the start, if at all. */
export type KeepUpdating = { readonly schedule: Schedule | undefined; readonly updateOnStart: boolean };

export type ServiceStatus = {
  /** When the last run ended, and its counts; undefined before the first. */
  readonly lastRun: { readonly atMs: number; readonly summary: SessionSummary } | undefined;
  /** Milliseconds since the epoch; undefined when nothing is scheduled. */
  readonly nextRunAtMs: number | undefined;
  /** Whether an update is under way. */
  readonly running: boolean;
  /** Whether what an interrupted update left is being finished or undone. */
  readonly repairing: boolean;
  /** Watched containers for which the last check found something newer. */
  readonly updatesAvailable: number;
};

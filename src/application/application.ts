import type { MissingPermissions } from '../domain/outside/permission.ts';
import type { UpdateSchedule, ServiceStatus, RecoveryReport, ServiceEvent } from '../domain/run/event.ts';
import type { Request, CheckRequest, RollbackOptions, UpdateRequest, Session } from '../domain/run/session.ts';
import type { EngineState } from '../domain/outside/engine.ts';
import type { CheckReport } from './check/check.ts';
import type { InRun } from './check/checked-container.ts';
import type { Prove } from './check/prove.ts';
import type { EventLog, HistoryEntry } from './events/history.ts';
import type { DecidedCandidate } from '../domain/decision/decisions.ts';
import type { DecisionService } from './check/decisions.ts';
import type { ContainerNotes } from './check/notes.ts';
import type { RecoveryOrder } from './recovery/recover.ts';
import type { KeptCopy } from './update/kept-data.ts';
import type { Rehearsal } from './transaction/run-transaction.ts';
import type { ServiceError } from '../domain/text/errors.ts';
import type { Inventory, UnwatchedTracked } from '../domain/inventory.ts';
import type { UnmatchedFilter } from '../domain/check/selection.ts';
import type { UpdatePlan } from '../domain/plan/update-plan.ts';

/** The service's use cases. Commands and routes call only these. */
export type Application = {
  /** Asks the registries; changes nothing. After an abort, unanswered containers are `unknown` in the report. */
  readonly check: (request: CheckRequest, signal?: AbortSignal) => Promise<CheckReport>;
  /** Shows the steps of an update. It changes nothing and pulls nothing. */
  readonly plan: (request: PlanRequest, signal?: AbortSignal) => Promise<Planned>;
  /**
   * Like `plan`, but also creates each new container under a temporary name, compares it with the old one, and removes
   * it. Old containers keep running. Pulled images stay. Waits for its turn.
   */
  readonly rehearse: (
    request: Omit<PlanRequest, 'asApproved'>,
    signal?: AbortSignal,
  ) => Promise<Planned & { readonly rehearsals: readonly Rehearsal[] }>;
  /**
   * Replaces stale containers, one run at a time. Without filters it throws `busy` while another run works or waits,
   * and waits for the end of a repair. With filters it waits for its turn. An abort takes effect while it waits and at
   * safe points. It never leaves a container half-replaced.
   */
  readonly update: (request: UpdateRequest, signal?: AbortSignal) => Promise<Session>;
  /**
   * Returns the named containers to the image that they ran before their last update. Stores the rolled-back image, so
   * that no run updates to it again. Throws before any change if one of them cannot be rolled back. Waits for its turn.
   */
  readonly rollBack: (
    names: readonly string[],
    signal?: AbortSignal,
    order?: RollbackOptions & Pick<UpdateRequest, 'engines'>,
  ) => Promise<Session>;
  /**
   * Finishes or undoes interrupted updates. Every start calls it first. While a helper replaces our own container, it
   * waits for the helper to end.
   */
  readonly recover: (
    signal?: AbortSignal,
    order?: Pick<RecoveryOrder, 'unsealed' | 'isAgain' | 'dataChoice'> & Pick<UpdateRequest, 'engines'>,
  ) => Promise<RecoveryReport>;
  /** The copies of data that updates have kept, oldest first. */
  readonly keptCopies: (signal?: AbortSignal) => Promise<readonly KeptCopy[]>;
  /** Removes those of the named containers, and resolves to them. Throws if one has none. */
  readonly removeKeptCopies: (names: readonly string[], signal?: AbortSignal) => Promise<readonly KeptCopy[]>;
  /** Runs in the helper container: finishes one update of Upkeep's own container. */
  readonly finishUpdate: (transaction: string) => Promise<RecoveryReport>;
  /** Whether an update would replace our own container too. Known once `recover` has ended. */
  readonly updatesItself: () => boolean;
  /** Returns a function that unsubscribes. A listener that throws is logged and stays subscribed. */
  readonly subscribe: (listener: (event: ServiceEvent) => void) => () => void;

  /** Updates all containers on the schedule. After an abort it resolves at the next safe point of the current run. */
  readonly keepUpdating: (order: UpdateSchedule, signal: AbortSignal) => Promise<void>;
  /** Keeps the inventory in step with the engine until `close`. Resolves after the first listing. */
  readonly follow: (signal?: AbortSignal) => Promise<void>;
  /** The inventory in memory, without a call to the engine. Before `follow` it is empty and marked as unknown. */
  readonly inventory: () => Inventory;
  /** The containers that are not watched, from the same memory. */
  readonly unwatched: () => readonly UnwatchedTracked[];
  /**
   * The version that the engine reported at the last connection. Undefined before the first connection, and with
   * several engines.
   */
  readonly engineVersion: () => string | undefined;
  /**
   * Why the inventory may be outdated: the engine cannot be reached and its event stream is down. Undefined when it is
   * up to date.
   */
  readonly inventoryFailure: () => ServiceError | undefined;
  /** The calls of updates that the last answer of the engine forbids. Of several engines, the first one with any. */
  readonly missingPermissions: () => MissingPermissions | undefined;
  /** The update runs of this process, oldest first, at most 500. */
  readonly history: () => readonly HistoryEntry[];
  /** Reads the runs that other processes with the same folder have ended since. `follow` does it every second too. */
  readonly refreshHistory: () => Promise<void>;
  readonly status: () => ServiceStatus;
  readonly eventLog: EventLog;
  /** Decisions of people about newer versions. */
  readonly decisions: Pick<DecisionService, 'list' | 'take' | 'withdraw'> & {
    /** `engine` is needed if several engines have a container of that name. */
    readonly candidateOf: (container: string, engine?: string) => DecidedCandidate | undefined;
  };
  /**
   * The release notes of the newer version that a container waits for, as they were read last. Undefined: none is known.
   * `several`: several engines have such a container.
   */
  readonly notesOf: (container: string, engine?: string) => ContainerNotes | 'several' | undefined;
  /** Reads them if that was not tried yet, for 15 s at most. */
  readonly readNotes: (container: string, signal?: AbortSignal) => Promise<void>;
  /** Names of all containers, watched or not. A container that an update has renamed is listed by its plain name. */
  readonly containerNames: (signal?: AbortSignal) => Promise<readonly string[]>;
  /** Resolves when the engine answers. Throws the reason when there is no answer within 5 s. */
  readonly ready: (signal?: AbortSignal) => Promise<void>;
  /** All engines in configured order; present if there are several. */
  readonly engines?: () => readonly EngineState[];
  /** Ends `follow` and the watch over a helper. */
  readonly close: () => Promise<void>;
};

export type PlanRequest = Request &
  Pick<UpdateRequest, 'retryFailed' | 'ignoreWindows' | 'ignoreWaves'> & {
    /** Plans as if a person had approved the new versions. */
    readonly asApproved?: boolean;
  };

export type Planned = { readonly report: CheckReport; readonly plan: UpdatePlan };

/** The application of one engine. */
export type EngineApplication = Omit<Application, 'check' | 'plan' | 'rehearse' | 'update' | 'rollBack'> & {
  /** Notes the results of a run of another process. `isEarlier`: it ended before this process began to follow. */
  readonly noteOther: (run: HistoryEntry, isEarlier: boolean) => void;
  /** Repairs what no update could finish or undo, until the signal aborts. Part of `keepUpdating` of one engine. */
  readonly keepRepairing: (signal: AbortSignal) => Promise<void>;
  readonly check: InFleet<Application['check']>;
  readonly plan: InFleet<Application['plan']>;
  readonly rehearse: InFleet<Application['rehearse']>;
  readonly update: InFleet<Application['update']>;
  readonly rollBack: (
    names: readonly string[],
    signal?: AbortSignal,
    order?: InRun<RollbackOptions>,
  ) => Promise<Session>;
  /** The filters of a request that match no watched container. */
  readonly unmatched: (request: Request, signal?: AbortSignal) => Promise<readonly UnmatchedFilter[]>;
  readonly prove: Prove;
  /** The first window after `ms` (wall clock) that containers wait for, with the names of these containers. */
  readonly opensAfter: (ms: number) => { readonly atMs: number; readonly names: readonly string[] } | undefined;
};

type InFleet<Each> = Each extends (order: infer Order, signal?: AbortSignal) => infer Result
  ? (order: InRun<Order>, signal?: AbortSignal) => Result
  : never;

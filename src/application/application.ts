import { type KeepUpdating } from '../domain/schedule/schedule.ts';
import { type ServiceStatus } from '../domain/run/service-status.ts';
import { type Request, type CheckRequest, type UpdateRequest } from '../domain/run/request.ts';
import type { RecoveryReport } from '../domain/run/recovery-report.ts';
import type { EngineState } from '../domain/fleet/engine-state.ts';
import type { CheckReport } from './check/check.ts';
import type { InRun, PartOfRun } from './check/part-of-run.ts';
import type { EngineProof } from './engine/proof.ts';
import type { EventLog } from './events/event-log.ts';
import type { HistoryEntry } from './events/history.ts';
import type { DecidedCandidate } from '../domain/decision/decision.ts';
import type { DecisionDesk } from './hold/decide.ts';
import type { RecoveryOrder } from './recovery/recover.ts';
import type { Rehearsal } from './transaction/rehearse.ts';
import type { ServiceError } from '../domain/errors.ts';
import type { ServiceEvent } from '../domain/run/event.ts';
import type { Inventory, UnwatchedTracked } from '../domain/inventory/inventory.ts';
import type { Session } from '../domain/run/session.ts';
import type { UnmatchedFilter } from '../domain/check/selection.ts';
import type { UpdatePlan } from '../domain/plan/update-plan.ts';

/** The service's use cases. Commands and routes call only these. */
export type Application = {
  /** Asks the registries; changes nothing. After an abort, unanswered containers are `unknown` in the report. */
  readonly check: (request: CheckRequest, signal?: AbortSignal) => Promise<CheckReport>;
  /** The steps of an update now; changes nothing, pulls nothing. */
  readonly plan: (
    request: PlanRequest,
    signal?: AbortSignal,
  ) => Promise<{ readonly report: CheckReport; readonly plan: UpdatePlan }>;
  /**
   * The same, and creates each new container aside to compare it with the old one, which runs on;
   * then takes it back. Images are pulled, and stay. Waits for its turn.
   */
  readonly rehearse: (
    request: Request & Pick<UpdateRequest, 'retryFailed' | 'ignoreWindows' | 'ignoreWaves'>,
    signal?: AbortSignal,
  ) => Promise<{
    readonly report: CheckReport;
    readonly plan: UpdatePlan;
    readonly rehearsals: readonly Rehearsal[];
  }>;
  /**
   * Replaces stale containers, one run at a time. Without filters it throws `busy` while another run works
   * or waits, and waits for the end of a repair. With filters it waits for its turn. An abort takes effect
   * during the wait and at safe points; it never leaves a container half-replaced.
   */
  readonly update: (request: UpdateRequest, signal?: AbortSignal) => Promise<Session>;
  /**
   * Puts containers, by their names, back to the image that they ran before their last update, and
   * remembers the one they leave so that no run brings it back. Throws before anything is touched when
   * one of them cannot go back. Waits for its turn.
   */
  readonly rollBack: (
    names: readonly string[],
    signal?: AbortSignal,
    order?: Partial<Pick<UpdateRequest, 'trigger' | 'onBegin' | 'engines'>>,
  ) => Promise<Session>;
  /**
   * Finishes or undoes interrupted updates. Every start begins with it. While a helper replaces our own
   * container, it waits for the end of that.
   */
  readonly recover: (signal?: AbortSignal, order?: Pick<RecoveryOrder, 'unsealed'>) => Promise<RecoveryReport>;
  /** Runs in the helper container: finishes one update of Upkeep's own container. */
  readonly finishUpdate: (transaction: string) => Promise<RecoveryReport>;
  /** Whether an update would replace our own container too; known once `recover` has come to an end. */
  readonly updatesItself: () => boolean;
  /** Returns the way to stop listening. A listener that throws is logged and kept. */
  readonly subscribe: (listener: (event: ServiceEvent) => void) => () => void;

  /**
   * Updates all containers on the schedule. After an abort it resolves when the current run has reached a
   * safe point.
   */
  readonly keepUpdating: (order: KeepUpdating, signal: AbortSignal) => Promise<void>;
  /** Begins to keep the inventory in step with the engine, until `close`; resolves once it is known. */
  readonly follow: (signal?: AbortSignal) => Promise<void>;
  /** The inventory from memory; it asks the engine nothing. It is unknown and empty before `follow`. */
  readonly inventory: () => Inventory;
  /** The other containers of the engine, from the same memory. */
  readonly unwatched: () => readonly UnwatchedTracked[];
  /** The version of the engine, as it told at the last connection; undefined until then, and with several engines. */
  readonly engineVersion: () => string | undefined;
  /** Why the inventory cannot be believed now: its engine cannot be reached, and tells of no changes; undefined when it can. */
  readonly inventoryFailure: () => ServiceError | undefined;
  /** The update runs of this process, oldest first, at most 500. */
  readonly history: () => readonly HistoryEntry[];
  readonly status: () => ServiceStatus;
  readonly eventLog: EventLog;
  /** What people decide about newer versions. */
  readonly decisions: Pick<DecisionDesk, 'list' | 'take' | 'withdraw'> & {
    /** The engine is needed where several have a container of that name. */
    readonly candidateOf: (container: string, engine?: string) => DecidedCandidate | undefined;
  };
  /** Names of all containers, watched or not. A container that an update has renamed has its own name here. */
  readonly containerNames: (signal?: AbortSignal) => Promise<readonly string[]>;
  /** Resolves when the engine answers; throws why it does not after 5 s at most. */
  readonly ready: (signal?: AbortSignal) => Promise<void>;
  /** Present where there are several: all of them, in configured order. */
  readonly engines?: () => readonly EngineState[];
  /** Ends the following that `follow` began, and the watch over a helper. */
  readonly close: () => Promise<void>;
};

export type PlanRequest = Request &
  Pick<UpdateRequest, 'retryFailed' | 'ignoreWindows' | 'ignoreWaves'> & {
    /** As if a person had approved the new versions. */
    readonly asApproved?: boolean;
  };

/** The application of one engine. */
export type EngineApplication = Omit<Application, 'check' | 'plan' | 'rehearse' | 'update' | 'rollBack'> & {
  readonly check: InFleet<Application['check']>;
  readonly plan: InFleet<Application['plan']>;
  readonly rehearse: InFleet<Application['rehearse']>;
  readonly update: InFleet<Application['update']>;
  readonly rollBack: (
    names: readonly string[],
    signal?: AbortSignal,
    order?: InRun<Partial<Pick<UpdateRequest, 'trigger' | 'onBegin'>>>,
  ) => Promise<Session>;
  /** The filters of a request that mean no watched container of it. */
  readonly unmatched: (request: Request, signal?: AbortSignal) => Promise<readonly UnmatchedFilter[]>;
  /** What its containers prove about the versions that they run. */
  readonly prove: (part: Pick<PartOfRun, 'registry'>, signal?: AbortSignal) => Promise<EngineProof>;
  /** When a window first opens after a time that containers wait for, by the wall clock, and which do. */
  readonly opensAfter: (ms: number) => { readonly atMs: number; readonly names: readonly string[] } | undefined;
};

type InFleet<Each> = Each extends (order: infer Order, signal?: AbortSignal) => infer Result
  ? (order: InRun<Order>, signal?: AbortSignal) => Result
  : never;

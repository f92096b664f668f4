import type { TaskProgress } from '../swarm/swarm-service.ts';
import type { EntryKind, SessionSummary, Trigger, UpdatePhase } from './session.ts';

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
  readonly startedAtMs: number;
  /** Its containers return to their previous version on request. */
  readonly isRollback?: true;
  /** Containers whose update has begun and not ended. */
  readonly containers: readonly ContainerUnderWay[];
};

export type ContainerUnderWay = {
  readonly name: string;
  /** Present with several engines. */
  readonly engine?: string;
  readonly kind?: EntryKind;
  readonly phase: UpdatePhase | 'waiting';
  /** Progress of a pull, from 0 to 100; absent while its size is unknown. */
  readonly percent?: number;
  /** For a service of a swarm: its running tasks of this phase's version. */
  readonly tasks?: TaskProgress;
};

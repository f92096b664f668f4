import type { TaskProgress } from '../swarm/swarm-service.ts';
import type { SessionSummary, Trigger, UpdatePhase } from './session.ts';

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
  /** For people: `every 6h`; absent when nothing is scheduled. */
  readonly schedule?: string;
  /** Why nothing is scheduled, in words; absent when something is, or the service has not begun. */
  readonly scheduleOff?: string;
  /** The update under way; absent when there is none. */
  readonly run?: RunUnderWay;
};

export type RunUnderWay = {
  readonly runId: string;
  readonly trigger: Trigger;
  readonly startedAtMs: number;
  /** Containers whose update has begun and not ended. */
  readonly containers: readonly ContainerUnderWay[];
};

export type ContainerUnderWay = {
  readonly name: string;
  /** Present where there are several. */
  readonly engine?: string;
  readonly phase: UpdatePhase | 'waiting';
  /** Progress of a pull, from 0 to 100; absent while its size is unknown. */
  readonly percent?: number;
  /** Of a service of a swarm: its tasks that run the version of this phase. */
  readonly tasks?: TaskProgress;
};

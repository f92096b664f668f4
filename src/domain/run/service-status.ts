import type { SessionSummary } from './session.ts';

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

import type { ContainerOutcome } from './session.ts';

/** Outcome of a container in a run. */
export type PastOutcome = {
  readonly outcome: ContainerOutcome;
  /** When it was reached, milliseconds since the epoch. */
  readonly atMs: number;
  readonly runId: string;
};

import type { EngineRuns } from '../fleet/engine-run.ts';

/** The interrupted updates that a start found, and the outcome of each. */
export type RecoveryReport = EngineRuns & {
  readonly transactions: readonly RecoveredTransaction[];
  /** A helper is updating Upkeep's own container: a new run waits for its end. */
  readonly awaitsHelper?: true;
};

export type RecoveredTransaction = {
  /** Present where there are several. */
  readonly engine?: string;
  readonly containers: readonly string[];
  /** `finished`: the new version runs; `undone`: the old one; `left`: not ours to touch now; `failed`: tried in vain. */
  readonly result: 'finished' | 'undone' | 'left' | 'failed';
  readonly reason: string;
  /** With `left`: it is an update that was interrupted, and still to be repaired. */
  readonly isPending?: true;
  /** With `left`: it only looks like an update; the reason says why it is not believed. */
  readonly looksAlike?: true;
  /** By the name of a container, the notification targets that hear of it; of those whose label says so. */
  readonly recipients?: Readonly<Record<string, readonly string[]>>;
};

import type { DecidedCandidate } from '../../domain/decision/decisions.ts';
import type { PartOfRun } from './part-of-run.ts';

/** How the newer versions of one request are judged. */
export type JudgeOrder = {
  readonly runId: string;
  /** False for a check, which reports every new version; true for an update, which holds young ones back. */
  readonly applyCooldown: boolean;
  /** Versions that failed in a container are not held back. */
  readonly retryFailed?: boolean;
  /** Windows hold nothing back. */
  readonly ignoreWindows?: boolean;
  /** Waves hold nothing back. */
  readonly ignoreWaves?: boolean;
  /** No version waits for approval: for a plan that shows what an approval would lead to. */
  readonly asApproved?: boolean;
  /**
   * A person has asked for these containers: see `UpdateRequest`. Returns the version of a container that the person has
   * seen.
   */
  readonly byPerson?: ((container: string) => Pick<DecidedCandidate, 'digest'> | undefined) | undefined;
  /** Nothing follows from this order, so its events have the verdicts of a scheduled run. */
  readonly isDryRun?: boolean;
  /** Its registry replaces the registry of `world`. */
  readonly part?: Pick<PartOfRun, 'registry' | 'hold'> | undefined;
};

import { entryKeyOf, type EntryKind } from './session.ts';
import type { EngineRuns } from '../fleet/engine-run.ts';

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
   * failed. `solved`: it was reported as open, and somebody else has ended it since.
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

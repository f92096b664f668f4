import type { Target } from './message.ts';

/** The counts of a target since the start. */
export type TargetCounts = {
  readonly sent: number;
  /** Failed attempts with a retry. */
  readonly retried: number;
  /** Messages that were given up. */
  readonly failed: number;
  /** Messages that were dropped because too many waited. */
  readonly lost: number;
  readonly lastSentAtMs: number | undefined;
  /** Undefined also when a message has been sent since. Without secrets. */
  readonly lastFailure: { readonly atMs: number; readonly reason: string } | undefined;
};

export type TargetStatus = TargetCounts & Pick<Target, 'name' | 'service' | 'shown'> & { readonly pending: number };

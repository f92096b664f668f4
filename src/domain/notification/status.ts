import type { Target } from './message.ts';

/** How a target does, since the start. */
export type TargetCounts = {
  readonly sent: number;
  /** Attempts that are to be tried again. */
  readonly retried: number;
  /** Messages that were given up. */
  readonly failed: number;
  /** Messages that had to go because too many waited. */
  readonly lost: number;
  readonly lastSentAtMs: number | undefined;
  /** Undefined also when a message has been sent since. Without secrets. */
  readonly lastFailure: { readonly atMs: number; readonly reason: string } | undefined;
};

export type TargetStatus = TargetCounts & Pick<Target, 'name' | 'service' | 'shown'> & { readonly pending: number };

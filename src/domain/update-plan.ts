import type { Container } from './container.ts';
import type { Digest } from './digest.ts';

/** What an update is going to do, as data: it can be printed, and tested without an engine. */
export type UpdatePlan = {
  /** In an order that respects `after`. */
  readonly transactions: readonly PlannedTransaction[];
  /** Stale containers that must not be touched, each with the reason. */
  readonly refused: readonly { readonly name: string; readonly id: string; readonly reason: string }[];
};

/** One group of containers that moves together or not at all. */
export type PlannedTransaction = {
  /** The id of the leader's container (the first member): unique in the plan. */
  readonly id: string;
  /** What a member needs comes before it; in a cycle, by name. */
  readonly members: readonly PlannedMember[];
  /** Ids of transactions that must have succeeded first, because a container here depends on one there. */
  readonly after: readonly string[];
};

export type PlannedMember = {
  readonly container: Container;
  /** `stale`: a newer image; `linked`: same image, re-created because it holds on to a member that is replaced. */
  readonly cause: 'stale' | 'linked';
  /** `Config.Image` of old and new alike, e.g. `nginx:1.27`. */
  readonly reference: string;
  /** What to pull; undefined when the image is in the engine already (`linked`, or no-pull). */
  readonly digest: Digest | undefined;
  /** Ids of the members this one holds on to: shared namespaces, legacy links, `volumes_from`. */
  readonly holdsOnTo: readonly string[];
};

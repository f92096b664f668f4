import type { Decision } from './decision.ts';

/** A watched container as `GET /v1/containers/details` tells of it. Empty texts and absent values: not known. */
export type Watched = {
  /** Unique among all containers: where there are several engines, the engine's name precedes it. */
  readonly name: string;
  /** Its name within its engine. */
  readonly ownName: string;
  readonly image: string;
  readonly project: string;
  /** Name of its engine; empty where there is only one. */
  readonly engine: string;
  /** Whether its engine does not answer, so that everything known about it is past. */
  readonly isAway: boolean;
  readonly id: string;
  readonly digest: string;
  readonly latestDigest: string;
  /** Reference of the newer image where it has another tag; else empty. */
  readonly candidate: string;
  /** The version that an update would apply; a decision is about it. */
  readonly candidateDigest: string;
  /** A person's decision about that version; undefined: there is none, or the page may not know. */
  readonly decision: Decision | undefined;
  readonly version: string;
  readonly latestVersion: string;
  readonly change: Change | undefined;
  readonly status: string;
  readonly health: string;
  readonly startedAtMs: number | undefined;
  readonly checkedAtMs: number | undefined;
  /** Undefined before the first check. */
  readonly verdict: Verdict | undefined;
  /** Kind of reason why a newer image waits, or why nothing is known. */
  readonly hold: string;
  /** A sentence without a final period; it is shown, and never read. */
  readonly reason: string;
  readonly eligibleAtMs: number | undefined;
  readonly retryAtMs: number | undefined;
  readonly releasedAtMs: number | undefined;
  readonly downloadBytes: number | undefined;
  readonly sourceUrl: string;
  /** Unique names. */
  readonly dependsOn: readonly string[];
  /** What labels of this container change. */
  readonly settings: readonly OwnSetting[];
  /** The newest outcome other than "nothing new". */
  readonly last: PastOutcome | undefined;
  readonly canRollBack: boolean;
  /** Whether Upkeep itself runs in it. */
  readonly self: boolean;
  /** An update of it has not come to its end. */
  readonly unfinished: 'in progress' | 'repair pending' | undefined;
};

export const verdicts = ['fresh', 'stale', 'held', 'pinned', 'local', 'unknown'] as const;
export type Verdict = (typeof verdicts)[number];

/** `build`: the same version in a newer image. */
export const changes = ['major', 'minor', 'patch', 'build'] as const;
export type Change = (typeof changes)[number];

export type OwnSetting = { readonly name: string; readonly value: string; readonly source: string };

export const outcomeKinds = [
  'updated',
  'rolled_back',
  'failed',
  'restarted',
  'skipped',
  'deferred',
  'unknown',
  'fresh',
] as const;
export type OutcomeKind = (typeof outcomeKinds)[number];

/** One container in a run; `from` and `to` are versions. */
export type PastOutcome = {
  /** Unique. */
  readonly name: string;
  readonly outcome: OutcomeKind;
  readonly atMs: number | undefined;
  readonly from: string;
  readonly to: string;
  readonly reason: string;
  readonly downtimeMs: number | undefined;
  /** Milliseconds by name of the phase. */
  readonly phasesMs: Readonly<Record<string, number>>;
  readonly log: string;
};

import type { Decision } from './decisions.ts';
import type { PastOutcome } from './history.ts';

/** A watched container from `GET /v1/containers/details`. Empty texts and absent values are unknown. */
export type WatchedContainer = {
  /** Unique among all containers: `uniqueName`. */
  readonly name: string;
  /** Its name within its engine. */
  readonly ownName: string;
  readonly image: string;
  readonly project: string;
  /** Name of its engine; empty with one engine. */
  readonly engine: string;
  /** A service of a swarm. Updates replace its tasks. */
  readonly isService: boolean;
  /** Whether its engine is unreachable. All its data is outdated then. */
  readonly isAway: boolean;
  readonly id: string;
  readonly digest: string;
  readonly latestDigest: string;
  /** Reference of the newer image if it has another tag, else empty. */
  readonly candidate: string;
  /** Digest of the version that an update would apply. Decisions name it. */
  readonly candidateDigest: string;
  /** A person's decision about that version. Undefined: none, or the page has no access to decisions. */
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
  /** Kind of reason why a newer image waits, or why the check failed. */
  readonly hold: string;
  /** A sentence without a final period. It is shown, but not interpreted. */
  readonly reason: string;
  readonly eligibleAtMs: number | undefined;
  readonly retryAtMs: number | undefined;
  readonly releasedAtMs: number | undefined;
  readonly downloadBytes: number | undefined;
  readonly sourceUrl: string;
  /** Unique names. */
  readonly dependsOn: readonly string[];
  /** Settings changed by labels of this container. */
  readonly settings: readonly OwnSetting[];
  /** The newest outcome other than "nothing new". */
  readonly last: PastOutcome | undefined;
  readonly canRollBack: boolean;
  /** How its image stands in its compose file, as a sentence; empty if it is the same, or not known. */
  readonly composeNote: string;
  /** Whether Upkeep runs in it. */
  readonly self: boolean;
  /** The state of its interrupted update, if there is one. */
  readonly unfinished: 'in progress' | 'repair pending' | undefined;
  /** An interrupted update has left neither its old nor its new container running. */
  readonly isLeftDown: boolean;
};

export const verdicts = ['fresh', 'stale', 'held', 'pinned', 'local', 'unknown'] as const;
export type Verdict = (typeof verdicts)[number];

/** `build`: the same version in a newer image. */
export const changes = ['major', 'minor', 'patch', 'build'] as const;
export type Change = (typeof changes)[number];

export type OwnSetting = { readonly name: string; readonly value: string; readonly source: string };

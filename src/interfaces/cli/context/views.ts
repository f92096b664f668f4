import type { Staleness } from '../../../domain/check/verdict.ts';
import type { UnfinishedUpdate } from '../../../domain/recovery/unfinished-update.ts';
import type { JsonObject } from '../../../domain/text/json.ts';
import type { OutcomeKind } from '../../../domain/run/session.ts';
import type { ConfiguredOption } from '../../json/configuration.ts';

/** An answer as typed data for people, and as the document of the API. */
export type Answer<View> = { readonly view: View; readonly document: JsonObject };

export type Fetch<View> = (signal: AbortSignal) => Promise<Answer<View>>;

/** The data for commands that change nothing, of this process or of a running service. Texts are not escaped yet. */
export type Sources = {
  readonly containers: Fetch<ContainersView>;
  /** Oldest first. */
  readonly history: Fetch<readonly PastRun[]>;
  readonly config: Fetch<ConfigView>;
  readonly follow: (signal: AbortSignal) => AsyncIterable<JsonObject>;
};

export type ContainersView = {
  readonly containers: readonly ContainerView[];
  /** Undefined where the service does not list them. */
  readonly unwatched: readonly UnwatchedView[] | undefined;
  /** Unreachable engines; absent without any. */
  readonly away?: readonly { readonly name: string; readonly error: string }[];
};

export type ContainerView = {
  /** Versions for display; absent when they are not known. */
  readonly version?: string;
  readonly latestVersion?: string;
  /** Reference of the newer image. */
  readonly candidate?: string;
  /** When the newer image was built, milliseconds since the epoch. */
  readonly releasedAtMs?: number;
  readonly name: string;
  /** Present with several engines. */
  readonly engine?: string;
  readonly image: string;
  /** `running (healthy)`; empty for a container during an update. */
  readonly state: string;
  readonly finding: Finding;
  /** The reason of the last check; empty before it. */
  readonly reason: string;
};

/** `told`: reported by a service without verdicts, which only knows whether there is an update. */
export type Finding =
  | { readonly kind: 'checked'; readonly status: Staleness }
  | { readonly kind: 'told'; readonly status: 'stale' | 'held' | 'nothing found' }
  | { readonly kind: 'unfinished'; readonly state: UnfinishedUpdate['state'] }
  | { readonly kind: 'unchecked' };

/** `reason` follows the container's name: `is stopped`. */
export type UnwatchedView = {
  readonly name: string;
  readonly image: string;
  readonly reason: string;
  /** Present with several engines. */
  readonly engine?: string;
};

export type PastRun = {
  /** RFC 3339. */
  readonly endedAt: string;
  /** Empty when it is not known. */
  readonly trigger: string;
  /** Who asked for it; empty if that is not known. */
  readonly by: string;
  readonly durationMs: number | undefined;
  readonly scanned: number;
  readonly updated: number;
  readonly failed: number;
  /** The containers that the run changed or failed to change. */
  readonly containers: readonly PastOutcome[];
  /** Engines without a run; empty with one engine. */
  readonly leftOut: readonly { readonly name: string; readonly result: string }[];
};

export type PastOutcome = {
  readonly name: string;
  /** Present with several engines. */
  readonly engine?: string;
  readonly outcome: OutcomeKind | (string & {});
  /** The verdict of its check; empty if it does not matter. */
  readonly verdict: string;
  readonly reason: string;
  readonly from?: string;
  readonly to?: string;
};

export type ConfigView = {
  readonly options: readonly Omit<ConfiguredOption, 'meaning'>[];
  /** A sentence that describes the watched containers; may be empty. */
  readonly watched: string;
};

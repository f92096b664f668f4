import type { Digest } from '../image/image-reference.ts';

/** A container of another engine that runs the same reference. */
export type ProvingContainer = {
  readonly name: string;
  /** Digests of its image for the reference. There are several if the engine knows an index and its manifest. */
  readonly digests: readonly Digest[];
  readonly isRunning: boolean;
  /** False while its HEALTHCHECK has not passed; true without one. */
  readonly isHealthy: boolean;
  /** The start time by its engine's clock; undefined where unknown. */
  readonly startedAtMs: number | undefined;
  /** The build time of its image; undefined where unknown. */
  readonly builtAtMs: number | undefined;
};

/** The facts of an engine about one reference. */
export type ProvingEngine = {
  readonly name: string;
  readonly isReachable: boolean;
  /** By the engine's own clock, at the time of the listing: clocks of engines may differ by hours. */
  readonly nowMs: number;
  /** Containers with the reference. For an unreachable engine: from its last listing; undefined without one. */
  readonly containers: readonly ProvingContainer[] | undefined;
  /** Digests of the reference that were rolled back there. */
  readonly failed: readonly Digest[];
};

export type WaveQuestion = {
  /** The digest that the registry has for the tag. */
  readonly newest: Digest;
  /** The newest version has a higher tag. Its name must not be given to another version. */
  readonly isOfHigherTag: boolean;
  /** Digests of the image that the container runs. */
  readonly current: readonly Digest[];
  /** The build time of that image; undefined where unknown. */
  readonly currentBuiltAtMs: number | undefined;
  /** The engines of each earlier wave, in order. */
  readonly earlier: readonly (readonly ProvingEngine[])[];
  /** The other engines of the same wave. */
  readonly beside: readonly ProvingEngine[];
  readonly pauseMs: number;
  /** By our clock, for the time of the release. */
  readonly nowMs: number;
  /** True if a person asked to retry failed versions. */
  readonly retryFailed: boolean;
};

/** The digest that the container may be updated to, possibly its present one, or why it waits and until when. */
export type WaveAnswer =
  | { readonly kind: 'may-run'; readonly digest: Digest }
  | { readonly kind: 'waits'; readonly reason: string; readonly eligibleAtMs?: number };

import type { Digest } from '../domain/digest.ts';

export type CheckReport = {
  /** In listing order. */
  readonly containers: readonly CheckedContainer[];
  readonly startedAtMs: number;
  readonly durationMs: number;
};

export type CheckedContainer = {
  readonly id: string;
  readonly name: string;
  /** The reference it was created from, as people write it. */
  readonly image: string;
  readonly imageId: string;
  /** The registry digest of its image; undefined for a local build. */
  readonly digest: Digest | undefined;
  readonly status: 'fresh' | 'stale' | 'pinned' | 'held' | 'local' | 'unknown';
  /** A sentence without a final period that names the why. */
  readonly reason: string;
  /** True also for `held`: there is something newer, it is just not applied. */
  readonly updateAvailable: boolean;
  readonly latestDigest: Digest | undefined;
  /** The newer image's id when the engine holds it already. */
  readonly latestImageId: string | undefined;
  /** Present when the check failed; then the status is `unknown`. */
  readonly error: string | undefined;
};

import type { ImageSummary } from '../container/container.ts';
import type { VersionKind } from '../image/tag-policy.ts';
import { digestOfRepository, type Digest, type ImageReference } from '../image/image-reference.ts';
import type { Cooldown } from '../run/session.ts';
import type { FailedVersion } from './failed-version.ts';
import type { Hold } from '../decision/decisions.ts';
import { digestsOf } from '../container/lookup.ts';
import type { RemoteImage, VerifiedImage } from '../outside/registry.ts';
import type { ServiceSettings } from '../settings/effective-settings.ts';

/**
 * `fresh`: it runs the newest version. `stale`: a newer version may be applied. `held`: a newer version exists, but a
 * setting, a decision or an earlier failure holds it back. `pinned`, `local`: there is nothing to check. `unknown`: the
 * check failed, which never counts as success.
 */
export const stalenesses = ['fresh', 'stale', 'pinned', 'held', 'local', 'unknown'] as const;

export type Staleness = (typeof stalenesses)[number];

export type Verdict = {
  readonly status: Staleness;
  /** A sentence without a final period that gives the reason. */
  readonly reason: string;
  /** The registry digest of the image that runs. */
  readonly digest: Digest | undefined;
  readonly latestDigest: Digest | undefined;
  /** An older digest that may be applied while the newest is too young. */
  readonly insteadDigest: Digest | undefined;
  /** The id of the newest image if the engine already has it. */
  readonly latestImageId: string | undefined;
  /** Error text; set with `unknown` and only then. */
  readonly error: string | undefined;
  /** End of the cooldown, milliseconds since the epoch. */
  readonly eligibleAtMs: number | undefined;
  /** The cooldown of the newest version, over or not. Undefined: it has none. */
  readonly cooldown: Cooldown | undefined;
  /** The failure of the newest version in this container. It need not hold the container back. */
  readonly failedVersion: FailedVersion | undefined;
  /** Present with `held` and `unknown`. */
  readonly hold?: Hold;
  /** The pause that the registry asked for, in milliseconds. */
  readonly retryAfterMs?: number;
  /** The newest image, if the registry has described it. */
  readonly newest?: RemoteImage;
  /** The image of `insteadDigest`. */
  readonly instead?: RemoteImage;
  /** With `stale`: the image that an update must run, because its signature was checked. Absent: no signature is needed. */
  readonly verified?: VerifiedImage;
  /**
   * With `stale` and `held`: the higher tag of the newer image. Absent: the newer image has the container's own tag.
   */
  readonly candidate?: TagOfCandidate;
  /** With `stale`: why a scheduled run would hold the version back, although this request does not. */
  readonly otherwise?: Pick<Verdict, 'reason' | 'hold' | 'eligibleAtMs'>;
  /**
   * Failures besides `failedVersion` that still count in this container, because they concern its own tag or a higher
   * one.
   */
  readonly otherFailures?: readonly FailedVersion[];
  /** The verdict is about the own tag, while a higher tag waits or is not known. */
  readonly hidesHigher?: true;
};

/** Another tag of the container's repository, and the kind of the step to it. */
export type TagOfCandidate = { readonly reference: ImageReference; readonly kind: VersionKind };

type CheckSettings =
  | 'monitorOnly'
  | 'noPull'
  | 'cooldownMs'
  | 'tagPolicy'
  | 'tagInclude'
  | 'tagExclude'
  | 'verifyWith'
  | 'verifyIdentities'
  | 'verifyAnnotations';

/** The container's image before any registry request. */
export type CheckSubject = {
  readonly imageId: string;
  readonly reference: ImageReference;
  /** Undefined: the engine no longer has the image, though the container runs it. */
  readonly image: ImageSummary | undefined;
  readonly effective: Pick<ServiceSettings, CheckSettings>;
  /** A label names the image's reference, for this container and its successor. */
  readonly isNamedByLabel?: boolean;
  /** Whether its image is from the repository of the reference, by a label or a journal. Absent: nothing says so. */
  readonly isFromRegistry?: boolean;
  /** New versions that failed in the container. */
  readonly failedVersions: readonly FailedVersion[];
  /** Whether they are tried again. */
  readonly retryFailed: boolean;
  /** Whether a version that is too young is reported as ready. */
  readonly ignoresCooldown?: boolean;
  /** Whether a version of a container that is only monitored is reported as ready. */
  readonly ignoresMonitorOnly?: boolean;
};

/** The reason of a container that is up to date, before any remark. */
export const freshReason = 'Runs the newest image of its tag';

/** A further sentence in the reason of an up-to-date container, as about higher versions; empty without it. */
export function remarkOf(reason: string): string {
  return reason.startsWith(`${freshReason}; `) ? reason.slice(freshReason.length + 2) : '';
}

/** A verdict without a newer version. */
export function verdict(
  status: Staleness,
  reason: string,
  { image, reference }: Pick<CheckSubject, 'image'> & Partial<CheckSubject>,
): Verdict {
  const digest = image === undefined ? undefined : registryDigest(image, reference);
  const newer = { latestDigest: undefined, insteadDigest: undefined, latestImageId: undefined };
  const unset = { error: undefined, eligibleAtMs: undefined, cooldown: undefined, failedVersion: undefined };
  return { status, reason, digest, ...newer, ...unset };
}

/** `unknown`: the registry did not answer, or the reference cannot be checked. */
export function unknownVerdict(
  reason: string,
  subject: Pick<CheckSubject, 'image'> & Partial<CheckSubject>,
  error = reason,
): Verdict {
  return { ...verdict('unknown', reason, subject), error, hold: 'other' };
}

/**
 * An image has a digest for each repository that it came from. The digest of the reference's own repository is
 * preferred.
 */
export function registryDigest(image: ImageSummary, reference?: ImageReference): Digest | undefined {
  const own = reference === undefined ? undefined : digestOfRepository(image.digests, reference)[0];
  return own ?? digestsOf(image)[0];
}

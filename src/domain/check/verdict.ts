import type { ImageSummary } from '../container/container.ts';
import type { VersionKind } from '../tags/tag-policy.ts';
import type { Digest } from '../reference/digest.ts';
import type { Cooldown } from '../run/session.ts';
import type { FailedVersion } from './failed-version.ts';
import type { Hold } from '../decision/hold-code.ts';
import { digestsOf } from '../container/image-index.ts';
import type { RemoteImage } from '../outside/registry.ts';
import { digestOfRepository, type ImageReference } from '../reference/image-reference.ts';
import type { ServiceSettings } from '../settings/settings.ts';

/**
 * `fresh`: runs the newest. `stale`: something newer is there and may be applied. `held`: the same,
 * but a wish or an earlier failure keeps it back. `pinned`, `local`: there is nothing to ask about.
 * `unknown`: it could not be told, which is never good news.
 */
export type Staleness = 'fresh' | 'stale' | 'pinned' | 'held' | 'local' | 'unknown';

export type Verdict = {
  readonly status: Staleness;
  /** A sentence without a final period that names the why. */
  readonly reason: string;
  /** The registry digest of the image that runs. */
  readonly digest: Digest | undefined;
  readonly latestDigest: Digest | undefined;
  /** Older digest that may be applied while the newest is too young. */
  readonly insteadDigest: Digest | undefined;
  /** The newest image's id where the engine holds it already. */
  readonly latestImageId: string | undefined;
  /** Error text; set with `unknown` and only then. */
  readonly error: string | undefined;
  /** End of the cooldown, milliseconds since the epoch. */
  readonly eligibleAtMs: number | undefined;
  /** Of the newest version, whether it is over or not; undefined: there is none. */
  readonly cooldown: Cooldown | undefined;
  /** Failure record of the newest version in this container; it need not hold the container back. */
  readonly failedVersion: FailedVersion | undefined;
  /** Present with `held` and `unknown`. */
  readonly hold?: Hold;
  /** How long the registry wants to be left alone, milliseconds. */
  readonly retryAfterMs?: number;
  /** The newest image where the registry described it. */
  readonly newest?: RemoteImage;
  /** With `stale` and `held`: the higher tag that the newer image has. Absent: the newer image has the container's own tag. */
  readonly candidate?: TagOfCandidate;
  /** With `stale`: why a run by the schedule would hold it back all the same, because the question left that aside. */
  readonly otherwise?: Pick<Verdict, 'reason' | 'hold' | 'eligibleAtMs'>;
  /** Failures besides `failedVersion` that still count in this container, because they are of its own tag or of a higher one. */
  readonly otherFailures?: readonly FailedVersion[];
};

/** Another tag of the container's repository, and how far it goes beyond the container's own. */
export type TagOfCandidate = { readonly reference: ImageReference; readonly kind: VersionKind };

type CheckSettings = 'monitorOnly' | 'noPull' | 'cooldownMs' | 'tagPolicy' | 'tagInclude' | 'tagExclude' | 'verifyWith';

/** The container's image before any registry request. */
export type Subject = {
  readonly imageId: string;
  readonly reference: ImageReference;
  /** Undefined: gone from the engine, though the container still runs it. */
  readonly image: ImageSummary | undefined;
  readonly inForce: Pick<ServiceSettings, CheckSettings>;
  /** A label says which image it is made of, and says so of its successor too. */
  readonly isNamedByLabel?: boolean;
  /** New versions that failed in the container. */
  readonly failedVersions: readonly FailedVersion[];
  /** Whether they are tried again. */
  readonly retryFailed: boolean;
  /** Whether a version is reported as ready though it is too young. */
  readonly ignoresCooldown?: boolean;
};

/** A verdict that names nothing newer. */
export function verdict(
  status: Staleness,
  reason: string,
  { image, reference }: Pick<Subject, 'image'> & Partial<Subject>,
): Verdict {
  const digest = image === undefined ? undefined : registryDigest(image, reference);
  const newer = { latestDigest: undefined, insteadDigest: undefined, latestImageId: undefined };
  const unset = { error: undefined, eligibleAtMs: undefined, cooldown: undefined, failedVersion: undefined };
  return { status, reason, digest, ...newer, ...unset };
}

/** `unknown`: the registry did not answer, or the reference cannot be checked. */
export function undecided(reason: string, subject: Pick<Subject, 'image'> & Partial<Subject>, error = reason): Verdict {
  return { ...verdict('unknown', reason, subject), error, hold: 'other' };
}

/** An image has a digest for each repository it came from; the reference's own comes first. */
export function registryDigest(image: ImageSummary, reference?: ImageReference): Digest | undefined {
  const own = reference === undefined ? undefined : digestOfRepository(image.digests, reference)[0];
  return own ?? digestsOf(image)[0];
}

import type { Hold, ApprovalFrom, CandidateKind } from '../../domain/decision/decisions.ts';
import type { WindowSetting } from '../../domain/settings/values/versions.ts';
import type { VerifiedImage } from '../../domain/outside/registry.ts';
import { familiarReference, type Digest } from '../../domain/image/image-reference.ts';
import type { Cooldown, EntryKind } from '../../domain/run/session.ts';
import type { FailedVersion } from '../../domain/check/failed-version.ts';
import type { Staleness } from '../../domain/check/verdict.ts';
import type { ReadReference } from './select/container-references.ts';
import type { ImageVersions } from '../../domain/image/image-labels.ts';

export type CheckedContainer = ImageVersions & {
  readonly id: string;
  readonly name: string;
  /** Present with several engines. */
  readonly engine?: string;
  /** The reference that it was created from, in its short form. */
  readonly image: string;
  /** The reference that it was created from, verbatim. */
  readonly reference: string;
  /** The reference that its successor is created from: the same, or with the tag of a candidate. */
  readonly successorReference: string;
  readonly imageId: string;
  /** The registry digest of its image; undefined for a local build. */
  readonly digest: Digest | undefined;
  readonly status: Staleness;
  /** A sentence without a final period that gives the reason. */
  readonly reason: string;
  /** Also true for `held`: a newer version exists but is not applied. */
  readonly updateAvailable: boolean;
  readonly latestDigest: Digest | undefined;
  /** The id of the newer image if the engine already has it. */
  readonly latestImageId: string | undefined;
  /**
   * With `stale` and `held`: the name of the newer image in short form. For `digest` it is the container's own
   * reference.
   */
  readonly candidate?: string;
  /** The difference from the container's own tag. `digest` means the same tag with other content. */
  readonly candidateKind?: CandidateKind;
  /** Digest that an update pulls; undefined when it pulls nothing (`no-pull` uses the engine's image). */
  readonly pullDigest: Digest | undefined;
  /** The image that an update must run, because its signature was checked. Absent: no signature is needed. */
  readonly verified?: VerifiedImage;
  /** End of the cooldown, milliseconds since the epoch; undefined without a cooldown. */
  readonly eligibleAtMs: number | undefined;
  /** The cooldown of the newest version, over or not. Undefined: it has none. */
  readonly cooldown?: Cooldown;
  /** Present when the check failed; then the status is `unknown`. */
  readonly error: string | undefined;
  /** A failure of the newest version in this container, also when the version is to be tried again. */
  readonly failedVersion: FailedVersion | undefined;
  /** Failures of other newer versions that still count. */
  readonly otherFailures?: readonly FailedVersion[];
  /** The verdict is about the own tag, while a higher tag waits or is not known. */
  readonly hidesHigher?: true;
  /** The kind of reason of `held` and `unknown`. */
  readonly hold?: Hold | undefined;
  /** When the registry may be asked again, milliseconds since the epoch; absent if the registry gave no time. */
  readonly retryAtMs?: number;
  /** Its label makes it the canary. */
  readonly isCanary?: true;
  /** Present if services of a swarm are watched. */
  readonly kind?: EntryKind;
  /** Present if a person may decide about the newer version, or a window holds it back. */
  readonly unrestrained?: UnheldVerdict;
};

/** The reference of a container, as people write it. */
export function imageIn(read: ReadReference | undefined, listed: string): string {
  return read?.kind === 'known' ? familiarReference(read.reference) : (read?.text ?? listed);
}

/**
 * Rules that can hold a newer version back after the verdict. `window` is undefined when a person has asked for the
 * update now.
 */
export type HoldSettings = { readonly approval: ApprovalFrom; readonly window: WindowSetting | undefined };

/** The verdict on the newer version without these rules, so that it can be judged again. */
export type UnheldVerdict = HoldSettings & Pick<CheckedContainer, 'status' | 'reason' | 'hold' | 'eligibleAtMs'>;

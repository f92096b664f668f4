import type { ImageSummary } from '../container/container.ts';
import type { VersionKind } from '../image/version-tag.ts';
import {
  digestOfRepository,
  parseDigest,
  shortDigest,
  familiarReference,
  repositoryName,
  type Digest,
  type ImageReference,
} from '../image/image-reference.ts';
import type { Cooldown } from '../run/session.ts';
import { userTags, type FailedVersion, type ageOf, type Sighting } from './known-versions.ts';
import type { Hold } from '../decision/decisions.ts';
import { digestsOf, type ImageIndex } from '../container/lookup.ts';
import type { RemoteImage, VerifiedImage } from '../outside/registry.ts';
import type { ServiceSettings } from '../settings/effective-settings.ts';
import { runsOn, formatPlatform, type Platform } from '../image/platform.ts';
import { formatDuration, printTime } from '../text/duration.ts';
import { quoted } from '../text/printable.ts';
import { describeWithRemedy, ServiceError, type ErrorCode } from '../text/errors.ts';
import { sentence, words } from '../text/words.ts';

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
   * With `stale` and `held`: the higher tag of the newer image, and the kind of the step to it. Absent: it has the
   * container's own tag.
   */
  readonly candidate?: { readonly reference: ImageReference; readonly kind: VersionKind };
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

/** The container's image before any registry request. */
export type CheckSubject = {
  readonly imageId: string;
  /** The platform that the container runs of its image. Absent: it is that of the engine or of the image. */
  readonly platform?: Platform;
  readonly reference: ImageReference;
  /** Undefined: the engine no longer has the image, though the container runs it. */
  readonly image: ImageSummary | undefined;
  readonly effective: Pick<
    ServiceSettings,
    | 'monitorOnly'
    | 'noPull'
    | 'cooldownMs'
    | 'tagPolicy'
    | 'tagInclude'
    | 'tagExclude'
    | 'verifyWith'
    | 'verifyIdentities'
    | 'verifyAnnotations'
  >;
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

/** The verdict without a registry. Undefined if the tag's digest must be requested from the registry. */
export function judgeWithoutRegistry(subject: CheckSubject, images: ImageIndex): Verdict | undefined {
  const { digest } = subject.reference;
  if (digest !== undefined) return verdict('pinned', `Pinned to the digest ${shortDigest(digest)}`, subject);
  if (subject.effective.noPull) return judgeByLocalTag(subject, images);
  if (subject.isFromRegistry === false) return verdict('local', 'Built here, as its label from-registry says', subject);
  const isLocal = subject.isFromRegistry !== true && isBuiltLocally(subject, images);
  return isLocal ? verdict('local', 'Built locally: no registry has it', subject) : undefined;
}

/** The verdict from the tag's digest. Undefined if the content must be read too. */
export function judgeDigest(subject: CheckSubject, latestDigest: Digest): Verdict | undefined {
  return isRunning(subject, [latestDigest]) ? fresh(subject, latestDigest) : undefined;
}

/** Content of the tag in the registry for the container's platform. */
export type Content = {
  readonly latest: RemoteImage;
  /** The same for the running image, if it was needed (`ownDigest`) and answered. */
  readonly own: RemoteImage | undefined;
  readonly platform: Platform;
  readonly nowMs: number;
  /** Of `latest`. */
  readonly age: ReturnType<typeof ageOf>;
  /** `latest` has a higher tag than the container; `reference` of the subject names it. */
  readonly isOfHigherTag?: boolean;
};

/**
 * The verdict on a digest that the engine does not have. Only the image for the container's platform counts: an index
 * that was pushed again for other platforms is no update.
 */
export function judgeContent(subject: CheckSubject, content: Content, images: ImageIndex): Verdict {
  const { latest, own, platform } = content;
  if ((own !== undefined && haveSameImages(own, latest)) || isRunning(subject, digestsWithin(latest)))
    return fresh(subject, latest.digest);
  if (latest.platform === undefined) return unknownVerdict('The image of the tag does not name its platform', subject);
  if (!runsOn(latest.platform, platform)) {
    const made = quoted(formatPlatform(latest.platform));
    return unknownVerdict(`The image of the tag is made for ${made}, not for ${formatPlatform(platform)}`, subject);
  }
  const names = [latest.digest, ...digestsWithin(latest)];
  // Images for other platforms have the same index digest, but another id.
  const [present] = (latest.alternatives === undefined ? names : [latest.digest]).flatMap(
    (one) => images.byId(one) ?? [],
  );
  const failedVersion = failureOf(subject, names);
  return {
    ...judgeNewer(subject, content, failedVersion),
    latestDigest: latest.digest,
    latestImageId: present?.id,
    failedVersion,
    newest: latest,
  };
}

/** The digests of the image for the platform, and of those that an engine may choose instead. */
function digestsWithin({ manifestDigest, configDigest, alternatives = [] }: RemoteImage): readonly Digest[] {
  return [
    manifestDigest,
    configDigest,
    ...alternatives.flatMap((one) => [one.manifestDigest, one.configDigest ?? []].flat()),
  ];
}

/** Whether an engine finds the same images for its platform. */
function haveSameImages(one: RemoteImage, other: RemoteImage): boolean {
  if (one.alternatives === undefined && other.alternatives === undefined)
    return one.configDigest === other.configDigest;
  const manifestsOf = ({ manifestDigest, alternatives = [] }: RemoteImage) =>
    [manifestDigest, ...alternatives.map((each) => each.manifestDigest)].toSorted().join();
  return manifestsOf(one) === manifestsOf(other);
}

/**
 * The digest for the registry request about the running image. Undefined if its id is enough. In Docker's containerd
 * image store the id is the digest of the index. After a tag has moved, neither that store nor Podman keeps the old
 * image's digests.
 */
export function ownDigest({ imageId, image }: CheckSubject): Digest | undefined {
  const id = parseDigest(imageId);
  const known = image === undefined ? [] : digestsOf(image);
  return id !== undefined && (known.length === 0 || known.includes(id)) ? id : undefined;
}

/**
 * The digests of an image that may not be from the repository of its name. Empty if that is proven, or nothing speaks
 * against it. In Docker's containerd image store every name of an image has a digest, the image's id, also that of an
 * image that was built or loaded here, so that it proves nothing. After a pull of the name, the name is that of another
 * image.
 */
export function strangeDigests(subject: CheckSubject, images: ImageIndex): readonly Digest[] {
  const { imageId, image, reference, isFromRegistry } = subject;
  if (image === undefined || isFromRegistry === true) return [];
  const own = digestOfRepository(image.digests, reference);
  if (own.some((digest) => digest !== imageId)) return [];
  const isOfOther = image.digests.length > own.length;
  return isOfOther || (own.length > 0 && images.byTag(reference)?.id === imageId) ? digestsOf(image) : [];
}

/** The verdict on an image that may not be from the repository of its name, and whose digest the registry does not know. */
export function judgeStranger(subject: CheckSubject): Verdict {
  const { reference, image } = subject;
  const own = digestOfRepository(image?.digests ?? [], reference);
  const other = image?.digests.find((text) => !own.some((digest) => text === `${repositoryName(reference)}@${digest}`));
  const name = quoted(familiarReference(reference));
  if (other === undefined)
    return verdict(
      'local',
      `The registry of ${name} does not have its image, which was built or loaded here, or removed there. If it is from there, "docker pull" of that name or the label upkeep.from-registry=true makes it updatable`,
      subject,
    );
  const from = quoted(other.replace(/@.*$/, ''), 300);
  return verdict(
    'local',
    `Its image is from ${from} and only tagged ${name}: the registry of that name does not have it`,
    subject,
  );
}

function judgeByLocalTag(subject: CheckSubject, images: ImageIndex): Verdict {
  const name = quoted(familiarReference(subject.reference));
  const tagged = images.byTag(subject.reference);
  if (tagged === undefined) {
    return {
      ...unknownVerdict(`No image in the engine is tagged ${name}, and no-pull is on`, subject),
      hold: 'no-pull',
    };
  }
  const latest = { latestImageId: tagged.id, latestDigest: registryDigest(tagged, subject.reference) };
  if (tagged.id === subject.imageId) {
    return { ...verdict('fresh', `Runs the engine’s image of ${name}; no-pull is on`, subject), ...latest };
  }
  const newer = `The tag ${name} points at another image in the engine now`;
  const failedVersion = failureOf(subject, [tagged.id]);
  return { ...judgeBySettings(subject, newer, failedVersion), ...latest, failedVersion };
}

/** The last failure of the image with one of these digests. Every image store uses one of them as the image's id. */
function failureOf({ failedVersions }: CheckSubject, names: readonly string[]): FailedVersion | undefined {
  return failedVersions
    .filter(({ imageId }) => names.includes(imageId))
    .toSorted((one, other) => other.atMs - one.atMs)[0];
}

/** The verdict on a newer version by the settings and an earlier failure, without a cooldown: `stale` or `held`. */
function judgeBySettings(
  subject: CheckSubject,
  newer: string,
  failed: FailedVersion | undefined,
  until = 'a newer image is published',
): Verdict {
  const monitored = `${newer}; monitored only`;
  if (subject.effective.monitorOnly && !subject.ignoresMonitorOnly) return held(monitored, 'monitor-only', subject);
  const ready = verdict('stale', newer, subject);
  const stale: Verdict = subject.effective.monitorOnly
    ? { ...ready, otherwise: { reason: monitored, hold: 'monitor-only', eligibleAtMs: undefined } }
    : ready;
  if (failed === undefined) return stale;
  const [why, hold] =
    failed.askedBy === undefined
      ? ([`failed here on ${printTime(failed.atMs)} and was rolled back: Upkeep will not retry it`, 'failed'] as const)
      : ([
          `${requesterOf(failed.askedBy)} went back from it on ${printTime(failed.atMs)}: Upkeep will not apply it`,
          'went-back',
        ] as const);
  const reason = `${newer}, but ${why} until ${until}; --retry-failed retries it now`;
  if (!subject.retryFailed) return held(reason, hold, subject);
  return stale.otherwise === undefined ? { ...stale, otherwise: { reason, hold, eligibleAtMs: undefined } } : stale;
}

function requesterOf(askedBy: string): string {
  if (askedBy === 'command') return 'a person on the command line';
  return askedBy === 'http' ? 'a person on the page or over the API' : quoted(askedBy);
}

function held(reason: string, hold: Hold, subject: CheckSubject): Verdict {
  return { ...verdict('held', reason, subject), hold };
}

/**
 * A pulled image has a digest. Some stores drop it when its tag has moved to a newer image, and then that image has
 * digests.
 */
function isBuiltLocally({ image, reference }: CheckSubject, images: ImageIndex): boolean {
  if (image === undefined) return false;
  // Podman puts `localhost/` before each name that the user chose, also before that of a pulled image (`podman tag`).
  if (reference.registry === 'localhost' && digestOfRepository(image.digests, reference).length === 0) return true;
  if (image.digests.length > 0) return false;
  const tagged = images.byTag(reference);
  return userTags(image).length > 0 || (tagged !== undefined && tagged.digests.length === 0);
}

/** Whether the container's image has one of the digests. */
function isRunning({ imageId, image }: CheckSubject, digests: readonly Digest[]): boolean {
  const own: readonly string[] = [imageId, ...(image === undefined ? [] : digestsOf(image))];
  return digests.some((digest) => own.includes(digest));
}

function fresh(subject: CheckSubject, latestDigest: Digest): Verdict {
  const known = verdict('fresh', freshReason, subject);
  const isOwn = subject.image !== undefined && digestsOf(subject.image).includes(latestDigest);
  return { ...known, digest: isOwn ? latestDigest : known.digest, latestDigest, latestImageId: subject.imageId };
}

function judgeNewer(
  subject: CheckSubject,
  { latest, nowMs, age, isOfHigherTag = false }: Content,
  failed: FailedVersion | undefined,
): Verdict {
  const { cooldownMs } = subject.effective;
  const name = quoted(familiarReference(subject.reference));
  const newer = isOfHigherTag ? `The higher tag ${name} is available` : `A newer image of ${name} is available`;
  const stale = judgeBySettings(subject, newer, failed, isOfHigherTag ? 'there is another higher tag' : undefined);
  if (stale.status === 'held') return stale;
  if (cooldownMs === 0) return stale;
  const cooldown = { ageMs: age.ms, delayMs: cooldownMs };
  if (age.ms >= cooldownMs) return subject.ignoresCooldown ? stale : { ...stale, cooldown };
  const eligibleAtMs = nowMs + cooldownMs - age.ms;
  const unit = age.ms < 60_000 ? 1000 : 60_000;
  const undated = latest.createdAtMs === undefined ? ', without a build time' : '';
  const why = `${age.since} ${formatDuration(age.ms - (age.ms % unit))} ago${undated}, and the cooldown is ${formatDuration(cooldownMs)}`;
  const reason = `${newer}, but too young: ${why}: not before ${printTime(eligibleAtMs)}`;
  if (subject.ignoresCooldown)
    return stale.otherwise === undefined ? { ...stale, otherwise: { reason, hold: 'cooldown', eligibleAtMs } } : stale;
  return { ...held(reason, 'cooldown', subject), eligibleAtMs, cooldown };
}

/**
 * The verdict with an earlier digest of the tag. Undefined if that digest may not be applied or is not newer than the
 * running one, as their order in the tag says, or else their build times. A digest that failed before ends the search
 * and is not tried again.
 */
export function judgeOlderDigest(
  subject: CheckSubject,
  young: Verdict,
  earlier: Content,
  images: ImageIndex,
  order: 'known' | { readonly ownCreatedAtMs: number | undefined },
): Verdict | undefined {
  const { status, failedVersion, cooldown } = judgeContent(subject, earlier, images);
  if (status === 'held' && failedVersion !== undefined) return { ...young, failedVersion };
  if (status !== 'stale' || !isNewer(earlier.latest, order)) return undefined;
  const name = quoted(familiarReference(subject.reference));
  const reason = `The newest image of ${name} is too young for the cooldown, and the tag keeps moving: ${shortDigest(earlier.latest.digest)} is old enough`;
  const { latest: instead } = earlier;
  const chosen = { insteadDigest: instead.digest, instead, eligibleAtMs: undefined, cooldown, failedVersion };
  const { hold: _, ...rest } = young;
  return { ...rest, status: 'stale', reason, ...chosen };
}

/** Earlier dates come from reproducible builds and carry no information. */
const firstRealDateMs = Date.UTC(1980, 0, 2);

function isNewer({ createdAtMs }: RemoteImage, order: Parameters<typeof judgeOlderDigest>[4]): boolean {
  if (order === 'known') return true;
  const { ownCreatedAtMs = 0 } = order;
  return createdAtMs !== undefined && ownCreatedAtMs >= firstRealDateMs && createdAtMs > ownCreatedAtMs;
}

/** Sightings of the tag after the running digest; undefined if the running digest was never seen. */
export function seenSince(subject: CheckSubject, seen: readonly Sighting[]): readonly Sighting[] | undefined {
  const own = seen.findLastIndex(({ digest }) => isRunning(subject, [digest]));
  return own === -1 ? undefined : seen.slice(own + 1);
}

/**
 * The verdict on a failed request. `platform` is given if the request was for a platform's content. Its reason and its
 * error begin with the word of the hold.
 */
export function judgeFailure(
  subject: Pick<CheckSubject, 'image'> & Partial<CheckSubject>,
  error: unknown,
  platform?: Platform,
): Verdict {
  const known = error instanceof ServiceError ? error : undefined;
  const failure = known && failures[known.code];
  const { hold = 'other', why = 'The check failed' } = failure ?? {};
  const isForPlatform = known?.code === 'registry-not-found' && platform !== undefined;
  const reason = isForPlatform ? `The registry has no such image for ${formatPlatform(platform)}` : why;
  const told = hold === 'other' ? '' : `${sentence(words.hold[hold])}. `;
  const retryAfterMs = known?.retryAfterMs;
  const wait = retryAfterMs === undefined ? '' : `; it asks to wait ${formatDuration(retryAfterMs)}`;
  return {
    ...unknownVerdict(reason + wait, subject, told + describeWithRemedy(error)),
    hold,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  };
}

const failures: Partial<Record<ErrorCode, { readonly hold?: Hold; readonly why: string }>> = {
  'registry-denied': {
    hold: 'unauthorised',
    why: 'The registry refuses access: the credentials are missing, wrong or expired, or there is no such image',
  },
  'registry-not-found': { hold: 'not-found', why: 'The registry has no such image or tag' },
  'registry-rate-limited': { hold: 'rate-limited', why: 'The registry limits requests' },
  'registry-unreachable': { hold: 'unreachable', why: 'The registry cannot be reached' },
  'registry-invalid': { why: 'The registry sent an invalid answer' },
  timeout: { hold: 'unreachable', why: 'The registry cannot be reached: it did not answer in time' },
};

import { isDigest, type Digest } from '../image/image-reference.ts';
import { putNewest, fnv64 } from '../text/plain-data.ts';
import { isJsonObject, isWholeNumber } from '../text/json.ts';
import type { ContainerSummary, ImageSummary } from '../container/container.ts';
import { isTransactionMarkTag, markRepository, parseTransactionName } from '../transaction/transaction-names.ts';

/** The first time that a digest was seen behind a tag, by the monotonic clock, which cannot be set. */
export type Sighting = {
  readonly digest: Digest;
  readonly atMs: number;
  /** Another digest, or no such tag, was seen before, so this one is not older than its sighting. */
  readonly sawItCome: boolean;
};

/** Both clocks at one moment. */
export type Now = { readonly nowMs: number; readonly monotonicMs: number };

/**
 * The age of a version, and the event from which it is counted: the later of build time and first sighting. A missing or
 * future build time is ignored.
 */
export function ageOf(
  { atMs, sawItCome }: Sighting,
  createdAtMs: number | undefined,
  { nowMs, monotonicMs }: Now,
): { readonly ms: number; readonly since: 'built' | 'first seen' } {
  const seenForMs = monotonicMs - atMs;
  const isDated = createdAtMs !== undefined && createdAtMs <= nowMs;
  if (sawItCome || !isDated || nowMs - createdAtMs < seenForMs) return { ms: seenForMs, since: 'first seen' };
  return { ms: nowMs - createdAtMs, since: 'built' };
}

/**
 * The tag's sightings with one more, oldest first; the last is the current one. If the tag moves back, the sightings in
 * between are dropped as withdrawn. Sightings too old for a cooldown of `maxMs` are dropped.
 */
export function withSighting(
  seen: readonly Sighting[],
  digest: Digest,
  { monotonicMs, maxMs, isNew = false }: SightingTimes,
): readonly Sighting[] {
  const known = seen.findIndex((sighting) => sighting.digest === digest);
  if (known !== -1) return withoutExpired(seen.slice(0, known + 1), monotonicMs - 2 * maxMs);
  const all = [...seen, { digest, atMs: monotonicMs, sawItCome: seen.length > 0 || isNew }];
  return thinned(withoutExpired(all, monotonicMs - 2 * maxMs));
}

/** `isNew`: the tag was missing in the last check. */
type SightingTimes = { readonly monotonicMs: number; readonly maxMs: number; readonly isNew?: boolean };

/**
 * Digests that may be applied while the newest of the tag is too young, the youngest first. They count only if the tag
 * has moved throughout twice the cooldown, and each must be older than the cooldown. `newer` are the sightings after
 * the running digest.
 */
export function eligibleOlderDigests(
  newer: readonly Sighting[],
  cooldownMs: number,
  monotonicMs: number,
): readonly Sighting[] {
  const isSeenFor = (ms: number) => (sighting: Sighting) => monotonicMs - sighting.atMs >= ms;
  if (!newer.slice(0, 1).some(isSeenFor(2 * cooldownMs))) return [];
  return newer.slice(0, -1).filter(isSeenFor(cooldownMs)).toReversed();
}

/** Drops all sightings before a time except the last of them. */
function withoutExpired(seen: readonly Sighting[], untilMs: number): readonly Sighting[] {
  const last = seen.findLastIndex(({ atMs }) => atMs <= untilMs);
  return last <= 0 ? seen : seen.slice(last);
}

const maxSightings = 64;

/** Drops the sighting with the closest neighbours in time, so that sightings of every age remain. */
function thinned(seen: readonly Sighting[]): readonly Sighting[] {
  if (seen.length <= maxSightings) return seen;
  const gapAt = (place: number) => (seen[place + 1]?.atMs ?? 0) - (seen[place - 1]?.atMs ?? 0);
  let least = 1;
  for (let place = 2; place < seen.length - 1; place += 1) if (gapAt(place) < gapAt(least)) least = place;
  return seen.toSpliced(least, 1);
}

/**
 * The digests seen behind a tag, in their stored form. Times are of the wall clock, in milliseconds since the epoch.
 */
export type SeenTag = {
  readonly reference: string;
  /** The longest cooldown, in milliseconds, for which the tag was read. */
  readonly maxMs: number;
  /** Oldest first; the last is the current one. */
  readonly seen: readonly Sighting[];
};

/**
 * The form for the file. Undefined while the wall clock is plainly wrong, as on a machine without a hardware clock
 * before its first synchronisation.
 */
export function toWallClock(tag: SeenTag, { nowMs, monotonicMs }: Now): SeenTag | undefined {
  if (nowMs < earliestMs) return undefined;
  return withTimes(tag, (atMs) => Math.max(earliestMs, Math.round(nowMs - (monotonicMs - atMs))));
}

/** The form in memory. A sighting in the future was noted with a wrong clock, so it counts from now, as all do if `nowMs` is 0. */
export function toMonotonicClock(tag: SeenTag, { nowMs, monotonicMs }: Now): SeenTag {
  return withTimes(tag, (atMs) => monotonicMs - Math.max(0, nowMs - atMs));
}

function withTimes(tag: SeenTag, change: (atMs: number) => number): SeenTag {
  return { ...tag, seen: tag.seen.map((sighting) => ({ ...sighting, atMs: change(sighting.atMs) })) };
}

/** No sighting is older than this program. */
const earliestMs = Date.UTC(2025, 0, 1);

/** Reads a record of the file. Undefined for any other value. */
export function readSeenTag(value: unknown): SeenTag | undefined {
  if (!isJsonObject(value)) return undefined;
  const { reference, maxMs, seen } = value;
  if (typeof reference !== 'string' || reference === '' || reference.length > maxReferenceLength) return undefined;
  if (!isWholeNumber(maxMs) || !Array.isArray(seen) || seen.length === 0 || seen.length > maxSeen) return undefined;
  const sightings = seen.flatMap((each) => readSighting(each) ?? []);
  return sightings.length === seen.length ? { reference, maxMs, seen: sightings } : undefined;
}

function readSighting(value: unknown): Sighting | undefined {
  if (!isJsonObject(value)) return undefined;
  const { digest, atMs, sawItCome } = value;
  if (typeof digest !== 'string' || !isDigest(digest)) return undefined;
  if (!isWholeNumber(atMs) || atMs < earliestMs || typeof sawItCome !== 'boolean') return undefined;
  return { digest, atMs, sawItCome };
}

const maxReferenceLength = 1000;

const maxSeen = 100;

/** The last record of each tag, for the 10,000 tags that have moved last, oldest first. */
export function compactSeenTags(records: readonly SeenTag[]): readonly SeenTag[] {
  const tags = new Map<string, SeenTag>();
  for (const record of records) putNewest(tags, record.reference, record, maxSeenTags);
  return [...tags.values()];
}

/** More tags than an engine's containers use. */
export const maxSeenTags = 10_000;

/**
 * A new version that failed in a container by its own fault, and is not retried there. A tag on the image that the
 * container was rolled back to stores it: the tag costs nothing, outlives every restart, and a person can see and
 * remove it.
 */
export type FailedVersion = {
  /** `repository:tag` as the engine prints it. */
  readonly tag: string;
  /** The id of the image that failed. */
  readonly imageId: string;
  /** Identifies the container by its name. */
  readonly nameKey: string;
  /** When it failed, milliseconds since the epoch, in whole seconds. */
  readonly atMs: number;
  /** It did not fail: a person went back from it. The way of the request, such as `command`. */
  readonly askedBy?: string;
};

/**
 * The tag that stores a failure, or with `askedBy` the wish of a person. Undefined for an image whose id does not fit
 * into a tag.
 */
export function failedVersionTag(name: string, imageId: string, atMs: number, askedBy?: string): string | undefined {
  const digits = /^sha256:([0-9a-f]{64})$/.exec(imageId)?.[1];
  const time = new Date(atMs);
  if (digits === undefined || Number.isNaN(time.getTime())) return undefined;
  const stamp = time
    .toISOString()
    .replaceAll(/[-:]|\.\d+/g, '')
    .slice(-16);
  // A tag has at most 128 characters: https://github.com/opencontainers/distribution-spec/blob/main/spec.md#pull
  const by = askedBy === undefined ? '' : `-by-${askedBy.replaceAll(/[^A-Za-z0-9_.]/g, '_').slice(0, 24)}`;
  return `${repository}:${digits}-${fnv64(name)}-${stamp}${by}`;
}

/** Failed versions that the engine's tags store. */
export function failedVersionsOf(images: readonly Pick<ImageSummary, 'tags'>[]): readonly FailedVersion[] {
  return images.flatMap(({ tags }) => tags.flatMap((tag) => parseTag(tag) ?? []));
}

/** Failed versions of the container with that name. */
export function failedVersionsIn(versions: readonly FailedVersion[], name: string): readonly FailedVersion[] {
  if (versions.length === 0) return versions;
  const key = fnv64(name);
  return versions.filter((version) => version.nameKey === key);
}

type Judged = {
  readonly name: string;
  readonly status: string;
  readonly failedVersion: FailedVersion | undefined;
  readonly otherFailures?: readonly FailedVersion[];
};

/**
 * Failed versions without effect: the tag of a checked container has moved, or no container has the name. A container
 * without a successful check keeps its failed versions.
 */
export function obsoleteFailures(
  versions: readonly FailedVersion[],
  containers: readonly Pick<ContainerSummary, 'name'>[],
  judged: readonly Judged[],
): readonly FailedVersion[] {
  if (versions.length === 0) return versions;
  const verdicts = new Map(judged.map((one) => [fnv64(one.name), one]));
  const present = new Set(containers.map(({ name }) => fnv64(parseTransactionName(name)?.name ?? name)));
  return versions.filter((version) => {
    const verdict = verdicts.get(version.nameKey);
    if (verdict === undefined) return !present.has(version.nameKey);
    const counted = [verdict.failedVersion, ...(verdict.otherFailures ?? [])];
    return verdict.status !== 'unknown' && !counted.some((one) => one?.tag === version.tag);
  });
}

/** An image's tags without Upkeep's own. */
export function userTags({ tags }: Pick<ImageSummary, 'tags'>): readonly string[] {
  return tags.some(isOwnTag) ? tags.filter((tag) => !isOwnTag(tag)) : tags;
}

function isOwnTag(tag: string): boolean {
  return isFailedVersionTag(tag) || isTransactionMarkTag(tag);
}

/**
 * Tags and digests that keep an image, besides `tag`. The digest of Upkeep's own tag does not count: some stores give
 * every repository one.
 */
export function otherNames({ tags, digests }: Pick<ImageSummary, 'tags' | 'digests'>, tag: string): readonly string[] {
  const isOurs = (digest: string) => ownRepositories.includes(digest.split('@')[0]?.split('/').at(-1) ?? '');
  return [...tags.filter((other) => other !== tag), ...digests.filter((digest) => !isOurs(digest))];
}

/** Whether a tag only stores a failure. */
export function isFailedVersionTag(tag: string): boolean {
  return parseTag(tag) !== undefined;
}

const repository = 'upkeep-quarantine';
const ownRepositories: readonly string[] = [repository, markRepository];

/** Engines print the repository with its default host. */
const grammar =
  /^(?:docker\.io\/library\/|localhost\/)?upkeep-quarantine:(?<image>[0-9a-f]{64})-(?<key>[0-9a-f]{16})-(?<time>\d{8}T\d{6}Z)(?:-by-(?<by>[A-Za-z0-9_.]{1,24}))?$/;

function parseTag(tag: string): FailedVersion | undefined {
  if (!tag.includes(repository)) return undefined;
  const { image, key, time, by } = grammar.exec(tag)?.groups ?? {};
  if (image === undefined || key === undefined || time === undefined) return undefined;
  const atMs = Date.parse(time.replace(/^(....)(..)(..)T(..)(..)(..)Z$/, '$1-$2-$3T$4:$5:$6Z'));
  if (Number.isNaN(atMs)) return undefined;
  return { tag, imageId: `sha256:${image}`, nameKey: key, atMs, ...(by !== undefined && { askedBy: by }) };
}

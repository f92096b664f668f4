import type { ContainerSummary, ImageSummary } from '../container/container.ts';
import { fnv64 } from '../text/plain-data.ts';
import { isTransactionMarkTag, markRepository, parseTransactionName } from '../transaction/transaction-names.ts';

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

import { shortId } from '../container/container.ts';
import { tryParseImageReference } from '../image/image-reference.ts';
import { releasePageOf } from '../image/image-source.ts';
import type { TrackedContainer } from '../inventory/inventory.ts';
import { pictureOf } from './pictures.ts';

/** One container in a home automation. Texts have any length. Equal versions mean that it is up to date. */
export type ContainerEntity = {
  /** Stays the same over updates, so it is never the id. A service named like a container is `web service`. */
  readonly name: string;
  /** The name of the software, such as `nginx`. */
  readonly title: string;
  /** `1.27.3`. Undefined: unknown. */
  readonly installedVersion: string | undefined;
  readonly latestVersion: string | undefined;
  /** Whether a newer version is known. Undefined before the first check. */
  readonly isOutdated: boolean | undefined;
  /** The release page of the newer image, or its source. */
  readonly releaseUrl?: string;
  readonly pictureUrl?: string;
  /** Why its newer version waits, or why the last request to update it did nothing. Empty: nothing to tell. */
  readonly summary: string;
  readonly isUpdating: boolean;
  /** From 0 to 100. Absent: not known. */
  readonly percent?: number;
  /** Why no button may update it: a clause. Absent: a button may. */
  readonly notInstallable?: string;
  /** Further plain data: image, digest, state, reason, project. */
  readonly attributes: Readonly<Record<string, unknown>>;
};

/** All entities at one moment. */
export type Entities = {
  readonly containers: readonly ContainerEntity[];
  /** Names of further containers. What an earlier process has shown of them stays as it is. */
  readonly kept: readonly string[];
  /** The list has been complete for so long that an entity of any other name is of a container that is gone for good. */
  readonly isSettled: boolean;
  /** Undefined before the first check. */
  readonly updatesAvailable: number | undefined;
  /** Unix milliseconds; undefined: not yet. */
  readonly lastCheckAtMs: number | undefined;
};

/** The entity of a container outside of an update. `isRemovedAtExit`: it was started with `--rm`. */
export function entityOf(
  container: TrackedContainer,
  { name, isRemovedAtExit }: { readonly name: string; readonly isRemovedAtExit: boolean },
): ContainerEntity {
  const { image, digest, reason, checkedAtMs, sourceUrl, monitorOnly, staleness, status, updateAvailable } = container;
  const isChecked = updateAvailable || (staleness !== undefined && staleness !== 'unknown');
  const { installed, newest } = versionsOf(container);
  const releaseUrl = sourceUrl === undefined ? undefined : releasePageOf(sourceUrl);
  const notInstallable = whyNotInstallable(container, isRemovedAtExit);
  return {
    name,
    title: titleOf(container),
    installedVersion: installed,
    latestVersion: isChecked ? newest : undefined,
    isOutdated: isChecked ? updateAvailable : undefined,
    ...(releaseUrl !== undefined && { releaseUrl }),
    ...pictureOf(container),
    summary: staleness === 'held' || staleness === 'unknown' ? reason : '',
    isUpdating: false,
    ...(notInstallable !== undefined && { notInstallable }),
    attributes: {
      image,
      digest,
      state: status,
      verdict: staleness ?? 'unchecked',
      reason,
      monitor_only: monitorOnly,
      ...(checkedAtMs !== undefined && { checked_at_ms: checkedAtMs }),
    },
  };
}

function titleOf({ image }: TrackedContainer): string {
  return tryParseImageReference(image)?.repository.split('/').at(-1) ?? image;
}

function whyNotInstallable({ self, staleness }: TrackedContainer, isRemovedAtExit: boolean): string | undefined {
  if (self) return 'it is Upkeep itself';
  if (isRemovedAtExit) return 'it was started with --rm, so the engine removes it when it stops';
  return staleness === 'pinned' ? 'its image is pinned to a digest' : undefined;
}

/**
 * The versions as everywhere else, if Home Assistant finds the second one newer. It compares versions that it can read
 * (https://github.com/ludeeus/awesomeversion), and shows no update for one that is not higher: the same version built
 * again, an older one, or a digest that looks like a number. Such versions get the digest in brackets, which it only
 * tests for equality.
 */
function versionsOf(container: TrackedContainer): Readonly<Record<'installed' | 'newest', string | undefined>> {
  const { image, imageId, digest, version, updateAvailable, candidate = image } = container;
  const { latestVersion, latestDigest, candidateDigest = '' } = container;
  const own = { tag: tagOf(image), id: shortId(digest === '' ? imageId : digest), version };
  if (!updateAvailable) return { installed: plain(own), newest: plain(own) };
  // Without a digest in a registry, its image is in the engine only.
  const next = { tag: tagOf(candidate), id: shortId(latestDigest || candidateDigest), version: latestVersion };
  const [installed, newest] = [plain(own), plain(next)];
  const isHigher = installed !== undefined && newest !== undefined && isHigherVersion(installed, newest);
  return isHigher ? { installed, newest } : { installed: withDigest(own), newest: withDigest(next) };
}

type Shown = { readonly tag: string | undefined; readonly id: string; readonly version: string | undefined };

function plain(one: Shown): string | undefined {
  return one.version === undefined || one.version === one.id || /^[0-9a-f]{12}$/.test(one.version)
    ? withDigest({ ...one, version: undefined })
    : one.version;
}

function withDigest({ tag, id, version }: Shown): string | undefined {
  const what = version === undefined || version === id ? tag : version;
  return id === '' ? what : `${what ?? 'untagged'} (${id})`;
}

function isHigherVersion(from: string, to: string): boolean {
  const [old, young] = [numbersOf(from), numbersOf(to)];
  if (old === undefined || young === undefined) return false;
  const length = Math.max(old.length, young.length);
  const places = Array.from({ length }, (_, place) => (young[place] ?? 0) - (old[place] ?? 0));
  return (places.find((difference) => difference !== 0) ?? 0) > 0;
}

/** `v1.2.3-alpine` has three. */
function numbersOf(version: string): readonly number[] | undefined {
  return /^v?(\d{1,9}(?:\.\d{1,9})*)(?![\d(])/.exec(version)?.[1]?.split('.').map(Number);
}

function tagOf(image: string): string | undefined {
  return tryParseImageReference(image)?.tag;
}

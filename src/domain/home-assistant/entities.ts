import { shortId } from '../container/container.ts';
import { tryParseImageReference } from '../reference/image-reference.ts';
import { releasePageOf } from '../container/image-source.ts';
import { fleetKeyOf, shownName } from '../run/session.ts';
import type { Inventory, TrackedContainer } from '../inventory/inventory.ts';

/** One container in a home automation. Texts have any length. Equal versions mean that it is up to date. */
export type ContainerEntity = {
  /** Stays the same over updates, so it is never the id. A service named like a container is `web service`. */
  readonly name: string;
  /** The name of the software, such as `nginx`. */
  readonly title: string;
  /** `1.27 (01d110000000)`. Undefined: unknown. */
  readonly installedVersion: string | undefined;
  readonly latestVersion: string | undefined;
  /** The release page of the newer image, or its source. */
  readonly releaseUrl?: string;
  readonly isUpdating: boolean;
  /** Whether a button may update it. False for a container that is only monitored. */
  readonly mayInstall: boolean;
  /** Further plain data: image, digest, state, reason, project. */
  readonly attributes: Readonly<Record<string, unknown>>;
};

/** All entities at one moment. */
export type Entities = {
  readonly containers: readonly ContainerEntity[];
  /** Unix milliseconds; undefined: not yet. */
  readonly lastCheckAtMs: number | undefined;
};

/** The watched containers as entities. Undefined before the first listing. `updating` has keys by `fleetKeyOf`. */
export function entitiesOf(inventory: Inventory, updating: ReadonlySet<string>): Entities | undefined {
  if (!inventory.known) return undefined;
  const keys = new Set([...inventory.containers, ...inventory.unfinished].map((one) => fleetKeyOf(one.engine, one)));
  const checks = inventory.containers.flatMap(({ checkedAtMs }) => checkedAtMs ?? []);
  return {
    containers: inventory.containers.map((container) => {
      const [name, key] = [shownName(container), fleetKeyOf(container.engine, container)];
      return entityOf(container, keys.has(name) ? key : name, updating.has(key));
    }),
    lastCheckAtMs: checks.length === 0 ? undefined : Math.max(...checks),
  };
}

function entityOf(container: TrackedContainer, name: string, isUpdating: boolean): ContainerEntity {
  const { image, imageId, digest, reason, checkedAtMs, sourceUrl } = container;
  const { monitorOnly, staleness, status, self, updateAvailable } = container;
  const reference = tryParseImageReference(image);
  const installed = shownVersion(container.version, reference?.tag, digest === '' ? imageId : digest);
  const newest = updateAvailable ? newestOf(container) : installed;
  const isChecked = staleness !== undefined && staleness !== 'unknown';
  const releaseUrl = sourceUrl === undefined ? undefined : releasePageOf(sourceUrl);
  return {
    name,
    title: reference?.repository.split('/').at(-1) ?? image,
    installedVersion: installed,
    latestVersion: isChecked || updateAvailable ? newest : undefined,
    ...(releaseUrl !== undefined && { releaseUrl }),
    isUpdating,
    mayInstall: !monitorOnly && !self,
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

/** Without a digest in a registry, its image is in the engine only. */
function newestOf({ image, candidate = image, latestVersion, latestDigest, candidateDigest = '' }: TrackedContainer) {
  return shownVersion(latestVersion, tryParseImageReference(candidate)?.tag, latestDigest || candidateDigest);
}

/** A version or tag is always included, because a digest of digits only looks like a version number. */
function shownVersion(version: string | undefined, tag: string | undefined, digest: string): string | undefined {
  const word = version === undefined || /^[0-9a-f]{12}$/.test(version) ? tag : version;
  const id = shortId(digest);
  if (id === '') return word;
  return `${word ?? 'untagged'} (${id})`;
}

import { shortId } from './container/container.ts';
import { tryParseImageReference } from './image/image-reference.ts';
import { releasePageOf } from './image/image-source.ts';
import type { TrackedContainer, Inventory, UnwatchedTracked } from './inventory.ts';
import type { UnwatchedReason } from './check/selection.ts';
import { fleetKeyOf, shownName } from './run/session.ts';

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
  /** Why its newer version waits, or why the last request to update it did nothing, else what changes with it. Empty: nothing to tell. */
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
  const { notes } = container;
  const isChecked = updateAvailable || (staleness !== undefined && staleness !== 'unknown');
  const { installed, newest } = versionsOf(container);
  const page = sourceUrl === undefined ? undefined : releasePageOf(sourceUrl);
  const releaseUrl = notes?.state === 'found' ? (notes.url ?? page) : page;
  const notInstallable = whyNotInstallable(container, isRemovedAtExit);
  return {
    name,
    title: titleOf(container),
    installedVersion: installed,
    latestVersion: isChecked ? newest : undefined,
    isOutdated: isChecked ? updateAvailable : undefined,
    ...(releaseUrl !== undefined && { releaseUrl }),
    ...pictureOf(container),
    summary: staleness === 'held' || staleness === 'unknown' ? reason : (notes?.summary ?? []).join('; '),
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

/**
 * The picture of a container in Home Assistant: its own icon, else the one that Home Assistant has for the software.
 * Home Assistant's pages load icons of the second kind anyway, so no further host learns about the containers.
 */
export function pictureOf({ icon, image }: { readonly icon?: string; readonly image: string }): {
  readonly pictureUrl?: string;
} {
  if (icon !== undefined) return { pictureUrl: icon };
  const repository = tryParseImageReference(image)?.repository.toLowerCase() ?? '';
  const name = repository.split('/').at(-1) ?? '';
  const brand = brands.get(repository) ?? brands.get(name);
  return brand === undefined ? {} : { pictureUrl: `https://brands.home-assistant.io/_/${brand}/icon.png` };
}

/** Names of images whose software has an integration in Home Assistant: https://github.com/home-assistant/brands */
const brands: ReadonlyMap<string, string> = new Map([
  ['adguardhome', 'adguard'],
  ['deluge', 'deluge'],
  ['emby', 'emby'],
  ['embyserver', 'emby'],
  ['esphome', 'esphome'],
  ['eclipse-mosquitto', 'mqtt'],
  ['home-assistant', 'homeassistant'],
  ['homeassistant', 'homeassistant'],
  ['immich-server', 'immich'],
  ['influxdb', 'influxdb'],
  ['jellyfin', 'jellyfin'],
  ['lidarr', 'lidarr'],
  ['mealie', 'mealie'],
  ['minio', 'minio'],
  ['motioneye', 'motioneye'],
  ['netdata', 'netdata'],
  ['nextcloud', 'nextcloud'],
  ['nzbget', 'nzbget'],
  ['octoprint', 'octoprint'],
  ['ollama', 'ollama'],
  ['ombi', 'ombi'],
  ['overseerr', 'overseerr'],
  ['paperless-ngx', 'paperless_ngx'],
  ['pihole', 'pi_hole'],
  ['plex', 'plex'],
  ['pms-docker', 'plex'],
  ['portainer', 'portainer'],
  ['portainer-ce', 'portainer'],
  ['portainer-ee', 'portainer'],
  ['prometheus', 'prometheus'],
  ['qbittorrent', 'qbittorrent'],
  ['qbittorrent-nox', 'qbittorrent'],
  ['radarr', 'radarr'],
  ['sabnzbd', 'sabnzbd'],
  ['sonarr', 'sonarr'],
  ['syncthing', 'syncthing'],
  ['tautulli', 'tautulli'],
  ['traccar', 'traccar'],
  ['transmission', 'transmission'],
  ['unifi-network-application', 'unifi'],
  ['uptime-kuma', 'uptime_kuma'],
  ['zwave-js-ui', 'zwave_js'],
]);

/**
 * The entities over time, by name. An entity lives as long as its container's name: it outlives an update, a stop, and
 * any moment in which the engine lists no such container.
 */
export type Roster = {
  readonly entries: ReadonlyMap<string, RosterEntry>;
  readonly kept: readonly string[];
  /** Since when the list has been complete, by the monotonic clock; undefined while it is not. */
  readonly completeSinceMs: number | undefined;
  readonly isSettled: boolean;
  readonly lastCheckAtMs: number | undefined;
};

type RosterEntry = {
  readonly key: string;
  /** As of the last listing outside of an update. */
  readonly listed: ContainerEntity;
  readonly shown: ContainerEntity;
  /** When a complete list first lacked its container, by the monotonic clock; undefined while it is there. */
  readonly absentSinceMs: number | undefined;
};

type RosterFacts = {
  readonly inventory: Inventory;
  readonly unwatched: readonly UnwatchedTracked[];
  /** The updates under way, by `fleetKeyOf`, with their progress from 0 to 100 if it is known. */
  readonly underWay: ReadonlyMap<string, number | undefined>;
  /** Why the last request for a container did nothing, by `fleetKeyOf`. */
  readonly notes: ReadonlyMap<string, string>;
  /** Ids of containers that were started with `--rm`. */
  readonly removedAtExit: ReadonlySet<string>;
  /** Whether every engine has just been listed. */
  readonly isComplete: boolean;
  /** Monotonic. */
  readonly nowMs: number;
};

export const emptyRoster: Roster = {
  entries: new Map(),
  kept: [],
  completeSinceMs: undefined,
  isSettled: false,
  lastCheckAtMs: undefined,
};

export function nextRoster(before: Roster, facts: RosterFacts): Roster {
  const { inventory, underWay, isComplete, nowMs } = facts;
  const completeSinceMs = isComplete ? (before.completeSinceMs ?? nowMs) : undefined;
  const keys = new Set([...inventory.containers, ...inventory.unfinished].map((one) => fleetKeyOf(one.engine, one)));
  const entries = new Map<string, RosterEntry>();
  for (const container of inventory.containers) {
    const [plain, key] = [shownName(container), fleetKeyOf(container.engine, container)];
    const name = keys.has(plain) ? key : plain;
    // During an update the old and the new container have the name in turn: the entity shows the one from before.
    const frozen = underWay.has(key) ? before.entries.get(name)?.listed : undefined;
    const listed = frozen ?? entityOf(container, { name, isRemovedAtExit: facts.removedAtExit.has(container.id) });
    entries.set(name, { key, listed, shown: shownOf(listed, key, facts), absentSinceMs: undefined });
  }
  const presence = presenceOf(facts);
  for (const [name, { key, ...known }] of before.entries) {
    if (entries.has(name)) continue;
    const isThere = presence.has(key) || underWay.has(key);
    const absentSinceMs = isThere || !isComplete ? undefined : (known.absentSinceMs ?? nowMs);
    if (isOver(absentSinceMs, nowMs)) continue;
    const state = presence.get(key);
    const listed = state ? withState(known.listed, state) : known.listed;
    entries.set(name, { key, listed, shown: shownOf(listed, key, facts), absentSinceMs });
  }
  const shownKeys = new Set([...entries.values()].map(({ key }) => key));
  const checks = inventory.containers.flatMap(({ checkedAtMs }) => checkedAtMs ?? []);
  const lastCheckAtMs = Math.max(before.lastCheckAtMs ?? -Infinity, ...checks);
  return {
    entries,
    kept: [...presence.keys()].filter((key) => !shownKeys.has(key)),
    completeSinceMs,
    isSettled: isOver(completeSinceMs, nowMs),
    lastCheckAtMs: lastCheckAtMs === -Infinity ? undefined : lastCheckAtMs,
  };
}

/** Whether another roster would follow from time alone. */
export function isWaiting({ entries, isSettled, completeSinceMs }: Roster, nowMs: number): boolean {
  return (
    (!isSettled && isOver(completeSinceMs, nowMs)) ||
    [...entries.values()].some(({ absentSinceMs, shown }) => shown.isUpdating || absentSinceMs !== undefined)
  );
}

export function entitiesOf({ entries, kept, isSettled, lastCheckAtMs }: Roster): Entities {
  const containers = [...entries.values()].map(({ shown }) => shown);
  const known = containers.flatMap(({ isOutdated }) => isOutdated ?? []);
  return {
    containers,
    kept,
    isSettled,
    updatesAvailable: known.length === 0 ? undefined : known.filter(Boolean).length,
    lastCheckAtMs,
  };
}

/**
 * Longer than a container is absent while another program replaces it. An update of Upkeep is seen in the engine
 * however long it takes.
 */
const goneAfterMs = 600_000;

function isOver(sinceMs: number | undefined, nowMs: number): boolean {
  return sinceMs !== undefined && nowMs - sinceMs > goneAfterMs;
}

/** Containers that exist and are not watched at this moment, with their state; empty if it is not known. */
function presenceOf({ inventory, unwatched }: RosterFacts): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const { name, engine, kind } of unwatched)
    if (kind === undefined || momentary.has(kind)) found.set(fleetKeyOf(engine, { name }), kind ?? '');
  for (const { name, engine } of inventory.unfinished) found.set(fleetKeyOf(engine, { name }), '');
  return found;
}

/** Reasons that end without a change of settings. */
const momentary: ReadonlySet<UnwatchedReason['kind']> = new Set(['stopped', 'restarting']);

function withState(entity: ContainerEntity, state: string): ContainerEntity {
  return { ...entity, attributes: { ...entity.attributes, state } };
}

function shownOf(listed: ContainerEntity, key: string, { underWay, notes }: RosterFacts): ContainerEntity {
  const [percent, summary] = [underWay.get(key), notes.get(key)];
  return {
    ...listed,
    isUpdating: underWay.has(key),
    ...(percent !== undefined && { percent }),
    ...(summary !== undefined && { summary }),
  };
}

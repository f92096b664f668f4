import type { Container } from '../../container.ts';
import type { HostConfig } from '../../container-settings.ts';
import { journalPrefix } from '../../../image/image-labels.ts';
import { parseJson } from '../../../text/json.ts';
import { anonymousVolumes, bindTarget, cleanPath, volumeAt } from './anonymous-volumes.ts';
import { refusal } from '../request/request.ts';

type Mount = NonNullable<HostConfig['Mounts']>[number];

/** `HostConfig.Mounts` without volume names that the engine generated, so that it makes new volumes. */
export function mountsWithFreshVolumes(container: Container): readonly Mount[] | null | undefined {
  const { Mounts } = container.settings.HostConfig;
  const pins = pinsFor(container).filter(({ Source }) => !isMadeByEngine(String(Source)));
  if (pins.length === 0 && (Mounts ?? []).length === 0) return Mounts;
  const own = (Mounts ?? []).map((mount) => {
    const { Source, ...nameless } = mount;
    const isOnceAnonymous =
      mount['Type'] === 'volume' && namesOnceAnonymous(container, String(mount['Target']), Source);
    return possibleOptions(isOnceAnonymous ? nameless : mount);
  });
  return [...own, ...pins];
}

/** The same for `HostConfig.Binds`. */
export function bindsWithFreshVolumes(container: Container): readonly string[] | null | undefined {
  return container.settings.HostConfig.Binds?.map((bind) => {
    const [volume, path = '', ...mode] = bind.split(':');
    return mode.length === 0 && namesOnceAnonymous(container, path, volume) ? path : bind;
  });
}

/** Names of the container's anonymous volumes by path, without named ones that only look anonymous. */
export function anonymousVolumeNames(container: Container): ReadonlyMap<string, string> {
  const named = pinnedPaths(container).flatMap((path) => {
    const volume = volumeAt(container, path);
    return volume === undefined || !isMadeByEngine(volume) ? [] : [[cleanPath(path), volume] as const];
  });
  return new Map(named);
}

/**
 * `HostConfig.Mounts` unchanged, with every anonymous volume added by name: its data must stay available even if a new
 * image does not declare the path. Volumes are referenced, not copied, so the old and the new container see the same
 * data.
 */
export function mountsFor(container: Container): readonly Mount[] | null | undefined {
  const { Mounts } = container.settings.HostConfig;
  const pins = pinsFor(container);
  if (pins.length === 0 && (Mounts ?? []).length === 0) return Mounts;
  return [...(Mounts ?? []).map((mount) => possibleOptions(withSource(container, mount))), ...pins];
}

function pinsFor(container: Container): readonly Mount[] {
  return anonymousVolumes(container).map(({ path, volume, readOnly }) => ({
    Type: 'volume',
    Source: volume ?? nameless(container, path),
    Target: path,
    ...(readOnly ? { ReadOnly: true } : {}),
  }));
}

/** `HostConfig.Binds` unchanged, with a volume name for each single path. */
export function bindsFor(container: Container): readonly string[] | null | undefined {
  const { Binds } = container.settings.HostConfig;
  return Binds?.map((bind) =>
    isLonePath(bind) ? `${volumeAt(container, bind) ?? nameless(container, bind)}:${bind}` : bind,
  );
}

/** The label in which a successor stores which of its volumes were anonymous. */
export const pinnedPathsLabel = `${journalPrefix}anon`;

/** Paths of the container's anonymous volumes, and of those that an earlier update has named. */
export function pinnedPaths(container: Container): readonly string[] {
  const { HostConfig } = container.settings;
  const mounts = HostConfig.Mounts ?? [];
  const binds = HostConfig.Binds ?? [];
  const named = new Set([...mounts.map(({ Target }) => String(Target)), ...binds.map(bindTarget)].map(cleanPath));
  const paths = [
    ...anonymousVolumes(container).map(({ path }) => path),
    ...mounts.filter(isAnonymous).map(({ Target }) => String(Target)),
    ...binds.filter(isLonePath),
    ...rememberedPaths(container).filter((path) => named.has(cleanPath(path))),
  ];
  return [...new Set(paths)].sort();
}

function withSource(container: Container, mount: Mount): Mount {
  if (!isAnonymous(mount)) return mount;
  const path = String(mount['Target']);
  return { ...mount, Source: volumeAt(container, path) ?? nameless(container, path) };
}

function isAnonymous({ Type, Source }: Mount): boolean {
  return Type === 'volume' && !Source;
}

function isLonePath(bind: string): boolean {
  return bind.startsWith('/') && !bind.includes(':');
}

const optionsByType: ReadonlyMap<unknown, string> = new Map([
  ['bind', 'BindOptions'],
  ['volume', 'VolumeOptions'],
  ['tmpfs', 'TmpfsOptions'],
]);

/**
 * The mount without options of another type. Old engines silently stored them, and no engine accepts them for a new
 * container: https://docs.docker.com/reference/api/engine/version-history/#v142-api-changes
 */
export function possibleOptions(mount: Mount): Mount {
  const own = optionsByType.get(mount['Type']);
  if (own === undefined) return mount;
  const foreign = new Set([...optionsByType.values()].filter((options) => options !== own));
  return Object.fromEntries(Object.entries(mount).filter(([field]) => !foreign.has(field)));
}

/** A label is untrusted text, so the name must also have the form of a generated one. */
function namesOnceAnonymous(container: Container, path: string, volume: unknown): boolean {
  const isRemembered = rememberedPaths(container).some((remembered) => cleanPath(remembered) === cleanPath(path));
  return isRemembered && isMadeByEngine(String(volume));
}

function isMadeByEngine(volume: string): boolean {
  return /^[0-9a-f]{64}$/.test(volume);
}

/** Paths from the label. A label is untrusted text: any value but a list of paths counts as none. */
function rememberedPaths({ settings }: Container): readonly string[] {
  const label = new Map(Object.entries(settings.Config.Labels ?? {})).get(pinnedPathsLabel) ?? '[]';
  if (label.length > longestLabel) return [];
  const paths = parseJson(label);
  return Array.isArray(paths) ? paths.filter((path) => typeof path === 'string') : [];
}

/** Far above the length of any real list of paths. */
const longestLabel = 65_536;

function nameless(container: Container, path: string): never {
  throw refusal(
    container,
    `the engine does not report the name of the anonymous volume at ${path}, so its data would be lost`,
  );
}

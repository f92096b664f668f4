import { refusal, type Container, type HostConfig, type KnownRequest, type MountPoint } from '../container.ts';
import { journalPrefix } from '../../image/labels.ts';
import { parseJson } from '../../text/json.ts';
import { compare, type Difference, type Pair } from './difference.ts';

type Mount = NonNullable<HostConfig['Mounts']>[number];

/** The fields `HostConfig.Mounts` and `HostConfig.Binds`: their making for a successor, and their comparison. */
export const mountsField = { make: mountsFor, compare: configuredMountDifferences };
export const bindsField = { make: bindsFor, compare: bindsDifference };

/**
 * `HostConfig.Mounts` unchanged, with every anonymous volume added by name: its data must stay available even if a new
 * image does not declare the path. Volumes are referenced, not copied, so the old and the new container see the same
 * data. With fresh volumes instead without the names that the engine generated.
 */
function mountsFor({ container, freshVolumes = false }: VolumesRequest): readonly Mount[] | null | undefined {
  if (freshVolumes) return mountsWithFreshVolumes(container);
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

/** `HostConfig.Binds` in the same way: with a volume name for each single path, or without. */
function bindsFor({ container, freshVolumes = false }: VolumesRequest): readonly string[] | null | undefined {
  if (freshVolumes) return bindsWithFreshVolumes(container);
  const { Binds } = container.settings.HostConfig;
  return Binds?.map((bind) =>
    isLonePath(bind) ? `${volumeAt(container, bind) ?? nameless(container, bind)}:${bind}` : bind,
  );
}

type VolumesRequest = Pick<KnownRequest, 'container' | 'freshVolumes'>;

/** `HostConfig.Mounts` without volume names that the engine generated, so that it makes new volumes. */
function mountsWithFreshVolumes(container: Container): readonly Mount[] | null | undefined {
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
function bindsWithFreshVolumes(container: Container): readonly string[] | null | undefined {
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
function possibleOptions(mount: Mount): Mount {
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
  if (label.length > maxLabelLength) return [];
  const paths = parseJson(label);
  return Array.isArray(paths) ? paths.filter((path) => typeof path === 'string') : [];
}

/** Far above the length of any real list of paths. */
const maxLabelLength = 65_536;

function nameless(container: Container, path: string): never {
  throw refusal(
    container,
    `the engine does not report the name of the anonymous volume at ${path}, so its data would be lost`,
  );
}

/** A volume that the engine made because the image (`VOLUME`) or the user (`-v /path`) gave a path without a volume. */
type AnonymousVolume = {
  readonly path: string;
  /** Undefined when the engine does not show it. */
  readonly volume: string | undefined;
  readonly readOnly: boolean;
};

/**
 * Anonymous volumes of the container by path. No setting names them, so a plain successor would get new, empty ones. A
 * volume from `--volumes-from` comes back by that setting. If both are possible, the volume counts as the container's
 * own, so that it is kept.
 */
function anonymousVolumes({ settings }: Container): readonly AnonymousVolume[] {
  const { Config, HostConfig, Mounts } = settings;
  const configured = new Set([
    ...(HostConfig.Mounts ?? []).map(({ Target }) => cleanPath(String(Target))),
    ...(HostConfig.Binds ?? []).map((bind) => cleanPath(bindTarget(bind))),
  ]);
  const declared = new Set(Object.keys(Config.Volumes ?? {}).map(cleanPath));
  const fromOthers = (HostConfig.VolumesFrom ?? []).length > 0;
  return Mounts.filter(({ Type, Destination }) => {
    const path = cleanPath(Destination);
    return Type === 'volume' && !configured.has(path) && (declared.has(path) || !fromOthers);
  })
    .map((mount) => ({ path: mount.Destination, volume: volumeName(mount), readOnly: mount.RW === false }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** The volume mounted at a path. Undefined when there is none, or the engine does not show it. */
function volumeAt({ settings }: Container, path: string): string | undefined {
  const mount = settings.Mounts.find(
    ({ Type, Destination }) => Type === 'volume' && cleanPath(Destination) === cleanPath(path),
  );
  return mount && volumeName(mount);
}

/** `source:target:mode`. A single path is the target of an anonymous volume. */
function bindTarget(bind: string): string {
  const [first = '', second] = bind.split(':');
  return second ?? first;
}

/** `/data`, also for `/data/` and `//data/.`: https://pkg.go.dev/path#Clean */
export function cleanPath(path: string): string {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return `/${parts.join('/')}`;
}

/**
 * Docker 28 does not show the name of an anonymous volume without a source in `Binds`; its folder contains the name.
 */
export function volumeName({ Name, Source }: MountPoint): string | undefined {
  return Name || /\/([0-9a-f]{64})\/_data$/.exec(Source ?? '')?.[1];
}

/**
 * Every path must have the same volume, folder or device with the same options. The new image may declare additional
 * volumes.
 */
export function mountDifferences(pair: Pair): readonly Difference[] {
  const { before, after, newImage } = pair;
  const renewed = renewedVolumes(pair);
  const [old, successor] = [before, after].map(
    ({ settings }) => new Map(settings.Mounts.map((mount) => [mount.Destination, mount])),
  );
  const paths = new Set([...(old?.keys() ?? []), ...(successor?.keys() ?? [])]);
  const declared = new Set(Object.keys(newImage.config.Volumes ?? {}).map(cleanPath));
  return [...paths].flatMap((path) => {
    const [was, is] = [old?.get(path), successor?.get(path)];
    const isNew = was === undefined && is?.Type === 'volume' && declared.has(cleanPath(path));
    const replacedVolume = renewed.get(cleanPath(path));
    const isRenewed = replacedVolume !== undefined && (is === undefined || isAnother(after, was, is, replacedVolume));
    return isNew || isRenewed ? [] : compare(`Mounts.${path}`, described(before, was), described(after, is));
  });
}

/** Anonymous volumes that the successor replaces with new ones, or drops if the new image declares none. */
function renewedVolumes({ before, freshVolumes }: Pair): ReadonlyMap<string, string> {
  return freshVolumes ? anonymousVolumeNames(before) : new Map();
}

function isAnother(after: Container, was: MountPoint | undefined, is: MountPoint, replacedVolume: string): boolean {
  return is.Type === 'volume' && is.RW === was?.RW && volumeAt(after, is.Destination) !== replacedVolume;
}

/** Compared fields of a mount. Mode `z` of a volume is ignored: engines add it to a named one. */
function described(container: Container, mount: MountPoint | undefined): readonly unknown[] | undefined {
  if (mount === undefined) return undefined;
  const { Type, Source, Destination, Mode, RW } = mount;
  const origin =
    Type === 'volume' ? volumeAt(container, Destination) : Type === 'image' ? imageAt(container, mount) : Source;
  const mode = Type === 'volume' && Mode === 'z' ? '' : Mode;
  return [Type, origin, mount['Driver'] ?? '', mode ?? '', RW ?? true, mount['Propagation'] ?? ''];
}

/** The reference of a mounted image. The engine shows a path of the container as its source. */
function imageAt({ settings }: Container, { Destination, Source }: MountPoint): unknown {
  const mounts = settings.HostConfig.Mounts ?? [];
  const made = mounts.find(
    (mount) => mount['Type'] === 'image' && cleanPath(String(mount['Target'])) === cleanPath(Destination),
  );
  return made?.['Source'] ?? Source;
}

/** Compares configured mounts. A successor may name a volume that was anonymous before. */
function configuredMountDifferences(pair: Pair): readonly Difference[] {
  const { before, after } = pair;
  const renewed = renewedVolumes(pair);
  const [old, successor] = [before, after].map((container) => {
    const mounts = container.settings.HostConfig.Mounts ?? [];
    return new Map(mounts.map((mount) => [String(mount['Target']), named(container, mount)]));
  });
  const paths = new Set([...(old?.keys() ?? []), ...(successor?.keys() ?? [])]);
  return [...paths].flatMap((path) => {
    const [was, is] = [old?.get(path), successor?.get(path)];
    if (renewed.has(cleanPath(path))) return compare(`HostConfig.Mounts.${path}`, unnamed(was), unnamed(is));
    const isPin = was === undefined && is?.['Source'] !== undefined && is['Source'] === volumeAt(before, path);
    return isPin ? [] : compare(`HostConfig.Mounts.${path}`, was, is);
  });
}

function bindsDifference(pair: Pair): readonly Difference[] {
  const { before, after } = pair;
  const renewed = renewedVolumes(pair);
  const [old, successor] = [before, after].map((container) =>
    container.settings.HostConfig.Binds?.map((bind) => {
      if (renewed.has(cleanPath(bindTarget(bind)))) return bindTarget(bind);
      return bind.includes(':') ? bind : `${volumeAt(container, bind) ?? ''}:${bind}`;
    }),
  );
  return compare('HostConfig.Binds', old, successor);
}

function unnamed(mount: Readonly<Record<string, unknown>> | undefined): unknown {
  return mount === undefined ? undefined : { ...mount, Source: '' };
}

/** The mount with the name of its volume, without options of another type. */
function named(container: Container, mount: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const volume = mount['Type'] === 'volume' ? volumeAt(container, String(mount['Target'])) : undefined;
  return possibleOptions({ ...mount, Source: mount['Source'] || volume });
}

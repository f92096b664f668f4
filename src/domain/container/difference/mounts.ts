import type { Container } from '../container.ts';
import type { MountPoint } from '../container-settings.ts';
import { bindTarget, cleanPath, volumeAt } from '../recipe/volumes/anonymous-volumes.ts';
import { anonymousVolumeNames, possibleOptions } from '../recipe/volumes/mounts.ts';
import { compare, type Difference, type Pair } from './difference.ts';

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
export function configuredMountDifferences(pair: Pair): readonly Difference[] {
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

export function bindsDifference(pair: Pair): readonly Difference[] {
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

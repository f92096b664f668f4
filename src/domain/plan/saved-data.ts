/** Which of a container's mounts an update copies and a rollback puts back, and which others write to the same data. */

import { effectiveSettings, labelValuesOf, type ServiceSettings } from '../settings/effective-settings.ts';
import { anonymousVolumeNames, cleanPath, volumeName } from '../container/recipe/volumes.ts';
import { isAlive, type Container, type DataItem, type MountPoint } from '../container/container.ts';
import { folderOf } from '../container/placed-files.ts';
import { printable, quoted } from '../text/printable.ts';

/** The data of one container. */
export type SavedData = {
  /** Sources that contain each other are one item, so each file is copied once. */
  readonly items: readonly DataItem[];
  readonly left: readonly LeftData[];
  /** Why its update must not begin: its label asks for data that cannot be copied. It follows the name: `names …`. */
  readonly fault?: string;
};

/** A mount that is not copied. `reason` is shown in brackets after its path. */
type LeftData = { readonly path: string; readonly reason: string };

/** Undefined when no copy is asked for. `freshVolumes`: its successor gets new anonymous volumes. */
export function savedDataOf(
  container: Container,
  settings: Pick<ServiceSettings, 'data' | 'dataFolders'>,
  { freshVolumes = false } = {},
): SavedData | undefined {
  const labels = labelValuesOf(container);
  const { data, dataFolders } = effectiveSettings(settings, labels);
  if (data.kind !== 'volumes' && data.kind !== 'paths') return undefined;
  const fresh = freshVolumes ? anonymousVolumeNames(container) : new Map<string, string>();
  const asked = data.kind === 'paths' ? new Set(data.paths.map(cleanPath)) : undefined;
  const found: DataItem[] = [];
  const left: (LeftData & { readonly isFault?: boolean })[] = memoryPaths(container);
  for (const mount of mountsOf(container)) {
    const path = cleanPath(mount.Destination);
    const isAsked = asked === undefined || asked.has(path);
    const judged = isAsked ? judge(mount, container, dataFolders) : { reason: 'not named' };
    if (fresh.has(path)) left.push({ path, reason: 'the new container gets a new volume' });
    else if ('reason' in judged) left.push({ path, ...judged });
    else found.push(judged);
  }
  const mounted = new Set([...found.flatMap(({ paths }) => paths), ...left.map(({ path }) => path)]);
  const unknown = [...(asked ?? [])].filter((path) => !mounted.has(path));
  const refused = left.find(({ path, isFault }) => isFault && asked?.has(path) === true);
  const fault = labels.data === undefined ? undefined : (refusedPath(refused) ?? unknownPath(unknown[0], mounted));
  return {
    items: withoutParts(found),
    left: left.map(({ path, reason }) => ({ path, reason })).toSorted((one, other) => (one.path < other.path ? -1 : 1)),
    ...(fault !== undefined && { fault }),
  };
}

function mountsOf({ settings }: Container): readonly MountPoint[] {
  return settings.Mounts.toSorted((one, other) => (one.Destination < other.Destination ? -1 : 1));
}

/** `--tmpfs` is in no list of mounts. */
function memoryPaths({ settings }: Container): LeftData[] {
  const paths = Object.keys((settings.HostConfig['Tmpfs'] as object | null | undefined) ?? {});
  return paths.map((path) => ({ path: cleanPath(path), reason: inMemory }));
}

const inMemory = 'memory';

/** `isFault`: a path of the container's own label with this reason holds its update back. */
function judge(
  mount: MountPoint,
  container: Container,
  folders: readonly string[],
): DataItem | { readonly reason: string; readonly isFault?: boolean } {
  if (mount.Type === 'tmpfs') return { reason: inMemory };
  if (mount.RW === false) return { reason: 'read-only' };
  const paths = [cleanPath(mount.Destination)];
  if (mount.Type === 'volume') {
    const name = volumeName(mount);
    if (name === undefined) return { reason: 'the engine does not show its volume', isFault: true };
    const subpath = subpathAt(container, mount);
    const options = { NoCopy: true, ...(subpath !== undefined && { Subpath: subpath }) };
    const title = `volume ${quoted(name)}${subpath === undefined ? '' : ` (${quoted(subpath)})`}`;
    const source = subpath === undefined ? (mount.Source ?? '') : `${mount.Source ?? ''}/${subpath}`;
    return { paths, title, source, mount: { Type: 'volume', Source: name, VolumeOptions: options } };
  }
  if (mount.Type !== 'bind') return { reason: `mount of type ${quoted(mount.Type ?? '', 30)}`, isFault: true };
  const source = mount.Source ?? '';
  // The engine shows a path as it was given, and follows `..` and links when it mounts.
  const isPlain = source.startsWith('/') && cleanPath(source) === source;
  const below = isPlain ? folders.map(cleanPath).find((folder) => isWithin(source, folder)) : undefined;
  if (below === undefined) return { reason: 'host folder outside of --data-folders', isFault: true };
  return { paths, title: `folder ${quoted(source)}`, source, below, mount: { Type: 'bind', Source: source } };
}

/**
 * The items of a journal as one of the containers mounts them, or why one must not be mounted. A journal can be forged,
 * and so can the folder that allows an item, so nothing of an item is believed but which mount it is.
 */
export function provenItems(
  items: readonly DataItem[],
  containers: readonly Container[],
  folders: readonly string[],
): readonly DataItem[] | string {
  const proven: DataItem[] = [];
  for (const item of items) {
    const mounts = containers.flatMap((one) =>
      mountsOf(one).map((mount) => ({ mount, judged: judge(mount, one, folders) })),
    );
    const found = mounts
      .flatMap(({ judged }) => ('reason' in judged ? [] : [judged]))
      .find((one) => isSameMount(one, item));
    const title = printable(item.title, 300);
    const isMounted = mounts.some(({ mount }) => mount.RW !== false && isBindOf(mount, item));
    if (found === undefined)
      return isMounted
        ? `--data-folders does not allow the ${title} any more`
        : `the old container does not use the ${title}`;
    proven.push({ ...found, paths: item.paths });
  }
  return proven;
}

function isBindOf({ Type, Source }: MountPoint, { mount, source }: DataItem): boolean {
  return Type === 'bind' && mount.Type === 'bind' && Source === source && Source === mount['Source'];
}

/** The path of a volume changes with the folder of the engine. */
function isSameMount(one: DataItem, other: DataItem): boolean {
  if (one.mount.Type !== other.mount.Type || one.mount['Source'] !== other.mount['Source']) return false;
  return one.mount.Type === 'volume' ? subpathOf(one.mount) === subpathOf(other.mount) : one.source === other.source;
}

/** Engines show the part of a volume only in the container's own settings. */
function subpathAt({ settings }: Container, { Destination }: MountPoint): string | undefined {
  const made = (settings.HostConfig.Mounts ?? []).find(
    (mount) => cleanPath(String(mount['Target'])) === cleanPath(Destination),
  );
  const subpath = subpathOf(made ?? {});
  return typeof subpath === 'string' && cleanPath(subpath) !== '/' ? subpath : undefined;
}

function subpathOf(mount: Readonly<Record<string, unknown>>): unknown {
  return (mount['VolumeOptions'] as { readonly Subpath?: unknown } | null | undefined)?.Subpath;
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === '/' ? folder : `${folder}/`);
}

/** Items that are in no other item. The outer one takes over the paths of the inner ones. */
export function withoutParts(items: readonly DataItem[]): readonly DataItem[] {
  const outer: DataItem[] = [];
  for (const item of items.toSorted((one, other) => one.source.length - other.source.length)) {
    const at = outer.findIndex((each) => contains(each, item));
    const holder = outer[at];
    if (holder === undefined) outer.push(item);
    else outer[at] = { ...holder, paths: [...holder.paths, ...item.paths].toSorted() };
  }
  return outer.toSorted((one, other) => ((one.paths[0] ?? '') < (other.paths[0] ?? '') ? -1 : 1));
}

function contains(outer: DataItem, inner: DataItem): boolean {
  if (outer.mount['Source'] === inner.mount['Source'] && outer.source === inner.source) return true;
  return outer.source !== '' && isWithin(inner.source, outer.source);
}

function refusedPath(left: LeftData | undefined): string | undefined {
  if (left === undefined) return undefined;
  return `names ${quoted(left.path, 300)} in its label data, which cannot be copied: ${left.reason}`;
}

/** A mistyped path would be an update without a copy. */
function unknownPath(path: string | undefined, mounted: ReadonlySet<string>): string | undefined {
  if (path === undefined) return undefined;
  const holder = [...mounted].find((each) => isWithin(path, each));
  const hint = holder === undefined ? '' : `; ${quoted(holder, 300)} is one`;
  return `names ${quoted(path, 300)} in its label data, which is no volume or folder of it${hint}`;
}

/** A running container that writes to the data of others. */
type Writer = { readonly item: DataItem; readonly name: string };

type Others = { readonly containers: Iterable<Container>; readonly group: ReadonlySet<string> };

/** Why the items cannot be copied while others run. The text follows the name of their owner: `has data …`. */
export function whyWritten(owner: Container, items: readonly DataItem[], others: Others): string | undefined {
  const writer = otherWriter(owner, items, others);
  if (writer === undefined) return undefined;
  const { item, name } = writer;
  return `has data that another container changes: ${item.title} is also written by the running container ${quoted(name)}. Set upkeep.data-shared=true on both if that is safe`;
}

/**
 * The first running container outside of the group that may write to one of the items. It does not count if both
 * containers have the label data-shared: a label must not give its author the data of someone else.
 */
export function otherWriter(
  owner: Container,
  items: readonly DataItem[],
  { containers, group }: Others,
): Writer | undefined {
  const isShared = labelValuesOf(owner).dataShared === true;
  for (const container of containers) {
    if (group.has(container.id) || !isAlive(container.state.status)) continue;
    if (isShared && labelValuesOf(container).dataShared === true) continue;
    const item = items.find((each) => container.settings.Mounts.some((mount) => writesTo(mount, each)));
    if (item !== undefined) return { item, name: container.name };
  }
  return undefined;
}

/**
 * A mount of the whole host, or of all volumes at once, belongs to a tool of administrators, such as a file manager.
 * Without this exception its owner could have no data copied at all.
 */
function writesTo(mount: MountPoint, { mount: { Type, Source }, source }: DataItem): boolean {
  if (mount.RW === false || (mount.Type !== 'bind' && mount.Type !== 'volume')) return false;
  if (Type === 'volume' && mount.Type === 'volume' && volumeName(mount) === Source) return true;
  const other = cleanPath(mount.Source ?? '');
  if (source === '' || other === '/') return false;
  if (isWithin(other, source)) return true;
  const isAbove = isWithin(source, other);
  // The folder of a volume, also of one of which only a part is copied.
  const isOfVolume = other === folderOf(source) || `${other}/`.includes(`/${String(Source)}/`);
  return isAbove && (Type === 'bind' || isOfVolume);
}

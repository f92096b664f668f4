import type { Container } from './container.ts';

/** A path in a container that differs from its image. */
export type FileChange = { readonly path: string; readonly kind: 'changed' | 'added' | 'removed' };

export type FileStat = {
  readonly kind: 'file' | 'folder' | 'link' | 'other';
  /** Bytes of a file. */
  readonly size: number;
  /** The engine's timestamp, verbatim. */
  readonly modifiedAt: string;
};

/**
 * Files that someone put into a container, and that no mount and no setting shows: compose writes `configs` with
 * `content` or `environment`, and `secrets` with `environment`; `docker cp` writes anything.
 */
type PlacedFiles = {
  /** Files, links and whole folders. None is below another one. */
  readonly roots: readonly string[];
  /** The bytes of all files. */
  readonly bytes: number;
  /** The largest file. Empty without files. */
  readonly largest: string;
  /** The file system stores whole seconds only, so placed files cannot be distinguished from others. */
  readonly isUnknowable: boolean;
};

/**
 * The changed paths that may be placed files, at most `limit`. Folders with few changes come first: a program that
 * writes many files has folders of its own.
 */
export function pathsToLookAt(
  { settings }: Container,
  changes: readonly FileChange[],
  limit: number,
): readonly string[] {
  const mounted = [
    ...settings.Mounts.map(({ Destination }) => Destination),
    ...Object.keys((settings.HostConfig['Tmpfs'] as object | null | undefined) ?? {}),
  ];
  const byFolder = new Map<string, string[]>();
  for (const { path, kind } of changes) {
    if (kind === 'removed' || mounted.some((folder) => isWithin(path, folder))) continue;
    const folder = folderOf(path);
    byFolder.set(folder, [...(byFolder.get(folder) ?? []), path]);
  }
  const folders = [...byFolder.values()].toSorted((one, other) => one.length - other.length);
  const paths = folders.flat();
  const atRoot = byFolder.has('/') ? ['/'] : [];
  return [...atRoot, ...paths].slice(0, limit);
}

type PlacedFilesOptions = {
  readonly changes: readonly FileChange[];
  /** By path. */
  readonly stats: ReadonlyMap<string, FileStat>;
  /** The build time of the container's image, milliseconds since the epoch; 0: unknown. */
  readonly imageCreatedAtMs: number;
  /** The roots that an earlier update has copied. */
  readonly recorded: readonly string[];
};

/**
 * The placed files among the changed paths. Archives have times in whole seconds, and a program that writes a file
 * leaves nanoseconds. A program may also set a time (`tar`, `cp -p`) or keep the one from the image (`chown`). So there
 * must be evidence that the file was written just before a start: its own time, or that of its folder.
 */
export function placedFiles(container: Container, options: PlacedFilesOptions): PlacedFiles {
  const { changes, stats } = options;
  const hasRun = container.state.startedAt !== '';
  const added = new Set(changes.filter(({ kind }) => kind === 'added').map(({ path }) => path));
  const isUnknowable = hasRun && stats.size > 1 && [...stats.values()].every(hasWholeSeconds);
  const found = new Map<string, FileStat>();
  for (const { path, kind } of isUnknowable ? [] : changes) {
    const stat = stats.get(path);
    if (stat === undefined || stat.kind === 'other' || kind === 'removed') continue;
    if (!hasRun || isPlaced(path, stat, container, { ...options, added })) found.set(path, stat);
  }
  const files = [...found].filter(([, { kind }]) => kind === 'file');
  const [largest = ''] = files.toSorted(([, one], [, other]) => other.size - one.size)[0] ?? [];
  const bytes = files.reduce((sum, [, { size }]) => sum + size, 0);
  return { roots: rootsOf(changes, found, { stats, added }), bytes, largest, isUnknowable };
}

/** `added`: the paths that the image does not have. */
type Surroundings = Pick<PlacedFilesOptions, 'stats'> & { readonly added: ReadonlySet<string> };

function isPlaced(
  path: string,
  stat: FileStat,
  container: Container,
  options: PlacedFilesOptions & Surroundings,
): boolean {
  const { createdAtMs, restartCount, state } = container;
  const { stats, added, imageCreatedAtMs, recorded } = options;
  if (!hasWholeSeconds(stat)) return false;
  if (recorded.some((root) => isWithin(path, root))) return true;
  const isAdded = added.has(path);
  const folder = stats.get(folderOf(path));
  // The engine's clock stamps a folder when an entry is added or replaced. This one has its time from an archive.
  const isUnchanged = isAdded && added.has(folderOf(path)) && folder !== undefined && hasWholeSeconds(folder);
  if (isUnchanged && isPlaced(folderOf(path), folder, container, options)) return true;
  const stampMs = folder === undefined || hasWholeSeconds(folder) ? undefined : Date.parse(folder.modifiedAt);
  const atMs = Date.parse(stat.modifiedAt);
  const startedAtMs = Date.parse(state.startedAt);
  // A file with a time from its image is older than the image.
  const isNewer = imageCreatedAtMs > 0 && atMs > imageCreatedAtMs + roundingMs && atMs >= createdAtMs - nearMs;
  if (atMs >= createdAtMs - roundingMs || (isAdded && isNewer)) {
    if (atMs <= createdAtMs + nearMs) return true;
    if (atMs >= startedAtMs - nearMs && atMs <= startedAtMs + roundingMs) return true;
    return stampMs !== undefined && Math.abs(stampMs - atMs) <= 2 * roundingMs;
  }
  // Before its first start nothing but an archive adds to a folder. Later starts hide the time of the first.
  const isFirstRun = restartCount === 0 && startedAtMs - createdAtMs <= nearMs;
  if (!isFirstRun || stampMs === undefined) return false;
  if (stampMs < createdAtMs - roundingMs || stampMs > startedAtMs - startMs) return false;
  return isAdded || isReplaced(path, atMs, options);
}

/**
 * Whether a file of the image was replaced, and not only given to another owner, where its folder has a time from before
 * the first start: it is newer than the image, or nothing else explains that time. Mount points and removed files do.
 */
function isReplaced(path: string, atMs: number, { changes, stats, imageCreatedAtMs }: PlacedFilesOptions): boolean {
  if (imageCreatedAtMs > 0 && atMs > imageCreatedAtMs + roundingMs) return true;
  const beside = changes.filter((other) => other.path !== path && folderOf(other.path) === folderOf(path));
  return beside.every((other) => {
    const stat = stats.get(other.path);
    return other.kind === 'changed' && stat !== undefined && !hasWholeSeconds(stat);
  });
}

/** The folder of an absolute path. */
export function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/';
}

/** The folders above an absolute path, the outermost first, without `/`. */
export function foldersAbove(path: string): readonly string[] {
  const folder = folderOf(path);
  return folder === '/' ? [] : [...foldersAbove(folder), folder];
}

/** Long against the start of many services by compose, short against the life of a container. */
const nearMs = 600_000;

/** An archive has the nearest second, and its writer reads the clock before the engine does. */
const roundingMs = 1000;

/** A process runs for some milliseconds before the engine notes its start, and a start takes 100 ms and more. */
const startMs = 50;

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`);
}

function hasWholeSeconds({ modifiedAt }: FileStat): boolean {
  return !/\.\d*[1-9]/.test(modifiedAt);
}

/** Joins placed files to the outermost folders that the image does not have and that contain nothing else. */
function rootsOf(
  changes: readonly FileChange[],
  placed: ReadonlyMap<string, FileStat>,
  { stats, added }: Surroundings,
): readonly string[] {
  const mixed = new Set<string>();
  const needed = new Set<string>();
  for (const path of placed.keys()) for (const folder of foldersAbove(path)) needed.add(folder);
  for (const { path, kind } of changes) {
    const isCovered = placed.has(path) || (stats.get(path)?.kind === 'folder' && needed.has(path));
    if (kind === 'removed' || (isCovered && added.has(path))) continue;
    if (placed.has(path) && stats.get(path)?.kind !== 'folder') continue;
    for (const folder of [...foldersAbove(path), path]) mixed.add(folder);
  }
  const roots = new Set<string>();
  for (const [path, { kind }] of placed) {
    const whole = foldersAbove(path).find((folder) => added.has(folder) && !mixed.has(folder));
    // A folder with other things in it is made again for the files in it.
    if (whole === undefined && kind === 'folder' && mixed.has(path)) continue;
    roots.add(whole ?? path);
  }
  return [...roots].toSorted();
}

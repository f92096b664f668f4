import type { FileChange, FileStat } from '../../src/domain/container/placed-files.ts';
import type { EngineReader } from '../../src/domain/outside/engine.ts';
import { ServiceError } from '../../src/domain/text/errors.ts';
import { Refusal } from '../base/simulation.ts';
import { engineNowMs, engineTimestamp, type SandboxContainer, type SandboxFile, type World } from '../world/world.ts';

/** The folders of every image. It has no files in them. */
const imageFolders: readonly string[] = ['/', '/bin', '/etc', '/tmp'];

export function changesOf(container: SandboxContainer | undefined): readonly FileChange[] | 'absent' {
  if (container === undefined) return 'absent';
  return [...container.files.keys()]
    .filter((path) => path !== '/')
    .map((path) => ({ path, kind: imageFolders.includes(path) ? 'changed' : 'added' }));
}

export function statFile({ files }: SandboxContainer, path: string): FileStat | undefined {
  const file = files.get(path);
  if (file !== undefined) return { kind: file.kind, size: file.content.length, modifiedAt: file.modifiedAt };
  return imageFolders.includes(path) ? { kind: 'folder', size: 0, modifiedAt: imageTime } : undefined;
}

const imageTime = '1970-01-01T00:00:00Z';

/** The archive: entries of JSON, each with its path below the folder of the archive. */
type Archive = readonly (SandboxFile & { readonly path: string })[];

export function readFiles(
  { files }: SandboxContainer,
  path: string,
  { maxBytes, isFolderOnly = false }: Parameters<EngineReader['readFiles']>[2],
): Uint8Array | undefined {
  const found = [...files].filter(([one]) => one === path || (!isFolderOnly && one.startsWith(`${path}/`)));
  if (!found.some(([one]) => one === path)) {
    if (!imageFolders.includes(path)) return undefined;
    found.push([path, { kind: 'folder', content: '', mode: 0o755, owner: '0:0', modifiedAt: imageTime }]);
  }
  const above = path.lastIndexOf('/');
  const archive: Archive = found
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([one, file]) => ({ ...file, path: one.slice(above + 1), modifiedAt: wholeSecond(file.modifiedAt) }));
  const bytes = Buffer.from(JSON.stringify(archive));
  if (bytes.length > maxBytes) throw new ServiceError('engine-refused', `Cannot read "${path}": it is too large`);
  return bytes;
}

export function writeFiles(world: World, container: SandboxContainer, folder: string, files: Uint8Array): void {
  if (container.hostConfig['ReadonlyRootfs'] === true) throw new Refusal(403, 'container rootfs is marked read-only');
  if (statFile(container, folder)?.kind !== 'folder')
    throw new Refusal(404, `Could not find the file ${folder} in container ${container.id}`);
  const archive = JSON.parse(Buffer.from(files).toString()) as Archive;
  for (const { path, ...file } of archive) setFile(world, container, `${folder === '/' ? '' : folder}/${path}`, file);
  // The engine sets the times of folders last.
  for (const { path, ...file } of archive)
    if (file.kind === 'folder') container.files.set(`${folder === '/' ? '' : folder}/${path}`, file);
}

/** Like compose and `docker cp`: the nearest second, and missing folders by the engine's clock. */
export function placeFile(world: World, container: SandboxContainer, path: string, file: Partial<SandboxFile>): void {
  const modifiedAt = wholeSecond(new Date(engineNowMs(world) + 500).toISOString());
  setFile(world, container, path, { ...plainFile, mode: 0o444, modifiedAt, ...file });
}

/** As a process in the container does. */
export function writeAsProcess(world: World, container: SandboxContainer, path: string, content: string): void {
  setFile(world, container, path, { ...plainFile, content, modifiedAt: engineTimestamp(world) });
}

const plainFile: SandboxFile = { kind: 'file', content: '', mode: 0o644, owner: '0:0', modifiedAt: '' };

/** Makes missing folders, and stamps the folder of a new entry. */
function setFile(world: World, { files }: SandboxContainer, path: string, file: SandboxFile): void {
  const modifiedAt = engineTimestamp(world);
  for (let folder = above(path); folder !== ''; folder = above(folder)) {
    const isDirect = folder === above(path);
    if (!files.has(folder) || isDirect)
      files.set(folder, { ...plainFile, mode: 0o755, ...files.get(folder), kind: 'folder', modifiedAt });
  }
  files.set(path, file);
}

function above(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}

function wholeSecond(timestamp: string): string {
  return `${timestamp.slice(0, 'YYYY-MM-DDTHH:MM:SS'.length)}Z`;
}

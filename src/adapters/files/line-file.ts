import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf } from '../../domain/text/errors.ts';

/** A file that lines are appended to. */
export type OpenFile = { readonly handle: FileHandle; readonly bytes: number };

export type Lines = {
  /** Undefined: the file is missing or empty. */
  readonly first: string | undefined;
  readonly isMissing: boolean;
  /** The lines after the first. */
  readonly lines: readonly string[];
  /** Lines after the first were omitted. */
  readonly isCut: boolean;
};

/** The first line, and the lines in the last 64 MiB of a file. */
export async function readLines(path: string): Promise<Lines> {
  const handle = await openIfThere(path);
  if (handle === undefined) return { first: undefined, isMissing: true, lines: [], isCut: false };
  try {
    const { size } = await handle.stat();
    const fromByte = Math.max(0, size - maxBytes);
    const text = await readBetween(handle, fromByte, size);
    const lines = text.split('\n').filter((line) => line.trim() !== '');
    if (fromByte === 0) return { first: lines[0], isMissing: false, lines: lines.slice(1), isCut: false };
    const [first] = (await readBetween(handle, 0, maxHead)).split('\n');
    return { first, isMissing: false, lines: lines.slice(1), isCut: true };
  } finally {
    await handle.close();
  }
}

/**
 * Appends lines and syncs them. Returns the file for the next lines. An incomplete last line is ended first. A new file
 * starts with the head, if there is one, also after a removal of the open file.
 */
export async function appendLines(
  file: OpenFile | undefined,
  path: string,
  { head, lines }: { readonly head?: string; readonly lines: readonly string[] },
): Promise<OpenFile> {
  const isGone = file !== undefined && (await file.handle.stat()).nlink === 0;
  if (isGone) await closeLines(file);
  const { handle, bytes, before } =
    file === undefined || isGone ? await openAtEnd(path, head) : { ...file, before: '' };
  try {
    const text = `${before}${lines.map((line) => `${line}\n`).join('')}`;
    await handle.appendFile(text);
    await handle.datasync();
    return { handle, bytes: bytes + Buffer.byteLength(text) };
  } catch (error) {
    await closeLines({ handle });
    throw error;
  }
}

/** Lines are synced before, so a failure of the close loses none. */
export async function closeLines(file: { readonly handle: Pick<FileHandle, 'close'> } | undefined): Promise<void> {
  await file?.handle.close().catch(() => undefined);
}

/** Writes a new file next to the old one and renames it. Returns its size in bytes. */
export async function replaceLines(path: string, lines: readonly string[]): Promise<number> {
  const text = lines.map((line) => `${line}\n`).join('');
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  // Removes a leftover first, because its file mode would stay.
  await rm(`${path}.new`, { force: true });
  try {
    await writeWhole(path, text);
    await rename(`${path}.new`, path);
  } catch (error) {
    await rm(`${path}.new`, { force: true }).catch(() => undefined);
    throw error;
  }
  await syncFolder(dirname(path));
  return Buffer.byteLength(text);
}

/** Limits the memory for the file of another program. */
const maxBytes = 64 * 1024 * 1024;

const maxHead = 200;

/** Writes the file that replaces `path`. */
async function writeWhole(path: string, text: string): Promise<void> {
  const handle = await open(`${path}.new`, 'wx', 0o600);
  try {
    await giveToOwner(handle, (await isRegular(path)) ? path : dirname(path));
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await openRegular(path, constants.O_RDONLY);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Opens no link, which may lead anywhere, and nothing that would wait for another process, such as a pipe. */
async function openRegular(path: string, flags: number): Promise<FileHandle> {
  const handle = await open(path, flags | constants.O_NOFOLLOW | constants.O_NONBLOCK, 0o600).catch(
    (error: unknown) => {
      throw codeOf(error) === 'ELOOP' ? new Error('it is a link, which is not followed') : error;
    },
  );
  if ((await handle.stat()).isFile()) return handle;
  await closeLines({ handle });
  throw new Error('it is no regular file');
}

async function isRegular(path: string): Promise<boolean> {
  return await lstat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}

/**
 * Gives a new file of root to the owner of its folder, or of the file that it replaces: a service without root's rights
 * must read what root has written there. Where the system refuses that, the file stays root's.
 */
export async function giveToOwner(file: Pick<FileHandle, 'chown'>, of: string): Promise<void> {
  if (process.geteuid?.() !== 0) return;
  const { uid, gid } = await stat(of);
  if (uid !== 0) await file.chown(uid, gid).catch(() => undefined);
}

/** Makes a folder within another one, whose owner owns it too. A failure is left to its user. */
export async function makeFolderIn(folder: string): Promise<void> {
  await mkdir(folder, { mode: 0o700 }).catch(() => undefined);
  const handle = await open(folder, constants.O_DIRECTORY | constants.O_NOFOLLOW).catch(() => undefined);
  if (handle === undefined) return;
  await giveToOwner(handle, dirname(folder)).catch(() => undefined);
  await closeLines({ handle });
}

/** Bytes of a file as text. Shorter if the file ends earlier. */
async function readBetween(handle: FileHandle, fromByte: number, untilByte: number): Promise<string> {
  const buffer = Buffer.alloc(untilByte - fromByte);
  let filled = 0;
  while (filled < buffer.length) {
    const { bytesRead } = await handle.read(buffer, filled, buffer.length - filled, fromByte + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled).toString();
}

async function openAtEnd(path: string, head: string | undefined): Promise<OpenFile & { readonly before: string }> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const handle = await openRegular(path, constants.O_RDWR | constants.O_APPEND | constants.O_CREAT);
  try {
    await syncFolder(dirname(path));
    const { size } = await handle.stat();
    if (size === 0) await giveToOwner(handle, dirname(path));
    const end = size === 0 ? '' : await readBetween(handle, size - 1, size);
    const isWhole = size === 0 || end === '\n';
    const before = size === 0 && head !== undefined ? `${head}\n` : isWhole ? '' : '\n';
    return { handle, bytes: size, before };
  } catch (error) {
    await closeLines({ handle });
    throw error;
  }
}

/**
 * The name of a new file is stored in its folder. Some file systems cannot sync a folder:
 * https://man7.org/linux/man-pages/man2/fsync.2.html
 */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } catch (error) {
    if (codeOf(error) !== 'EINVAL') throw error;
  } finally {
    await handle.close();
  }
}

import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, readdir, readlink, realpath, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, relative, sep } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isTorn } from '../../domain/compose/compose-record.ts';
import type { ComposeRefusal } from '../../domain/compose/compose-state.ts';
import { codeOf, messageWithoutPath } from '../../domain/text/errors.ts';
import { makeFolderIn, replaceLines } from './line-file.ts';

/** A folder that may be read: as the labels of containers name it, and where this process sees it. */
export type Root = { readonly named: string; readonly seen: string };

/** `failed`: the system refused a write, and the old bytes are back; `lost` if they could not be put back. */
type Rewritten =
  | { readonly kind: 'written' }
  | { readonly kind: 'refused'; readonly reason: ComposeRefusal; readonly detail?: string }
  | { readonly kind: 'failed' | 'lost'; readonly error: string };

/**
 * Replaces the bytes of a file in place, if it still has the old ones: owner, mode, access lists, hard links and a mount
 * of the file alone stay as they are. `path` has no links. The first byte that differs and all after it are written with
 * one call. A shorter text is first filled up with line ends, which mean nothing in YAML, and then cut: a reader never
 * sees the rest of the old text behind the new one.
 */
export async function rewriteFile(path: string, before: Buffer, after: Buffer): Promise<Rewritten> {
  let file: FileHandle | undefined;
  try {
    file = await openRegular(path, constants.O_RDWR);
    if (file === undefined) return { kind: 'refused', reason: 'unreadable' };
    if ((await file.stat()).nlink === 0) return { kind: 'refused', reason: 'orphan' };
    if (!(await readWhole(file))?.equals(before)) return { kind: 'refused', reason: 'changed' };
    return await replaceBytes(file, path, before, after);
  } catch (error) {
    return { kind: 'refused', ...reasonOf(error) };
  } finally {
    await file?.close().catch(() => undefined);
  }
}

async function replaceBytes(file: FileHandle, path: string, before: Buffer, after: Buffer): Promise<Rewritten> {
  const start = firstDifference(before, after);
  try {
    await writeFrom(file, filledUp(before, after), start);
    if (after.length < before.length) await file.truncate(after.length);
    await sync(file);
    if (!(await readWhole(file))?.equals(after)) throw new Error('the file has other bytes than were written');
  } catch (error) {
    const why = messageWithoutPath(error);
    try {
      await writeFrom(file, before, start);
      await file.truncate(before.length);
      await sync(file);
      return { kind: 'failed', error: why };
    } catch (again) {
      return { kind: 'lost', error: `${why}; the old text could not be put back: ${messageWithoutPath(again)}` };
    }
  }
  // An editor may have put another file in its place meanwhile, so that ours is nowhere.
  const [ours, there] = await Promise.all([file.stat(), stat(path).catch(() => undefined)]);
  return there?.ino === ours.ino && there.dev === ours.dev
    ? { kind: 'written' }
    : { kind: 'refused', reason: 'changed' };
}

/** The bytes that are written, with the length of the old ones at least. */
function filledUp(before: Buffer, after: Buffer): Buffer {
  return Buffer.concat([after, Buffer.alloc(Math.max(0, before.length - after.length), '\n')]);
}

function firstDifference(one: Buffer, other: Buffer): number {
  let index = 0;
  while (index < one.length && one[index] === other[index]) index += 1;
  return index;
}

async function writeFrom(file: FileHandle, bytes: Buffer, start: number): Promise<void> {
  let position = start;
  while (position < bytes.length) {
    const { bytesWritten } = await file.write(bytes, position, bytes.length - position, position);
    if (bytesWritten === 0) throw new Error('nothing more could be written');
    position += bytesWritten;
  }
}

/** Some file systems in a network cannot sync. */
async function sync(file: FileHandle): Promise<void> {
  try {
    await file.sync();
  } catch (error) {
    if (!['EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'].includes(codeOf(error) ?? '')) throw error;
  }
}

/** `end`: the bytes that the file is to have. */
type TornFile = { readonly path: string; readonly before: Buffer; readonly after: Buffer; readonly end: Buffer };

/** Gives a file that an interrupted write has left between two texts one of them. False: it is not such a file. */
export async function mendFile({ path, before, after, end }: TornFile): Promise<boolean> {
  const file = await openRegular(path, constants.O_RDWR);
  if (file === undefined) return false;
  try {
    const bytes = await readWhole(file);
    if (bytes === undefined || bytes.equals(before) || bytes.equals(after)) return false;
    if (!isTorn(bytes, before, after)) return false;
    return (await replaceBytes(file, path, bytes, end)).kind === 'written';
  } finally {
    await file.close();
  }
}

/** Undefined if it is no regular file, or has another path than a moment ago: a folder above has become a link. */
export async function openRegular(real: string, flags: number): Promise<FileHandle | undefined> {
  const file = await open(real, flags | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const opened = await readlink(`/proc/self/fd/${file.fd}`).catch(() => real);
    // A file that was removed meanwhile has this end.
    if ((await file.stat()).isFile() && (opened === real || opened === `${real} (deleted)`)) return file;
  } catch (error) {
    await file.close();
    throw error;
  }
  await file.close();
  return undefined;
}

/** Whether a path without links is below a root. Files of the kernel never are. Without roots all others are. */
export async function isInRoots(real: string, roots: readonly Root[]): Promise<boolean> {
  if (['/proc', '/sys', '/dev'].some((folder) => isBelow(real, folder))) return false;
  if (roots.length === 0) return true;
  const folders = await Promise.all(roots.map(({ seen }) => realpath(seen).catch(() => undefined)));
  return folders.some((folder) => folder !== undefined && isBelow(real, folder));
}

/** `folder` may be `/`, or end with a slash. */
export function isBelow(path: string, folder: string): boolean {
  return path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

/** Undefined if it is no regular file, too large, no UTF-8, or another file than a moment ago. */
export async function readText(real: string): Promise<string | undefined> {
  const file = await openRegular(real, constants.O_RDONLY);
  try {
    const bytes = file && (await readWhole(file));
    return bytes && new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } finally {
    await file?.close();
  }
}

/** Undefined if it is too large. */
export async function readWhole(file: FileHandle): Promise<Buffer | undefined> {
  if ((await file.stat()).size > maxBytes) return undefined;
  const buffer = Buffer.alloc(maxBytes + 1);
  let filled = 0;
  for (;;) {
    const { bytesRead } = await file.read(buffer, filled, buffer.length - filled, filled);
    filled += bytesRead;
    if (filled > maxBytes) return undefined;
    if (bytesRead === 0) return buffer.subarray(0, filled);
  }
}

/** Reading takes the time of the whole service, and no compose file is as large. */
const maxBytes = 256 * 1024;

export function hashOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function reasonOf(error: unknown): { readonly reason: ComposeRefusal; readonly detail?: string } {
  switch (codeOf(error)) {
    case 'EROFS':
      return { reason: 'read-only' };
    case 'EACCES':
    case 'EPERM':
      return { reason: 'not-writable' };
    case 'ENOENT':
    case 'ENOTDIR':
      return { reason: 'missing' };
    default:
      return { reason: 'unreadable', detail: messageWithoutPath(error) };
  }
}

/** The reason why a file may not be written. Undefined if nothing speaks against it. */
export async function whyNotWritable(path: string): Promise<ComposeRefusal | undefined> {
  try {
    const file = await openRegular(path, constants.O_RDWR);
    if (file === undefined) return 'unreadable';
    try {
      return (await file.stat()).nlink === 0 ? 'orphan' : undefined;
    } finally {
      await file.close();
    }
  } catch (error) {
    return reasonOf(error).reason;
  }
}

/** The mark that an editor or git is about to write a file. Waits a while, because git works for a moment only. */
export async function heldByEditor(path: string, waitMs = 5000): Promise<string | undefined> {
  const [folder, name] = [dirname(path), basename(path)];
  const marks = [`.${name}.swp`, `.#${name}`, `${name}~lock`, `.~lock.${name}#`].map((mark) => join(folder, mark));
  for (let above = folder, depth = 0; depth < 40; above = dirname(above), depth += 1) {
    marks.push(join(above, '.git/index.lock'));
    if (above === dirname(above)) break;
  }
  const untilMs = performance.now() + waitMs;
  for (;;) {
    const found = await Promise.all(
      marks.map((mark) =>
        lstat(mark).then(
          () => mark,
          () => undefined,
        ),
      ),
    );
    const held = found.find((mark) => mark !== undefined);
    if (held === undefined || performance.now() >= untilMs) return held;
    await sleep(200);
  }
}

/** The work tree of git that tracks a file, so that its owner has a change to commit. Undefined: none, or not known. */
export async function workTreeOf(path: string): Promise<string | undefined> {
  for (let above = dirname(path), depth = 0; depth < 40; above = dirname(above), depth += 1) {
    const index = await open(join(above, '.git/index'), constants.O_RDONLY | constants.O_NONBLOCK).catch(
      () => undefined,
    );
    if (index !== undefined) {
      try {
        const stats = await index.stat();
        if (!stats.isFile() || stats.size > maxIndexBytes) return undefined;
        // Each entry ends with its path and a zero: https://git-scm.com/docs/index-format
        return (await index.readFile()).includes(`${relative(above, path)}\0`) ? above : undefined;
      } finally {
        await index.close();
      }
    }
    if (above === dirname(above)) return undefined;
  }
  return undefined;
}

const maxIndexBytes = 16 * 1024 * 1024;

/** Keeps the old bytes of a file under the id of its change, and the last of them only. They may have secrets. */
export async function keepCopy(folder: string, id: string, bytes: Buffer): Promise<void> {
  await mkdir(dirname(folder), { recursive: true, mode: 0o700 });
  await makeFolderIn(folder);
  await replaceLines(copyOf(folder, id), [bytes.toString('base64')]);
  const names = (await readdir(folder)).filter((name) => name.endsWith('.copy'));
  if (names.length <= maxCopies) return;
  const aged = await Promise.all(
    names.map(async (name) => ({ name, ms: (await stat(join(folder, name)).catch(() => ({ mtimeMs: 0 }))).mtimeMs })),
  );
  const old = aged.sort((one, other) => other.ms - one.ms).slice(maxCopies);
  await Promise.all(old.map(({ name }) => rm(join(folder, name), { force: true })));
}

const maxCopies = 20;

/** Undefined if there is none. */
export async function readCopy(folder: string, id: string): Promise<Buffer | undefined> {
  const file = await open(copyOf(folder, id), constants.O_RDONLY | constants.O_NOFOLLOW).catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    return Buffer.from((await file.readFile('utf8')).trim(), 'base64');
  } finally {
    await file.close();
  }
}

function copyOf(folder: string, id: string): string {
  return join(folder, `${id.replaceAll(/[^\w-]/g, '')}.copy`);
}

import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { SharedRecords } from '../../domain/outside/record-store.ts';
import { lockFolder } from './folder-lock.ts';
import { createRecordFile, type RecordFileOptions } from './record-file.ts';
import { createQueue, withDeadline } from './queue.ts';

/**
 * Records that several processes write. A process holds a lock during each write. Without the lock in time, it logs a
 * warning and does not write. On file systems without locks it writes without a lock.
 */
export function createSharedRecords<Item>(options: RecordFileOptions<Item>): SharedRecords<Item> {
  const { path, what, log } = options;
  const file = createRecordFile(options);
  let known: readonly Item[] = [];
  let version: string | undefined;
  const inTurn = createQueue();

  async function readAll(): Promise<readonly Item[]> {
    const now = await versionOf(path);
    if (now === version) return known;
    const read = await file.peek();
    if (read === undefined) return known;
    [known, version] = [read, now];
    return known;
  }

  async function appendAll(items: readonly Item[]): Promise<'kept' | 'not-kept'> {
    const lock = await lockFolder(join(dirname(path), `${what}.lock`), lockTries);
    if (lock.kind === 'taken') {
      log.warn(`The ${what} cannot be kept: another process holds their lock`);
      return 'not-kept';
    }
    try {
      // Only reading shows that a file has a newer version.
      await readAll();
      return await file.append(items);
    } finally {
      await file.close();
      if (lock.kind === 'held') await lock.release();
    }
  }

  return {
    read: () => withDeadline(inTurn(readAll), readDeadlineMs, known),
    append: (items) =>
      withDeadline(
        inTurn(() => appendAll(items)),
        writeDeadlineMs,
        'not-kept',
      ),
  };
}

const readDeadlineMs = 5000;
const writeDeadlineMs = 20_000;

/** About 60 ms apart. A write takes a few milliseconds. */
const lockTries = 80;

/** Changes with every write: an append changes the size, a replacement the inode. */
async function versionOf(path: string): Promise<string> {
  try {
    const { ino, size, mtimeNs } = await stat(path, { bigint: true });
    return `${ino} ${size} ${mtimeNs}`;
  } catch {
    return 'none';
  }
}

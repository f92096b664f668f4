import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { SharedRecords } from '../../domain/outside/record-store.ts';
import { lockFolder } from './folder-lock.ts';
import { createRecordFile, type RecordFileOptions } from './record-file.ts';
import { createQueue, withDeadline } from './queue.ts';

/**
 * Records that several processes write. A process holds a lock during each write. Without the lock in time, it logs a
 * warning and does not write. On file systems without locks it writes without a lock. The lock is held until the write
 * has ended, however long a network file system takes: the deadlines are for the callers only.
 */
export function createSharedRecords<Item>(options: RecordFileOptions<Item>): SharedRecords<Item> {
  const { path, what, log, deadlineMs } = options;
  const file = createRecordFile({ ...options, deadlineMs: Infinity });
  let known: readonly Item[] = [];
  let version: string | undefined;
  const inTurn = createQueue();
  let waiting = 0;

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

  async function answer<Result>(work: () => Promise<Result>, ms: number, late: Result): Promise<Result> {
    if (waiting >= mostWaiting) return late;
    waiting += 1;
    const done = inTurn(work).finally(() => (waiting -= 1));
    return await withDeadline(done, deadlineMs ?? ms, late);
  }

  return {
    read: () => answer(readAll, readDeadlineMs, known),
    append: (items) => answer(() => appendAll(items), writeDeadlineMs, 'not-kept'),
  };
}

/** Limit of pending reads and writes. */
const mostWaiting = 1000;

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

import { lstat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { SharedRecords } from '../../domain/outside/outside.ts';
import { codeOf } from '../../domain/text/errors.ts';
import { lockFolder } from './folder-lock.ts';
import { createRecordFile, noAnswer, type RecordFileOptions } from './record-file.ts';
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
  /** Of the file as it was read without a fault. */
  let version: string | undefined;
  let fault: string | undefined;
  const inTurn = createQueue();
  let waiting = 0;

  async function readAll(): Promise<readonly Item[]> {
    const now = await versionOf(path);
    if (now === undefined || now !== version) {
      const { items, fault: why } = await file.peek();
      fault = why;
      if (why === undefined) [known, version] = [items, now];
    } else {
      fault = undefined;
    }
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
      return fault === undefined ? await file.append(items) : 'not-kept';
    } finally {
      await file.close();
      if (lock.kind === 'held') await lock.release();
    }
  }

  async function answer<Result>(work: () => Promise<Result>, ms: number): Promise<Result | 'late'> {
    if (waiting >= mostWaiting) return 'late';
    waiting += 1;
    const done = inTurn(work).finally(() => (waiting -= 1));
    return await withDeadline(done, deadlineMs ?? ms, 'late');
  }

  return {
    async read() {
      const read = await answer(readAll, readDeadlineMs);
      if (read !== 'late') return read;
      fault = noAnswer;
      return known;
    },
    fault: () => (fault === undefined ? undefined : `${basename(path)}: ${fault}`),
    async append(items) {
      const written = await answer(() => appendAll(items), writeDeadlineMs);
      return written === 'late' ? 'not-kept' : written;
    },
  };
}

/** Limit of pending reads and writes. */
const mostWaiting = 1000;

const readDeadlineMs = 5000;
const writeDeadlineMs = 20_000;

/** About 60 ms apart. A write takes a few milliseconds. */
const lockTries = 80;

/** Changes with every write: an append changes the size, a replacement the inode. Undefined: it is not known. */
async function versionOf(path: string): Promise<string | undefined> {
  try {
    const { ino, size, mtimeNs } = await lstat(path, { bigint: true });
    return `${ino} ${size} ${mtimeNs}`;
  } catch (error) {
    return codeOf(error) === 'ENOENT' ? 'none' : undefined;
  }
}

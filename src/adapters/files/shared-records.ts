import { lstat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { SharedRecords, Log, LogFields, RecordStore } from '../../domain/outside/outside.ts';
import { codeOf, messageWithoutPath } from '../../domain/text/errors.ts';
import { lockFolder, createQueue, withDeadline } from './folder-lock.ts';
import { isJsonObject, parseJson } from '../../domain/text/json.ts';
import { quoted } from '../../domain/text/printable.ts';
import { appendLines, closeLines, makeFolderIn, readLines, replaceLines, type OpenFile } from './line-file.ts';

/**
 * Records that several processes write. A process holds a lock during each write. Without the lock in time, it logs a
 * warning and does not write. On file systems without locks it writes without a lock. The lock is held until the write
 * has ended, however long a network file system takes: the deadlines are for the callers only.
 */
export function createSharedRecords<Item>(options: RecordFileOptions<Item>): SharedRecords<Item> {
  const { path, what, mustBeWhole, log, deadlineMs } = options;
  const file = createRecordFile({ ...options, deadlineMs: Infinity });
  let known: readonly Item[] = [];
  /** Of the file as it was read without a fault. */
  let version: string | undefined;
  /** The file as it was last read without a fault, or written. */
  let whole: FileState | undefined;
  let fault: string | undefined;
  const inTurn = createQueue();
  let waiting = 0;

  async function readAll(): Promise<readonly Item[]> {
    const now = await stateOf(path);
    if (now !== undefined && now.version === version) {
      fault = undefined;
      return known;
    }
    const { items, fault: why } = await file.peek();
    if (why === undefined && mustBeWhole === true && isShortened(whole, now)) {
      if (fault !== shortened) log.warn(`The ${what} in ${quoted(path, 300)} do not count: ${shortened}`);
      fault = shortened;
      return known;
    }
    fault = why;
    if (why === undefined) [known, version, whole] = [items, now?.version, now ?? whole];
    return known;
  }

  async function appendAll(items: readonly Item[]): Promise<'kept' | 'not-kept'> {
    const folder = join(dirname(path), `${what}.lock`);
    await makeFolderIn(folder);
    const lock = await lockFolder(folder, lockTries);
    if (lock.kind === 'taken') {
      log.warn(`The ${what} cannot be kept: another process holds their lock`);
      return 'not-kept';
    }
    try {
      // Only reading shows that a file has a newer version.
      await readAll();
      if (fault !== undefined) return 'not-kept';
      const written = await file.append(items);
      whole = (await stateOf(path)) ?? whole;
      return written;
    } finally {
      await file.close();
      if (lock.kind === 'held') await lock.release();
    }
  }

  async function answer<Result>(work: () => Promise<Result>, ms: number): Promise<Result | 'late'> {
    if (waiting >= maxWaiting) return 'late';
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
const maxWaiting = 1000;

const readDeadlineMs = 5000;
const writeDeadlineMs = 20_000;

/** About 60 ms apart. A write takes a few milliseconds. */
const lockTries = 80;

type FileState = {
  /** Changes with every write: an append changes the size, a replacement the inode. */
  readonly version: string;
  /** Changes with a replacement only. An inode may be used again, so the time of its creation is added. Undefined: there is no file. */
  readonly identity: string | undefined;
  readonly bytes: bigint;
};

const missing = 'none';

/** Undefined: it is not known. */
async function stateOf(path: string): Promise<FileState | undefined> {
  try {
    const { ino, size, mtimeNs, birthtimeNs } = await lstat(path, { bigint: true });
    return { version: `${ino} ${size} ${mtimeNs}`, identity: `${ino} ${birthtimeNs}`, bytes: size };
  } catch (error) {
    return codeOf(error) === 'ENOENT' ? { version: missing, identity: undefined, bytes: 0n } : undefined;
  }
}

/** No process of ours does that: each appends, or replaces the file by another one. */
function isShortened(before: FileState | undefined, now: FileState | undefined): boolean {
  if (before?.identity === undefined || now === undefined) return false;
  return now.identity === undefined || (now.identity === before.identity && now.bytes < before.bytes);
}

const shortened = 'it has become shorter, or was removed, while Upkeep runs';

export type RecordFileOptions<Item> = {
  readonly path: string;
  /** The content in messages: `decisions`. */
  readonly what: string;
  /** Stored in the first line. A file of a higher version is not changed. */
  readonly version: number;
  /** Reads one line's JSON. Undefined for any other value. */
  readonly read: (value: unknown) => Item | undefined;
  /** The items to keep, at the start and whenever the file has doubled its size. */
  readonly compact: (items: readonly Item[]) => readonly Item[];
  /**
   * A line that cannot be read makes the whole file unreadable, because a missing item would permit something. So does
   * an empty file, and one that was shortened or removed. Absent: such a line is skipped.
   */
  readonly mustBeWhole?: true;
  readonly log: Pick<Log, 'warn'>;
  /** A file of at least this size is compacted; 1 MiB by default. */
  readonly compactFromBytes?: number;
  /** The time limit of a write before the answer is `not-kept`; 10 s by default. */
  readonly deadlineMs?: number;
};

type RecordFile<Item> = RecordStore<Item> & {
  /** All stored items. Read-only. With a `fault`, and a log message, if the file cannot be read. */
  readonly peek: () => Promise<Read<Item>>;
};

/** `fault`: why not all items are known. It follows the name of the file. */
type Read<Item> = { readonly items: readonly Item[]; readonly fault: string | undefined };

/**
 * Stores items as JSON lines. `append` resolves after the sync. Unreadable lines are skipped. Writes run one at a time.
 * Failures of the disk do not throw: the log reports once that items are not stored, and once that they are stored
 * again.
 */
export function createRecordFile<Item>(options: RecordFileOptions<Item>): RecordFile<Item> {
  const { path, what, version, read, compact, mustBeWhole, log } = options;
  const { deadlineMs = 10_000, compactFromBytes = 1024 * 1024 } = options;
  const name = quoted(path, 300);
  const head = JSON.stringify({ file: `upkeep ${what}`, version });
  const inTurn = createQueue();
  let file: OpenFile | undefined;
  /** It is not changed: it may have items that this version does not know. */
  let isForeign = false;
  let isFailing = false;
  const warned = new Set<string>();
  let waiting = 0;
  let compactAtBytes = compactFromBytes;

  async function loadAll(): Promise<readonly Item[]> {
    let items: readonly Item[] = [];
    try {
      ({ items } = await readItems());
      if (!isForeign) await rewrite(compact(items));
    } catch (error) {
      warnFailing(error);
    }
    return items;
  }

  async function readItems(): Promise<Read<Item>> {
    const { first, isMissing, lines, isCut } = await readLines(path);
    isForeign = first !== undefined && first !== head && isOfOther(first, what, version);
    if (isForeign) {
      warnOnce(`The ${what} are not kept: ${name} was written by a newer version or another program`);
      return { items: [], fault: 'it was written by a newer version or another program' };
    }
    if (isCut) warnOnce(`Only the end of ${name} is read, because it is too large`);
    const all = first === undefined || first === head ? lines : [first, ...lines];
    const found = all.map((line) => ({ line, item: read(parseJson(line)) }));
    const items = found.flatMap(({ item }) => item ?? []);
    const unreadable = found.filter(({ item }) => item === undefined);
    // A process that was killed during a write leaves one unreadable line.
    if (unreadable.length > 1) warnOnce(`Some lines of ${name} cannot be read`, { lines: unreadable.length });
    if (mustBeWhole !== true) return { items, fault: undefined };
    const isEmpty = first === undefined && !isMissing;
    isForeign = isEmpty || isCut || unreadable.some(({ line }) => !isCutOff(line));
    if (isForeign) warnOnce(`The ${what} in ${name} are not changed, because not all of its lines can be read`);
    if (isEmpty) return { items, fault: 'it is empty' };
    return { items, fault: isCut ? 'it is too large' : isForeign ? 'a line of it cannot be read' : undefined };
  }

  async function closeFile(): Promise<void> {
    await closeLines(file);
    file = undefined;
  }

  async function rewrite(items: readonly Item[]): Promise<void> {
    await closeFile();
    const bytes = await replaceLines(path, [head, ...items.map((item) => JSON.stringify(item))]);
    compactAtBytes = Math.max(compactFromBytes, bytes * 2);
  }

  async function appendAll(items: readonly Item[]): Promise<'kept' | 'not-kept'> {
    if (isForeign) return 'not-kept';
    try {
      // A kill or a full disk must not leave a new file empty.
      if (mustBeWhole === true && file === undefined && (await stateOf(path))?.version === missing) await rewrite([]);
      file = await appendLines(file, path, { head, lines: items.map((item) => JSON.stringify(item)) });
      if (isFailing) log.warn(`The ${what} are kept in ${name} again`);
      isFailing = false;
    } catch (error) {
      await closeFile();
      warnFailing(error);
      return 'not-kept';
    }
    if (file.bytes > compactAtBytes) await loadAll();
    return 'kept';
  }

  async function peekAll(): Promise<Read<Item>> {
    try {
      return await readItems();
    } catch (error) {
      warnOnce(`The ${what} in ${name} cannot be read`, { error });
      return { items: [], fault: messageWithoutPath(error) };
    }
  }

  function warnOnce(message: string, fields: LogFields = {}): void {
    if (!warned.has(message)) log.warn(message, fields);
    warned.add(message);
  }

  function warnFailing(error: unknown): void {
    if (!isFailing)
      log.warn(`The ${what} cannot be kept in ${name}, so they are lost at the end of this process`, { error });
    isFailing = true;
  }

  return {
    peek: () => withDeadline(inTurn(peekAll), deadlineMs, { items: [], fault: noAnswer }),
    load: () => withDeadline(inTurn(loadAll), deadlineMs, []),
    async append(items) {
      if (items.length === 0) return 'kept';
      if (waiting >= maxWrites) return 'not-kept';
      waiting += 1;
      const written = inTurn(() => appendAll(items)).finally(() => (waiting -= 1));
      return withDeadline(written, deadlineMs, 'not-kept');
    },
    close: () => withDeadline(inTurn(closeFile), deadlineMs, undefined),
  };
}

/** Limit of pending writes. */
const maxWrites = 1000;

/** Why nothing is known of a file whose disk has not answered in time. */
const noAnswer = 'its disk does not answer';

/**
 * The beginning of a line, without its end: its writer was killed, and had not acknowledged it. A line that has its end
 * was acknowledged, and is damaged.
 */
function isCutOff(line: string): boolean {
  return /^[{\0]/.test(line) && !/\}\s*$/.test(line) && parseJson(line) === undefined;
}

function isOfOther(first: string, what: string, version: number): boolean {
  const head = parseJson(first);
  if (!isJsonObject(head) || !('file' in head)) return false;
  return head['file'] !== `upkeep ${what}` || !(Number(head['version']) <= version);
}

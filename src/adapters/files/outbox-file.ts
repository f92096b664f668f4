import { join } from 'node:path';
import { describeError, ServiceError } from '../../domain/text/errors.ts';
import { type OutboxRecord, type OutboxStore, readRecord } from '../../domain/notification/outbox.ts';
import type { Log } from '../../domain/outside/outside.ts';
import { quoted } from '../../domain/text/printable.ts';
import { appendLines, closeLines, type OpenFile, readLines, replaceLines } from './line-file.ts';
import { withDeadline } from './folder-lock.ts';

type OutboxFile = OutboxStore & {
  /** The current records, possibly of another process. Read-only. Throws if the file cannot be read. */
  readonly peek: () => Promise<readonly OutboxRecord[]>;
};

/**
 * Stores an outbox in `outbox.jsonl` of the folder, one record per line. `append` syncs its lines; `replace` writes a
 * new file and renames it. The file contains texts of messages but no target URLs. Only its owner can read it. A call
 * fails after the deadline, because a network file system may never answer. Further calls then fail until it has ended.
 * Records that `load` could not read in time stay in the file for the next start.
 */
export function createOutboxFile(folder: string, log: Pick<Log, 'warn'>): OutboxFile {
  const path = join(folder, 'outbox.jsonl');
  let file: OpenFile | undefined;
  let isBusy = false;
  /** Records that `load` could not read in time. Undefined: not read yet. */
  let unread: readonly OutboxRecord[] | undefined = [];

  async function inTime<Result>(doing: 'read' | 'write', work: () => Promise<Result>): Promise<Result> {
    try {
      if (isBusy) throw noAnswer;
      isBusy = true;
      const done = work().finally(() => (isBusy = false));
      const answer = await withDeadline(done, deadlineMs, noAnswer);
      if (answer === noAnswer) throw noAnswer;
      // Only the deadline resolves to that error.
      return answer as Result;
    } catch (error) {
      throw describe(doing, path, error);
    }
  }

  async function readAll(): Promise<readonly OutboxRecord[]> {
    const { first, lines, isCut } = await readLines(path);
    if (isCut) log.warn('The outbox of notifications is too large, and only its end is read', { path });
    return recordsIn(isCut || first === undefined ? lines : [first, ...lines], path, log);
  }

  async function close(): Promise<void> {
    await closeLines(file);
    file = undefined;
  }

  async function appendAll(records: readonly OutboxRecord[]): Promise<void> {
    try {
      unread ??= await readAll().catch(() => []);
      file = await appendLines(file, path, { lines: records.map(lineOf) });
    } catch (error) {
      await close();
      throw error;
    }
  }

  async function replaceAll(records: readonly OutboxRecord[]): Promise<void> {
    await close();
    unread ??= await readAll().catch(() => []);
    await replaceLines(path, [...unread, ...records].map(lineOf));
  }

  return {
    async load() {
      try {
        return await inTime('read', readAll);
      } catch (error) {
        unread = undefined;
        log.warn('Notifications of earlier runs cannot be read', { error: describeError(error) });
        return [];
      }
    },
    append: (records) => inTime('write', () => appendAll(records)),
    replace: (records) => inTime('write', () => replaceAll(records)),
    peek: () => inTime('read', readAll),
    close: () => inTime('write', close).catch(() => undefined),
  };
}

const deadlineMs = 10_000;

const noAnswer = new Error('the disk does not answer');

function lineOf(record: OutboxRecord): string {
  return JSON.stringify(record);
}

function recordsIn(lines: readonly string[], path: string, log: Pick<Log, 'warn'>): readonly OutboxRecord[] {
  const records = lines.flatMap((line) => readRecord(line) ?? []);
  const unreadable = lines.length - records.length;
  // A process that was killed during a write leaves one cut line.
  if (unreadable > 1) log.warn('Lines of the outbox of notifications cannot be read', { path, lines: unreadable });
  return records;
}

function describe(doing: 'read' | 'write', path: string, error: unknown): ServiceError {
  const why = error instanceof Error ? error.message : String(error);
  return new ServiceError('invalid-input', `Cannot ${doing} the outbox ${quoted(path, 300)}: ${why}`, {
    remedy: 'name a folder that can be written to with --state-dir',
    cause: error,
  });
}

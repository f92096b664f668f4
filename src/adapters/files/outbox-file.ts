import { type FileHandle, mkdir, open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../../domain/errors.ts';
import { type OutboxRecord, type OutboxStore, readRecord } from '../../domain/notification/outbox/record.ts';
import type { Log } from '../../domain/outside/outside.ts';
import { quoted } from '../../domain/text/printable.ts';
import { codeOf } from '../../domain/text/error-code.ts';
import { mostBytes, readBetween, replaceLines, syncFolder } from './line-file.ts';

export type OutboxFile = OutboxStore & {
  /** The current records, possibly of another process. Read-only. Throws if the file cannot be read. */
  readonly peek: () => Promise<readonly OutboxRecord[]>;
};

/**
 * Stores an outbox in `outbox.jsonl` of the folder, one record per line. `append` syncs its lines; `replace` writes a
 * new file and renames it. The file contains texts of messages but no target URLs. Only its owner can read it.
 */
export function createOutboxFile(folder: string, log: Pick<Log, 'warn'>): OutboxFile {
  const path = join(folder, 'outbox.jsonl');
  let handle: FileHandle | undefined;

  async function opened(): Promise<FileHandle> {
    if (handle === undefined) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      handle = await open(path, 'a+', 0o600);
      await syncFolder(folder);
    }
    return handle;
  }

  async function close(): Promise<void> {
    const closing = handle;
    handle = undefined;
    await closing?.close();
  }

  return {
    async load() {
      try {
        const file = await opened();
        const { size } = await file.stat();
        const text = await readBetween(file, 0, Math.min(size, mostBytes));
        if (size > mostBytes)
          log.warn('The outbox of notifications is too large, and only its beginning is read', { path });
        // Ends a line that a crash cut, so that it does not damage the next one.
        if (text !== '' && !text.endsWith('\n')) await file.appendFile('\n');
        return recordsIn(text, path, log);
      } catch (error) {
        log.warn('Notifications of earlier runs cannot be read', { error: describe('read', path, error).message });
        return [];
      }
    },
    async append(records) {
      try {
        const file = await opened();
        await file.appendFile(records.map((record) => `${lineOf(record)}\n`).join(''));
        await file.datasync();
      } catch (error) {
        await close().catch(() => undefined);
        throw describe('write', path, error);
      }
    },
    async replace(records) {
      try {
        await close();
        await replaceLines(path, records.map(lineOf));
      } catch (error) {
        throw describe('write', path, error);
      }
    },
    async peek() {
      const text = await readFile(path, 'utf8').catch((error: unknown) => {
        if (codeOf(error) === 'ENOENT') return '';
        throw describe('read', path, error);
      });
      return recordsIn(text.slice(0, mostBytes), path, log);
    },
    close,
  };
}

function lineOf(record: OutboxRecord): string {
  return JSON.stringify(record);
}

function recordsIn(text: string, path: string, log: Pick<Log, 'warn'>): readonly OutboxRecord[] {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
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

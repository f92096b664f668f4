import { join } from 'node:path';
import { ServiceError } from '../../domain/errors.ts';
import { type OutboxRecord, type OutboxStore, readRecord } from '../../domain/notification/outbox/record.ts';
import type { Log } from '../../domain/outside/outside.ts';
import { quoted } from '../../domain/text/printable.ts';
import { appendLines, closeLines, type OpenFile, readLines, replaceLines } from './line-file.ts';

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
  let file: OpenFile | undefined;

  async function readAll(): Promise<readonly OutboxRecord[]> {
    const { first, lines, isCut } = await readLines(path);
    if (isCut) log.warn('The outbox of notifications is too large, and only its end is read', { path });
    return recordsIn(isCut || first === undefined ? lines : [first, ...lines], path, log);
  }

  async function close(): Promise<void> {
    await closeLines(file);
    file = undefined;
  }

  return {
    async load() {
      try {
        return await readAll();
      } catch (error) {
        log.warn('Notifications of earlier runs cannot be read', { error: describe('read', path, error).message });
        return [];
      }
    },
    async append(records) {
      try {
        file = await appendLines(file, path, { lines: records.map(lineOf) });
      } catch (error) {
        await close();
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
      try {
        return await readAll();
      } catch (error) {
        throw describe('read', path, error);
      }
    },
    close,
  };
}

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

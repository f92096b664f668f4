import { join } from 'node:path';
import { createSharedRecords } from '../adapters/files/records/shared-records.ts';
import type { Memory } from '../application/create-application.ts';
import { compactRecords } from '../domain/decision/decisions.ts';
import { readDecisionRecord } from '../domain/decision/read-record.ts';
import type { Log } from '../domain/outside/outside.ts';

/** What is kept in the folder of --state-dir besides the outbox of notifications and the key of journals. */
export function openMemory(folder: string, log: Log): Memory {
  const decisions = createSharedRecords({
    path: join(folder, 'decisions.jsonl'),
    ...{ what: 'decisions', version: 1, log },
    ...{ read: readDecisionRecord, compact: compactRecords },
  });
  return { decisions };
}

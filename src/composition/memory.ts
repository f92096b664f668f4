import { join } from 'node:path';
import { createSharedRecords } from '../adapters/files/records/shared-records.ts';
import type { Memory } from '../application/create-application.ts';
import { compactHistory, readHistoryEntry } from '../application/events/kept-history.ts';
import { compactRecords } from '../domain/decision/decisions.ts';
import { readDecisionRecord } from '../domain/decision/read-record.ts';
import type { Outside } from '../domain/outside/outside.ts';

/** What is kept in the folder of --state-dir besides the outbox of notifications and the key of journals. */
export function openMemory(folder: string, { clock, log }: Pick<Outside, 'clock' | 'log'>): Memory {
  const history = createSharedRecords({
    path: join(folder, 'history.jsonl'),
    ...{ what: 'runs', version: 1, log, read: readHistoryEntry },
    compact: (entries) => compactHistory(entries, clock.nowMs()),
  });
  return { ...openDecisions(folder, { log }), history };
}

/** Each engine of several has its own: a name of a container means another one there. */
export function openDecisions(
  folder: string,
  { log }: Pick<Outside, 'log'>,
  engine?: string,
): Pick<Memory, 'decisions'> {
  const decisions = createSharedRecords({
    path: join(folder, engine === undefined ? 'decisions.jsonl' : `decisions.${engine}.jsonl`),
    ...{ what: 'decisions', version: 1, log },
    ...{ read: readDecisionRecord, compact: compactRecords },
  });
  return { decisions };
}

import { putNewest } from '../../text/plain-data.ts';
import type { Message } from '../message.ts';
import type { MessageHold, OutboxRecord } from './record.ts';

/** A message on its way to one target. */
export type OutboxEntry = {
  readonly target: string;
  readonly message: Message;
  /** Attempts with an answer. */
  readonly attempts: number;
  /** The earliest time of the next attempt, in Unix milliseconds. */
  readonly dueAtMs: number;
  /** On hold: it is sent together with others. */
  readonly hold?: MessageHold;
  /** An attempt has begun and has no answer yet. */
  readonly isUnanswered: boolean;
  /** The reason of the last failed attempt; empty: none. */
  readonly lastFailure: string;
};

/** Unsent messages, and findings that were reported before. */
export type Outbox = {
  /** By `entryKey`, in order of arrival. */
  readonly entries: ReadonlyMap<string, OutboxEntry>;
  /** The time of each finding's last report, oldest first. */
  readonly found: ReadonlyMap<string, number>;
};

export const emptyOutbox: Outbox = { entries: new Map(), found: new Map() };

export function entryKey(target: string, id: string): string {
  return `${target}\n${id}`;
}

/** Applies records to an outbox. Records about unknown entries change nothing. */
export function applyRecords(outbox: Outbox, records: readonly OutboxRecord[]): Outbox {
  const entries = new Map(outbox.entries);
  const found = new Map(outbox.found);
  for (const record of records) {
    if (record.kind === 'found') {
      putNewest(found, record.key, record.atMs, mostFound);
      continue;
    }
    const key = entryKey(record.target, record.kind === 'put' ? record.message.id : record.id);
    const entry = entries.get(key);
    if (record.kind === 'put') entries.set(key, entry ?? newEntry(record));
    else if (record.kind === 'end') entries.delete(key);
    else if (entry !== undefined) entries.set(key, changed(entry, record));
  }
  return { entries, found };
}

/** More than the containers of a host, with a newer version or two for each. */
const mostFound = 2000;

function newEntry({ target, message, dueAtMs, hold }: OutboxRecord & { kind: 'put' }): OutboxEntry {
  const entry = { target, message, attempts: 0, dueAtMs, isUnanswered: false, lastFailure: '' };
  return hold === undefined ? entry : { ...entry, hold };
}

function changed(entry: OutboxEntry, record: OutboxRecord & { kind: 'try' | 'retry' }): OutboxEntry {
  if (record.kind === 'try') return { ...entry, isUnanswered: true };
  const { attempts, dueAtMs, reason: lastFailure } = record;
  return { ...entry, attempts, dueAtMs, isUnanswered: false, lastFailure };
}

/** The smallest list of records with the same result, for a file that has grown. */
export function recordsOf({ entries, found }: Outbox): readonly OutboxRecord[] {
  const records: OutboxRecord[] = [...found].map(([key, atMs]) => ({ kind: 'found', key, atMs }));
  for (const { target, message, dueAtMs, hold, ...state } of entries.values()) {
    const { id } = message;
    const { attempts, lastFailure: reason } = state;
    records.push({ kind: 'put', target, message, dueAtMs, ...(hold && { hold }) });
    if (attempts > 0) records.push({ kind: 'retry', target, id, attempts, dueAtMs, reason });
    if (state.isUnanswered) records.push({ kind: 'try', target, id });
  }
  return records;
}

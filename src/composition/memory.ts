import { join } from 'node:path';
import { createSharedRecords } from '../adapters/files/shared-records.ts';
import { compactListings, type StoredListing, readStoredListing } from '../adapters/oci/list-tags.ts';
import type { Memory } from '../application/create-application.ts';
import { compactChecks, readStoredCheck } from '../application/inventory/last-checks.ts';
import { compactHistory, readHistoryEntry, type HistoryEntry } from '../application/events/history.ts';
import { compactComposeRecords, readComposeRecord } from '../domain/compose/compose-record.ts';
import { openUnitRecords, readUnitRecord } from '../domain/container/quadlet.ts';
import { compactSeenTags, readSeenTag } from '../domain/check/known-versions.ts';
import { compactRecords, readDecisionRecord } from '../domain/decision/decisions.ts';
import { compactNotes, readStoredNotes, type StoredNotes } from '../domain/notes/stored-notes.ts';
import { compactSessions, readSessionChange, type SessionChange } from '../domain/settings/http-settings.ts';
import type { Outside, SharedRecords } from '../domain/outside/outside.ts';

/** The stores in the folder of --state-dir, except for the outbox of notifications and the key of journals. */
export function openMemory(folder: string, { clock, log }: Pick<Outside, 'clock' | 'log'>): Memory {
  const history = {
    read: readHistoryEntry,
    compact: (entries: readonly HistoryEntry[]) => compactHistory(entries, clock.nowMs()),
  };
  const seenTags = { read: readSeenTag, compact: compactSeenTags };
  return {
    ...openDecisions(folder, { log }),
    ...openChecks(folder, { log }),
    ...openComposeRecords(folder, { log }),
    history: createSharedRecords({ ...at(folder, 'history'), what: 'runs', log, ...history }),
    seenTags: createSharedRecords({ ...at(folder, 'seen-tags'), what: 'sightings', log, ...seenTags }),
  };
}

/** The browsers that are signed in to the page. */
export function openSessions(folder: string, { log }: Pick<Outside, 'log'>): SharedRecords<SessionChange> {
  const form = { read: readSessionChange, compact: compactSessions };
  return createSharedRecords({ ...at(folder, 'sessions'), what: 'sessions', log, ...form });
}

/** The lists of tags that registries gave with an ETag. */
export function openListings(folder: string, { log }: Pick<Outside, 'log'>): SharedRecords<StoredListing> {
  const form = { read: readStoredListing, compact: compactListings };
  return createSharedRecords({ ...at(folder, 'tag-lists'), what: 'lists of tags', log, ...form });
}

/** The release notes that were read. */
export function openStoredNotes(folder: string, { log }: Pick<Outside, 'log'>): SharedRecords<StoredNotes> {
  const form = { read: readStoredNotes, compact: compactNotes };
  return createSharedRecords({ ...at(folder, 'notes'), what: 'release notes', log, ...form });
}

/** Each engine of a fleet has its own file, because container names may repeat across engines. */
export function openDecisions(
  folder: string,
  { log }: Pick<Outside, 'log'>,
  engine?: string,
): Pick<Memory, 'decisions'> {
  const name = engine === undefined ? 'decisions' : `decisions.${engine}`;
  const form = { read: readDecisionRecord, compact: compactRecords, mustBeWhole: true } as const;
  return { decisions: createSharedRecords({ ...at(folder, name), what: 'decisions', log, ...form }) };
}

/** Each engine of a fleet has its own file, as for decisions. */
export function openChecks(folder: string, { log }: Pick<Outside, 'log'>, engine?: string): Pick<Memory, 'checks'> {
  const name = engine === undefined ? 'checks' : `checks.${engine}`;
  const form = { read: readStoredCheck, compact: compactChecks };
  return { checks: createSharedRecords({ ...at(folder, name), what: 'checks', log, ...form }) };
}

/** Changes of compose files and restarts of units. Each engine of a fleet has its own files, as for decisions. */
export function openComposeRecords(
  folder: string,
  { log }: Pick<Outside, 'log'>,
  engine?: string,
): Pick<Memory, 'composeRecords' | 'unitRecords'> {
  const name = (kind: string) => (engine === undefined ? kind : `${kind}.${engine}`);
  const form = { read: readComposeRecord, compact: compactComposeRecords };
  const ofUnits = { read: readUnitRecord, compact: openUnitRecords };
  return {
    composeRecords: createSharedRecords({ ...at(folder, name('compose')), what: 'compose files', log, ...form }),
    unitRecords: createSharedRecords({ ...at(folder, name('units')), what: 'units', log, ...ofUnits }),
  };
}

function at(folder: string, name: string) {
  return { path: join(folder, `${name}.jsonl`), version: 1 };
}

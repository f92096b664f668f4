import { join } from 'node:path';
import { createSharedRecords } from '../adapters/files/shared-records.ts';
import { compactListings, type StoredListing, readStoredListing } from '../adapters/oci/tags/stored-listings.ts';
import type { Memory } from '../application/create-application.ts';
import { compactHistory, readHistoryEntry } from '../application/events/kept-history.ts';
import { compactSeenTags, readSeenTag } from '../domain/check/seen-tag.ts';
import { compactRecords, readDecisionRecord } from '../domain/decision/decision-records.ts';
import type { Outside } from '../domain/outside/outside.ts';
import type { SharedRecords } from '../domain/outside/record-store.ts';

/** The stores in the folder of --state-dir, except for the outbox of notifications and the key of journals. */
export function openMemory(folder: string, { clock, log }: Pick<Outside, 'clock' | 'log'>): Memory {
  const history = createSharedRecords({
    path: join(folder, 'history.jsonl'),
    what: 'runs',
    version: 1,
    log,
    read: readHistoryEntry,
    compact: (entries) => compactHistory(entries, clock.nowMs()),
  });
  const seenTags = createSharedRecords({
    path: join(folder, 'seen-tags.jsonl'),
    what: 'sightings',
    version: 1,
    log,
    read: readSeenTag,
    compact: compactSeenTags,
  });
  return { ...openDecisions(folder, { log }), history, seenTags };
}

/** The lists of tags that registries gave with an ETag. */
export function openListings(folder: string, { log }: Pick<Outside, 'log'>): SharedRecords<StoredListing> {
  return createSharedRecords({
    path: join(folder, 'tag-lists.jsonl'),
    what: 'lists of tags',
    version: 1,
    log,
    read: readStoredListing,
    compact: compactListings,
  });
}

/** Each engine of a fleet has its own file, because container names may repeat across engines. */
export function openDecisions(
  folder: string,
  { log }: Pick<Outside, 'log'>,
  engine?: string,
): Pick<Memory, 'decisions'> {
  const decisions = createSharedRecords({
    path: join(folder, engine === undefined ? 'decisions.jsonl' : `decisions.${engine}.jsonl`),
    what: 'decisions',
    version: 1,
    log,
    read: readDecisionRecord,
    compact: compactRecords,
  });
  return { decisions };
}

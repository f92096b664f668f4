/** A list of records that outlives the process if it can be stored. Never throws. */
export type RecordStore<Item> = {
  /** All stored records, in the order of their writing. Call it once, before the first `append`. */
  readonly load: () => Promise<readonly Item[]>;
  /** `kept`: synced to the disk, safe against a power cut. `not-kept`: only in memory, and the reason was logged. */
  readonly append: (items: readonly Item[]) => Promise<'kept' | 'not-kept'>;
  /** Resolves when all writes have ended. */
  readonly close: () => Promise<void>;
};

/** The same for records that several processes write. Never throws. */
export type SharedRecords<Item> = Pick<RecordStore<Item>, 'append'> & {
  /**
   * All stored records. The same list is returned while nothing has changed. If they cannot be read, the last result
   * stays.
   */
  readonly read: () => Promise<readonly Item[]>;
  /** Why the last `read` could not read them: `decisions.jsonl: EACCES: permission denied`. */
  readonly fault: () => string | undefined;
};

/** A list of records that outlasts the process, or this process only where nothing can be kept. Never throws. */
export type RecordStore<Item> = {
  /** All that is kept, in the order of their writing; once, before the first `append`. */
  readonly load: () => Promise<readonly Item[]>;
  /** `kept`: on the disk, and there after a power cut. `not-kept`: only in memory; the log has said why. */
  readonly append: (items: readonly Item[]) => Promise<'kept' | 'not-kept'>;
  /** Ends what is being written. */
  readonly close: () => Promise<void>;
};

/** The same for records that several processes write. Never throws. */
export type SharedRecords<Item> = Pick<RecordStore<Item>, 'append'> & {
  /** All that is kept now; the same list where nothing has changed. What cannot be read is as it was before. */
  readonly read: () => Promise<readonly Item[]>;
};

/** A list of records that outlasts the process, or this process only where nothing can be kept. Never throws. */
export type RecordStore<Item> = {
  /** All that is kept, in the order of their writing; once, before the first `append`. */
  readonly load: () => Promise<readonly Item[]>;
  /** `kept`: on the disk, and there after a power cut. `not-kept`: only in memory; the log has said why. */
  readonly append: (items: readonly Item[]) => Promise<'kept' | 'not-kept'>;
  /** Ends what is being written. */
  readonly close: () => Promise<void>;
};

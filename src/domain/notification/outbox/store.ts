import type { OutboxRecord } from './record.ts';

/** Where the records of an outbox outlive the process. */
export type OutboxStore = {
  /** Stored records, in order; unreadable lines are left out and logged. Never throws. */
  readonly load: () => Promise<readonly OutboxRecord[]>;
  /** They are on the disk once it resolves. Rejects with words for people when they cannot be written. */
  readonly append: (records: readonly OutboxRecord[]) => Promise<void>;
  /** The same, in place of all that was written before: after a crash either all of it is there or none. */
  readonly replace: (records: readonly OutboxRecord[]) => Promise<void>;
  readonly close: () => Promise<void>;
};

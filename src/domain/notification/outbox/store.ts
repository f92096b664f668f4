import type { OutboxRecord } from './record.ts';

/** Keeps the records of an outbox beyond the process. */
export type OutboxStore = {
  /** The records of earlier processes, in order. Unreadable lines are skipped and logged. Never throws. */
  readonly load: () => Promise<readonly OutboxRecord[]>;
  /** The records are synced when it resolves. Rejects with a readable error when they cannot be written. */
  readonly append: (records: readonly OutboxRecord[]) => Promise<void>;
  /** Replaces all earlier records. After a crash, all of the new ones are there or none. */
  readonly replace: (records: readonly OutboxRecord[]) => Promise<void>;
  readonly close: () => Promise<void>;
};

import { describeError } from '../../domain/text/errors.ts';
import {
  applyRecords,
  emptyOutbox,
  recordsOf,
  outboxBounds,
  overflowOf,
  type Outbox,
  type OutboxBounds,
  type OutboxRecord,
  type OutboxStore,
} from '../../domain/notification/outbox.ts';
import type { Log } from '../../domain/outside/outside.ts';

/** The outbox in memory, and in a file if there is one. */
export type StoredOutbox = {
  readonly read: () => Outbox;
  /** Changes the outbox at once; `written` waits for the file. Returns the messages that were dropped to make room. */
  readonly change: (records: readonly OutboxRecord[]) => readonly OutboxRecord[];
  /** Resolves when all changes so far are on the disk, or have failed to be written, which is logged. */
  readonly written: () => Promise<void>;
  /** Whether unsent messages survive the end of this process. */
  readonly outlivesProcess: boolean;
  readonly close: () => Promise<void>;
};

export type StoredOutboxParts = {
  /** Undefined: in memory only. */
  readonly store: OutboxStore | undefined;
  /** Smaller in tests. */
  readonly bounds?: OutboxBounds;
  readonly log: Pick<Log, 'warn'>;
};

export async function openOutbox({ store, bounds = outboxBounds, log }: StoredOutboxParts): Promise<StoredOutbox> {
  const loaded = (await store?.load()) ?? [];
  let outbox = applyRecords(emptyOutbox, loaded);
  let written = loaded.length;
  let writing: Promise<void> = Promise.resolve();
  let isBroken = false;

  /** After a failed write the end of the file is unknown, so the whole file is written again. */
  async function write(to: OutboxStore, records: readonly OutboxRecord[]): Promise<void> {
    const { entries, found } = outbox;
    if (isBroken || written > compactAfter + 4 * (entries.size + found.size)) {
      const fewest = recordsOf(outbox);
      await to.replace(fewest);
      written = fewest.length;
    } else {
      await to.append(records);
      written += records.length;
    }
  }

  function save(records: readonly OutboxRecord[]): void {
    if (store === undefined || records.length === 0) return;
    writing = writing
      .then(() => write(store, records))
      .then(
        () => void (isBroken = false),
        (error: unknown) => {
          if (!isBroken) log.warn('Notifications are kept in memory only for now', { error: describeError(error) });
          isBroken = true;
        },
      );
  }

  return {
    read: () => outbox,
    change(records) {
      outbox = applyRecords(outbox, records);
      const lost = overflowOf(outbox, bounds).map(({ target, message: { id } }): OutboxRecord => ({
        kind: 'end',
        target,
        id,
        end: 'lost',
      }));
      outbox = applyRecords(outbox, lost);
      save([...records, ...lost]);
      return lost;
    },
    written: () => writing,
    outlivesProcess: store !== undefined,
    close: async () => {
      await writing;
      await store?.close();
    },
  };
}

/** A record has a few hundred bytes, so the file stays below a megabyte while few messages wait. */
const compactAfter = 1000;

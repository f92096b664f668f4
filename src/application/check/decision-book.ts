import { type DecisionRecord, type Decisions, decisionsOf } from '../../domain/decision/decisions.ts';
import type { SharedRecords } from '../../domain/outside/record-store.ts';

/** What people have decided, as this process knows it. */
export type DecisionBook = {
  /** With what other processes have written meanwhile. Never throws. */
  readonly refresh: () => Promise<Decisions>;
  /** As of the last refresh, and with what was written here since. */
  readonly known: () => Decisions;
  /** `not-kept`: it counts until the end of this process. */
  readonly write: (records: readonly DecisionRecord[]) => Promise<'kept' | 'not-kept'>;
};

/** Without a store it is kept in memory. */
export function createDecisionBook(store?: SharedRecords<DecisionRecord>): DecisionBook {
  let read: readonly DecisionRecord[] = [];
  let unkept: readonly DecisionRecord[] = [];
  let decisions: Decisions = new Map();

  function note(): Decisions {
    decisions = decisionsOf([...read, ...unkept]);
    return decisions;
  }

  async function refresh(): Promise<Decisions> {
    const now = (await store?.read()) ?? read;
    if (now === read) return decisions;
    read = now;
    return note();
  }

  return {
    refresh,
    known: () => decisions,
    async write(records) {
      const written = store === undefined ? 'not-kept' : await store.append(records);
      if (written === 'kept') {
        // What came first here and could not be kept is older than these.
        const over = new Set(records.map(containerOf));
        unkept = unkept.filter((record) => !over.has(containerOf(record)));
        read = (await store?.read()) ?? read;
      } else {
        unkept = [...unkept, ...records].slice(-mostUnkept);
      }
      note();
      return written;
    },
  };
}

/** As many as decisions stay. */
const mostUnkept = 10_000;

function containerOf(record: DecisionRecord): string {
  return record.kind === 'decided' ? record.decision.container : record.container;
}

import { decisionsOf, type Decisions, type DecisionRecord } from '../../domain/decision/decisions.ts';
import type { SharedRecords } from '../../domain/outside/outside.ts';

/** The decisions that this process knows. */
export type KnownDecisions = {
  readonly decisions: Decisions;
  /** Why the stored ones cannot be read: any version may have been skipped then. */
  readonly fault: string | undefined;
};

/** The decisions of people. */
export type DecisionStore = {
  /** Reads the decisions that other processes have written. Never throws. */
  readonly refresh: () => Promise<KnownDecisions>;
  /** Decisions as of the last refresh and the writes of this process. */
  readonly known: () => KnownDecisions;
  /** `not-kept`: the decision was not stored and ends with this process. */
  readonly write: (records: readonly DecisionRecord[]) => Promise<'kept' | 'not-kept'>;
};

/** Without a store, decisions are kept in memory. */
export function createDecisionStore(store?: SharedRecords<DecisionRecord>): DecisionStore {
  let read: readonly DecisionRecord[] = [];
  let unkept: readonly DecisionRecord[] = [];
  let known: KnownDecisions = { decisions: new Map(), fault: undefined };

  function note(): KnownDecisions {
    known = { decisions: decisionsOf([...read, ...unkept]), fault: store?.fault() };
    return known;
  }

  async function refresh(): Promise<KnownDecisions> {
    const now = (await store?.read()) ?? read;
    if (now === read && store?.fault() === known.fault) return known;
    read = now;
    return note();
  }

  return {
    refresh,
    known: () => known,
    async write(records) {
      const written = store === undefined ? 'not-kept' : await store.append(records);
      if (written === 'kept') {
        // Unstored decisions about the same containers are older than these.
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

/** The same limit as for stored decisions. */
const mostUnkept = 10_000;

function containerOf(record: DecisionRecord): string {
  return record.kind === 'decided' ? record.decision.container : record.container;
}

import type { Container, ContainerSummary } from '../container/container.ts';
import type { Journal } from '../transaction/journal.ts';
import type { TransactionMark } from '../transaction/transaction-mark.ts';

/**
 * The remains of updates in the engine, and the evidence for them. Anybody who can create containers can write names
 * and journals, but only an updater renames containers of others or sets marks. A journal therefore counts as far as
 * the engine's facts confirm it. Without them nothing is changed.
 */
export type JournaledContainer = {
  readonly container: Container;
  readonly journal: Journal;
};

export type Remains = {
  /** All containers except kept ones. */
  readonly containers: readonly ContainerSummary[];
  /** The old containers that carriers name, by id, kept ones included. */
  readonly olds: ReadonlyMap<string, Container>;
  /** Ids of old containers that the engine cannot inspect. */
  readonly unreadable: ReadonlySet<string>;
  readonly carriers: readonly JournaledContainer[];
  readonly marks: readonly TransactionMark[];
};

/** Members of one confirmed transaction. */
export type ConfirmedTransaction = {
  /** Empty for a parked container without a journal. */
  readonly id: string;
  readonly members: readonly ConfirmedMember[];
};

export type ConfirmedMember = {
  readonly name: string;
  readonly oldId: string;
  /** Both are undefined without a journal; the mark then has the facts. */
  readonly successor: JournaledContainer | undefined;
  readonly autoRemoveReplica: JournaledContainer | undefined;
  readonly mark: TransactionMark | undefined;
};

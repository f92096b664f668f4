import type { Member } from '../../../domain/transaction/facts.ts';
import type { Container } from '../../../domain/container/container.ts';
import type { EngineInfo } from '../../../domain/outside/engine.ts';
import type { FileBundle } from './placed-files.ts';
import { createStopTimes, type StopTimes } from './stop-times.ts';

/** A transaction under way in this process. */
export type OpenTransaction = {
  /** Empty for a parked container without a journal. */
  readonly id: string;
  readonly members: readonly Member[];
  readonly liveRestore: boolean;
  readonly changesRestartPolicies: boolean;
  /** See `TransactionFacts`. */
  readonly setsNoMarks: true | undefined;
  /** Ids of successors by the id of the old container. `readFacts` fills it to save a search. It may be outdated. */
  readonly successors: Map<string, string>;
  /** The same for the auto-remove replicas of old containers. */
  readonly autoRemoveReplicas: Map<string, string>;
  /** The tags that mark the transaction in the engine, by the old container's id: see `TransactionMark`. */
  readonly marks: Map<string, string>;
  /** The time at which this process set them, by the monotonic clock. */
  readonly markedAtMs: Map<string, number>;
  /** The containers of the last reading, by id. */
  readonly lastRead: Map<string, Container>;
  /** Containers that were read before the next facts, by id. Each replaces one inspection, once. */
  readonly readBefore: Map<string, ReadBefore>;
  /** The image of each tag before this process moved it to create a successor, by the old container's id. */
  readonly tagsBefore: Map<string, string>;
  /** The placed files that this process has read, by the old container's id. */
  readonly files: Map<string, FileBundle>;
  readonly stopTimes: StopTimes;
};

/** `untilMs`: the monotonic time at which the reading is too old. */
export type ReadBefore = { readonly container: Container; readonly untilMs: number };

/** The parts that differ between open transactions. The other fields start empty. */
export type OpenedTransaction = Pick<OpenTransaction, 'id' | 'members'> &
  Partial<Pick<OpenTransaction, 'successors' | 'autoRemoveReplicas' | 'marks' | 'setsNoMarks'>>;

export function opened(
  {
    id,
    members,
    successors = new Map(),
    autoRemoveReplicas = new Map(),
    marks = new Map(),
    setsNoMarks,
  }: OpenedTransaction,
  { liveRestore, abilities }: Pick<EngineInfo, 'liveRestore' | 'abilities'>,
): OpenTransaction {
  return {
    id,
    members,
    liveRestore,
    changesRestartPolicies: abilities.changesRestartPolicies,
    setsNoMarks,
    successors,
    autoRemoveReplicas,
    marks,
    markedAtMs: new Map(),
    lastRead: new Map(),
    readBefore: new Map(),
    tagsBefore: new Map(),
    files: new Map(),
    stopTimes: createStopTimes(),
  };
}

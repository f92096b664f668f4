import type { Outside } from '../../domain/outside/outside.ts';
import type { UpdatePhase } from '../../domain/run/session.ts';
import type { ServiceSettings } from '../../domain/settings/settings.ts';
import type { TransactionFacts } from '../../domain/transaction/facts.ts';
import type { OpenTransaction } from './facts/facts.ts';
import type { PreparedTransaction } from './facts/prepare.ts';

export type TransactOptions = {
  readonly outside: Outside;
  readonly settings: ServiceSettings;
  readonly transaction: OpenTransaction;
  /** With it the transaction goes forward; without, it is a recovery. */
  readonly prepared: PreparedTransaction | undefined;
  /** A transaction that was committed goes back to the old container that it has kept. */
  readonly reopens?: boolean;
  /** Goes back as soon as something would be done to a container that was there before. */
  readonly isRehearsal?: boolean;
  /** `begun`: ends as `aside` there, too, because another process goes on. `taken`: goes on where that was. */
  readonly handedOver?: 'begun' | 'taken' | undefined;
  readonly onPhase: (phase: UpdatePhase) => void;
  /** Heard only while nothing has been stopped: then everything goes back. */
  readonly signal?: AbortSignal | undefined;
};

export type TransactResult = {
  /** `aside`: what comes next would touch our own container, which only a helper can do. */
  readonly result: 'committed' | 'undone' | 'stuck' | 'aside';
  /** Why it went back or got stuck; empty otherwise. */
  readonly reason: string;
  /** A rehearsal came as far as it was to come. */
  readonly isRehearsed: boolean;
  /** It was in nobody's power here: another instance or a person was at it. */
  readonly busy: boolean;
  /** Whether any container was stopped on the way. */
  readonly stopped: boolean;
  /** Ids of the olds that this transaction has moved aside: until then it has changed nothing of them. */
  readonly parked: ReadonlySet<string>;
  readonly facts: TransactionFacts | undefined;
  /** The engine's timestamps of the last end of each old container, by its id. */
  readonly endedAt: ReadonlyMap<string, string>;
  /** Likewise the start of each successor, by the old container's id. */
  readonly startedAt: ReadonlyMap<string, string>;
  /** The last log lines of successors that failed, by the old container's id. */
  readonly logs: ReadonlyMap<string, string>;
  /** Ids of images that failed for their own fault, by the old container's id. */
  readonly failedImages: ReadonlyMap<string, string>;
  /** Minor failures, by the old container's id. */
  readonly warnings: ReadonlyMap<string, string>;
};

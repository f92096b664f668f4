import type { Outside } from '../../domain/outside/outside.ts';
import type { UpdatePhase } from '../../domain/run/session.ts';
import type { ServiceSettings } from '../../domain/settings/settings.ts';
import type { TransactionFacts } from '../../domain/transaction/facts.ts';
import type { TransactionMemory } from '../../domain/transaction/memory/transaction-memory.ts';
import type { OpenTransaction } from './facts/facts.ts';
import type { PreparedTransaction } from './facts/prepare.ts';
import type { WhileUnproven } from './steps/step-context.ts';

export type TransactOptions = {
  readonly outside: Outside;
  readonly settings: ServiceSettings;
  readonly transaction: OpenTransaction;
  readonly mode: TransactMode;
  readonly onPhase: (phase: UpdatePhase) => void;
  /** Runs the wait for health, in which others may be updated. */
  readonly whileUnproven?: WhileUnproven | undefined;
  /** Heard only while nothing has been stopped: then everything goes back. */
  readonly signal?: AbortSignal | undefined;
};

/** See `TransactionMode`. Only an update creates anything, so only it has been prepared. */
export type TransactMode =
  | { readonly kind: 'update' | 'hand-over' | 'rehearse'; readonly prepared: PreparedTransaction }
  | { readonly kind: 'recover' | 'finish-as-helper' | 'return' };

export type TransactResult = Pick<
  TransactionMemory,
  | 'reason'
  | 'busy'
  | 'isRehearsed'
  | 'stopped'
  | 'hasStarted'
  | 'parked'
  | 'endedAt'
  | 'startedAt'
  | 'failedImages'
  | 'warnings'
> & {
  /** `aside`: what comes next would touch our own container, which only a helper can do. */
  readonly result: 'committed' | 'undone' | 'stuck' | 'aside';
  /** The last facts; undefined where none could be read. */
  readonly facts: TransactionFacts | undefined;
  /** The last log lines of successors that failed, by the old container's id. */
  readonly logs: ReadonlyMap<string, string>;
};

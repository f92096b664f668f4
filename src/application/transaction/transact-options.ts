import type { UpdatePhase } from '../../domain/run/session.ts';
import type { OwnWays } from '../../domain/self-update/own-ways.ts';
import type { TransactionFacts } from '../../domain/transaction/facts.ts';
import type { TransactionMemory } from '../../domain/transaction/memory.ts';
import type { PreparedTransaction } from './facts/prepare.ts';
import type { StepContext } from './steps/step-context.ts';

export type TransactOptions = Pick<
  StepContext,
  'outside' | 'settings' | 'transaction' | 'whileUnproven' | 'whyDoorClosed'
> & {
  readonly mode: TransactMode;
  readonly onPhase: (phase: UpdatePhase) => void;
  /** Containers that this process must not stop: see `ownWays()`. A plan leaves them out; a repair may find them. */
  readonly ways?: OwnWays;
  /** Called before each step that may take longer than calls to the engine do. */
  readonly onWait?: (() => void) | undefined;
  /** An abort takes effect only before the first stop, and undoes everything. */
  readonly signal?: AbortSignal | undefined;
};

/** See `TransactionMode`. Only an update creates containers, so only an update is prepared. */
export type TransactMode =
  | { readonly kind: 'update' | 'hand-over' | 'rehearse'; readonly prepared: PreparedTransaction }
  | { readonly kind: 'recover' | 'finish-as-helper' | 'return' };

export type TransactResult = Pick<
  TransactionMemory,
  | 'reason'
  | 'busy'
  | 'isRehearsed'
  | 'wasTagMoved'
  | 'stopped'
  | 'hasStarted'
  | 'parked'
  | 'endedAt'
  | 'startedAt'
  | 'failedImages'
  | 'warnings'
  | 'refusals'
> & {
  /**
   * `aside`: the next step would stop our own container, or one of `ways`, so a helper must perform it. `left`: this
   * process ends before the new versions have proven themselves; the next start finishes or undoes the update.
   */
  readonly result: 'committed' | 'undone' | 'stuck' | 'aside' | 'left';
  /** The last facts. Undefined if none could be read. */
  readonly facts: TransactionFacts | undefined;
  /** The last log lines of successors that failed, by the old container's id. */
  readonly logs: ReadonlyMap<string, string>;
};

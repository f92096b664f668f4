import type { Outside } from '../../../domain/outside/outside.ts';
import type { ServiceSettings } from '../../../domain/settings/effective-settings.ts';
import type { Member } from '../../../domain/transaction/facts.ts';
import type { StepOutcome } from '../../../domain/transaction/memory.ts';
import type { OpenTransaction } from '../facts/open-transaction.ts';
import type { PreparedTransaction } from '../facts/prepare.ts';

/** Runs a wait for health; other updates may run in the meantime. */
export type WhileAwaitingHealth = <Result>(wait: () => Promise<Result>) => Promise<Result>;

export type StepContext = {
  readonly outside: Outside;
  readonly settings: ServiceSettings;
  readonly transaction: OpenTransaction;
  /** Undefined in a recovery, which creates no containers. */
  readonly prepared: PreparedTransaction | undefined;
  readonly whileUnproven?: WhileAwaitingHealth | undefined;
  /** In the helper of a door: why the engine cannot be reached through its successor. Undefined when it can. */
  readonly whyDoorClosed?: (() => Promise<string | undefined>) | undefined;
  /** Aborts waits and reads. Steps that must not stop halfway are completed. */
  readonly signal?: AbortSignal | undefined;
};

/** `left`: this process ends before the new versions have proven themselves. */
export type Performed = StepOutcome | { readonly kind: 'left' };

export const nothingPrepared: StepOutcome = { kind: 'refused', status: 0, message: 'nothing was prepared for it' };

export function memberOf(successorId: string, { members, successors }: OpenTransaction): Member | undefined {
  return members.find(({ oldId }) => successors.get(oldId) === successorId);
}

import { describeError, ServiceError } from '../../domain/errors.ts';
import type { TransactionFacts } from '../../domain/transaction/facts.ts';
import { observe, takeUp } from '../../domain/transaction/memory/observe.ts';
import { backoffMs, reconnectLimitMs, refusalLimitMs } from '../../domain/transaction/memory/step-limits.ts';
import { blame, type TransactionMemory } from '../../domain/transaction/memory/transaction-memory.ts';
import { createPruneWatch } from './prune-watch.ts';
import type { TransactOptions } from './transact-options.ts';
import { readFacts } from './facts/facts.ts';

export type Reading = {
  /** `outdated`: the memory has learned something since, so the facts must be read again. */
  readonly kind: 'read' | 'outdated' | 'unreadable';
  readonly memory: TransactionMemory;
  readonly facts: TransactionFacts | undefined;
};

/**
 * Reads the facts of one transaction, and lets the memory learn from them. Waits for an engine that cannot be reached.
 */
export function createFactsReader(options: TransactOptions) {
  const { outside, transaction } = options;
  const prunes = createPruneWatch(
    outside,
    transaction.members.map(({ oldId }) => oldId),
  );
  return { read };

  async function read(before: TransactionMemory): Promise<Reading> {
    const readAtMs = outside.clock.monotonicMs();
    const { memory: known, facts } = await readWhenReachable(before);
    if (facts === undefined) return { kind: 'unreadable', memory: known, facts };
    const observed = observe(known, facts, transaction.autoRemoveReplicas);
    const memory = takeUp(observed, facts);
    if (memory.wish !== observed.wish) return { kind: 'outdated', memory, facts };
    prunes.see(facts, readAtMs);
    if ('prepared' in options.mode && (await prunes.hasTaken(facts)))
      return { kind: 'outdated', memory: { ...memory, pruned: new Set(prunes.pruned) }, facts };
    return { kind: 'read', memory, facts };
  }

  async function readWhenReachable(
    before: TransactionMemory,
  ): Promise<{ readonly memory: TransactionMemory; readonly facts: TransactionFacts | undefined }> {
    const begunAtMs = outside.clock.monotonicMs();
    let memory = before;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return { memory, facts: await readFacts(options, transaction, memory) };
      } catch (error) {
        const hasAnswered = error instanceof ServiceError && error.code === 'engine-refused';
        const limitMs = hasAnswered ? refusalLimitMs : reconnectLimitMs;
        if (!(error instanceof ServiceError) || outside.clock.monotonicMs() - begunAtMs > limitMs) {
          if (!(error instanceof ServiceError))
            outside.log.error('the state of a transaction could not be read', { error });
          return { memory: blame(memory, describeError(error)), facts: undefined };
        }
        memory = { ...memory, undisturbed: new Set() };
        outside.log.debug('the engine does not answer, trying again', { error: error.message });
        await outside.clock.sleep(backoffMs(attempt));
      }
    }
  }
}

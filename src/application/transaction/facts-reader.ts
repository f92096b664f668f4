import { describeError, ServiceError } from '../../domain/errors.ts';
import type { TransactionFacts } from '../../domain/transaction/facts.ts';
import { continueHandOver, observe } from '../../domain/transaction/memory/observe.ts';
import {
  backoffMs,
  reconnectLimitMs,
  refusalLimitMs,
  stoppingLimitMs,
  stoppingPauseMs,
} from '../../domain/transaction/memory/step-limits.ts';
import { addReason, type TransactionMemory } from '../../domain/transaction/memory/transaction-memory.ts';
import type { TransactOptions } from './transact-options.ts';
import { readFacts } from './facts/facts.ts';
import { createPruneWatch } from './prune-watch.ts';

export type Reading = {
  /** `outdated`: the memory has learned something since, so the facts must be read again. */
  readonly kind: 'read' | 'outdated' | 'unreadable';
  readonly memory: TransactionMemory;
  readonly facts: TransactionFacts | undefined;
};

/**
 * Reads the facts of one transaction, and lets the memory learn from them. Waits for an engine that cannot be reached,
 * but after a stop signal only for a moment: the engine's host may be going down with us.
 */
export function createFactsReader(options: TransactOptions): (before: TransactionMemory) => Promise<Reading> {
  const { outside, transaction, signal } = options;
  const findPruned = createPruneWatch(outside);

  async function readWhenReachable(
    before: TransactionMemory,
  ): Promise<{ readonly memory: TransactionMemory; readonly facts: TransactionFacts | undefined }> {
    const begunAtMs = outside.clock.monotonicMs();
    let stoppedAtMs: number | undefined;
    let memory = before;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return { memory, facts: await readFacts(options, memory) };
      } catch (error) {
        const hasAnswered =
          error instanceof ServiceError && (error.code === 'engine-refused' || error.code === 'engine-denied');
        const limitMs = hasAnswered ? refusalLimitMs : reconnectLimitMs;
        const nowMs = outside.clock.monotonicMs();
        if (signal?.aborted && !hasAnswered) stoppedAtMs ??= nowMs;
        const isOver = nowMs - begunAtMs > limitMs || nowMs - (stoppedAtMs ?? Infinity) >= stoppingLimitMs;
        if (!(error instanceof ServiceError) || isOver) {
          if (!(error instanceof ServiceError))
            outside.log.error('the state of a transaction could not be read', { error });
          return { memory: addReason(memory, describeError(error)), facts: undefined };
        }
        memory = { ...memory, undisturbed: new Set() };
        const level = attempt === longSilence ? 'warn' : 'debug';
        outside.log[level]('The engine does not answer, and the update waits for it', { error: error.message });
        await pause(stoppedAtMs === undefined ? backoffMs(attempt) : Math.min(backoffMs(attempt), stoppingPauseMs));
      }
    }
  }

  /** A stop signal ends one pause. */
  async function pause(ms: number): Promise<void> {
    const woken = signal?.aborted ? undefined : signal;
    await outside.clock.sleep(ms, woken).catch((error: unknown) => {
      if (woken?.aborted !== true) throw error;
    });
  }

  return async (before) => {
    const readAtMs = outside.clock.monotonicMs();
    const { memory: known, facts } = await readWhenReachable(before);
    if (facts === undefined) return { kind: 'unreadable', memory: known, facts };
    const observed = observe(known, facts, transaction.autoRemoveReplicas);
    const memory = continueHandOver(observed, facts);
    if (memory.direction !== observed.direction) return { kind: 'outdated', memory, facts };
    const pruned = 'prepared' in options.mode ? await findPruned(facts, readAtMs) : undefined;
    if (pruned !== undefined) return { kind: 'outdated', memory: { ...memory, pruned }, facts };
    return { kind: 'read', memory, facts };
  };
}

/** The attempt of the only warning, which a user sees after 3 s. */
const longSilence = 6;

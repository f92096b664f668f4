import { describeError, ServiceError } from '../../domain/errors.ts';
import type { MemberFacts, TransactionFacts } from '../../domain/transaction/facts.ts';
import { observe, continueHandOver } from '../../domain/transaction/memory/observe.ts';
import { backoffMs, reconnectLimitMs, refusalLimitMs } from '../../domain/transaction/memory/step-limits.ts';
import { addReason, type TransactionMemory } from '../../domain/transaction/memory/transaction-memory.ts';
import type { Outside } from '../../domain/outside/outside.ts';
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
export function createFactsReader(options: TransactOptions): (before: TransactionMemory) => Promise<Reading> {
  const { outside, transaction } = options;
  const findPruned = createPruneWatch(outside);

  async function readWhenReachable(
    before: TransactionMemory,
  ): Promise<{ readonly memory: TransactionMemory; readonly facts: TransactionFacts | undefined }> {
    const begunAtMs = outside.clock.monotonicMs();
    let memory = before;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return { memory, facts: await readFacts(options, memory) };
      } catch (error) {
        const hasAnswered = error instanceof ServiceError && error.code === 'engine-refused';
        const limitMs = hasAnswered ? refusalLimitMs : reconnectLimitMs;
        if (!(error instanceof ServiceError) || outside.clock.monotonicMs() - begunAtMs > limitMs) {
          if (!(error instanceof ServiceError))
            outside.log.error('the state of a transaction could not be read', { error });
          return { memory: addReason(memory, describeError(error)), facts: undefined };
        }
        memory = { ...memory, undisturbed: new Set() };
        outside.log.debug('the engine does not answer, trying again', { error: error.message });
        await outside.clock.sleep(backoffMs(attempt));
      }
    }
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

/**
 * Detects old containers of a running transaction that a prune has removed. A removal by a person is intended and is
 * not undone. Call the returned function with every reading of the facts; `readAtMs` is the begin of that reading by
 * the monotonic clock. When it finds further pruned containers, it resolves to the ids of all of them, and the facts
 * must be read again. It asks the engine once about each container.
 */
function createPruneWatch({ engine, clock, log }: Outside) {
  const pruned = new Set<string>();
  const asked = new Set<string>();
  const seenAtMs = new Map<string, number>();

  async function hasPruned(sinceMs: number): Promise<boolean> {
    try {
      const { nowMs } = await engine.info();
      return await engine.hasPruned({
        sinceMs: nowMs - (clock.monotonicMs() - sinceMs) - clockErrorMs,
        untilMs: nowMs + longestPruneMs,
      });
    } catch (error) {
      log.debug('The engine does not show whether it has pruned containers', { error: describeError(error) });
      return false;
    }
  }

  return async ({ members }: TransactionFacts, readAtMs: number): Promise<ReadonlySet<string> | undefined> => {
    for (const member of members) if (!isLost(member)) seenAtMs.set(member.oldId, readAtMs);
    const lost = members.filter(isLost).flatMap(({ oldId }) => {
      const atMs = seenAtMs.get(oldId);
      return atMs === undefined || asked.has(oldId) ? [] : [{ oldId, atMs }];
    });
    if (lost.length === 0) return undefined;
    for (const { oldId } of lost) asked.add(oldId);
    if (!(await hasPruned(Math.min(...lost.map(({ atMs }) => atMs))))) return undefined;
    for (const { oldId } of lost) pruned.add(oldId);
    return new Set(pruned);
  };
}

/** A prune removes stopped containers, so only a container that ran counts as lost. */
function isLost({ old, new: successor, spare, nameHeldBy, wasRunning }: MemberFacts): boolean {
  const isGone = old === undefined && successor === undefined && spare === undefined;
  return isGone && nameHeldBy === 'nobody' && wasRunning;
}

/** The engine announces a prune at its end, after some hundred containers. */
const longestPruneMs = 10_000;

/** The engine's clock is known to within the time of one request, whose deadline this is. */
const clockErrorMs = 30_000;

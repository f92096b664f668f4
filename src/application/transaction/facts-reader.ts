import { describeError, ServiceError } from '../../domain/text/errors.ts';
import type { TransactionFacts, MemberFacts } from '../../domain/transaction/facts.ts';
import { continueHandOver, observe } from '../../domain/transaction/expected-facts.ts';
import {
  backoffMs,
  reconnectLimitMs,
  refusalLimitMs,
  stoppingLimitMs,
  stoppingPauseMs,
  addReason,
  type TransactionMemory,
} from '../../domain/transaction/memory.ts';
import type { TransactOptions } from './transact-options.ts';
import { readFacts } from './facts/facts.ts';
import type { Outside } from '../../domain/outside/outside.ts';

type Reading = {
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

/**
 * Detects old containers of a running transaction that a prune has removed. A removal by a person is intended and is
 * not undone. Call the returned function with every reading of the facts; `readAtMs` is the begin of that reading by
 * the monotonic clock. When it finds further pruned containers, it resolves to the ids of all of them, and the facts
 * must be read again. It asks the engine once about each container.
 */
function createPruneWatch({ engine, clock, log }: Outside) {
  const pruned = new Set<string>();
  const asked = new Set<string>();
  const seenAtMs = new Map<string, SeenAtMs>();

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

  function noteSeen({ oldId, old, new: successor, spare }: MemberFacts, readAtMs: number): void {
    const before = seenAtMs.get(oldId);
    const isOldSeen = old !== undefined || spare !== undefined;
    const any = isOldSeen || successor !== undefined ? readAtMs : before?.any;
    seenAtMs.set(oldId, { any, old: isOldSeen ? readAtMs : before?.old });
  }

  return async (facts: TransactionFacts, readAtMs: number): Promise<ReadonlySet<string> | undefined> => {
    for (const member of facts.members) noteSeen(member, readAtMs);
    const lost = facts.members
      .filter((member) => isLost(member, facts))
      .flatMap(({ oldId, new: successor }) => {
        const atMs = seenAtMs.get(oldId)?.[successor === undefined ? 'any' : 'old'];
        return atMs === undefined || asked.has(oldId) ? [] : [{ oldId, atMs }];
      });
    if (lost.length === 0) return undefined;
    for (const { oldId } of lost) asked.add(oldId);
    if (!(await hasPruned(Math.min(...lost.map(({ atMs }) => atMs))))) return undefined;
    for (const { oldId } of lost) pruned.add(oldId);
    return new Set(pruned);
  };
}

/** When the old container, and any container of a member, was seen last. */
type SeenAtMs = { readonly old: number | undefined; readonly any: number | undefined };

/**
 * Whether a member needs its old container, which is gone: its successor is gone too, or has failed. In a group the
 * successor stays then, because others already depend on it. A prune removes stopped containers, so only a container
 * that ran counts as lost.
 */
function isLost(
  { old, new: successor, spare, nameHeldBy, wasRunning }: MemberFacts,
  { members, memory: { direction, proven } }: TransactionFacts,
): boolean {
  if (old !== undefined || spare !== undefined || !wasRunning) return false;
  if (successor === undefined) return nameHeldBy === 'nobody';
  const hasFailed = direction === 'back' && !proven.has(successor.id) && members.length === 1;
  return hasFailed && (nameHeldBy === 'new' || nameHeldBy === 'nobody');
}

/** The engine announces a prune at its end, after some hundred containers. */
const longestPruneMs = 10_000;

/** The engine's clock is known to within the time of one request, whose deadline this is. */
const clockErrorMs = 30_000;

import type { MemberFacts, TransactionFacts } from '../../domain/transaction/facts.ts';
import { describeError } from '../../domain/errors.ts';
import type { Outside } from '../../domain/outside/outside.ts';

/**
 * Detects containers of a running transaction that a prune has removed. A person who removes both the old and the new
 * one means it.
 */
export type PruneWatch = {
  /** Ids of old containers. */
  readonly pruned: ReadonlySet<string>;
  /** `readAtMs`: the begin of the reading of the facts, by the monotonic clock. */
  readonly see: (facts: TransactionFacts, readAtMs: number) => void;
  /** True when more such containers were found: the facts must be read again. Asks the engine once about each. */
  readonly hasTaken: (facts: TransactionFacts) => Promise<boolean>;
};

export function createPruneWatch({ engine, clock, log }: Outside, oldIds: readonly string[]): PruneWatch {
  const pruned = new Set<string>();
  const asked = new Set<string>();
  const seenAtMs = new Map<string, number>();
  return {
    pruned,
    see({ members }, readAtMs) {
      for (const [index, oldId] of oldIds.entries())
        if (members[index] !== undefined && !isLost(members[index])) seenAtMs.set(oldId, readAtMs);
    },
    async hasTaken({ members }) {
      const lost = oldIds.filter((oldId, index) => {
        const member = members[index];
        return member !== undefined && isLost(member) && seenAtMs.has(oldId) && !asked.has(oldId);
      });
      if (lost.length === 0) return false;
      for (const oldId of lost) asked.add(oldId);
      if (!(await hasPruned(Math.min(...lost.map((oldId) => seenAtMs.get(oldId) ?? 0))))) return false;
      for (const oldId of lost) pruned.add(oldId);
      return true;
    },
  };

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

import { describeError } from '../../domain/errors.ts';
import type { MemberFacts, TransactionFacts } from '../../domain/transaction/facts.ts';
import type { Outside } from '../../domain/outside/outside.ts';

/**
 * Detects old containers of a running transaction that a prune has removed. A removal by a person is intended and is
 * not undone. Call the returned function with every reading of the facts; `readAtMs` is the begin of that reading by
 * the monotonic clock. When it finds further pruned containers, it resolves to the ids of all of them, and the facts
 * must be read again. It asks the engine once about each container.
 */
export function createPruneWatch({ engine, clock, log }: Outside) {
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

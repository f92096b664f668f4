import type { Digest } from '../reference/digest.ts';
import type { Decision } from './decision.ts';

/** The last decision for each container, by its name: a later one takes the place of an earlier. */
export type Decisions = ReadonlyMap<string, Decision>;

/** One change of the decisions, as it is written down: they are what their records make of them, in their order. */
export type DecisionRecord =
  | { readonly kind: 'decided'; readonly decision: Decision }
  /** Withdrawn by a person, or dead with its digest. */
  | { readonly kind: 'ended'; readonly container: string; readonly id: string };

/** The decisions after one more record. */
export function applyRecord(decisions: Decisions, record: DecisionRecord): Decisions {
  const next = new Map(decisions);
  change(next, record);
  return next;
}

/** The decisions that records make; `compactRecords` of the same records makes the same. */
export function decisionsOf(records: readonly DecisionRecord[]): Decisions {
  const decisions = new Map<string, Decision>();
  for (const record of records) change(decisions, record);
  return decisions;
}

/** At most 10,000 stay, of which the oldest go first. */
function change(decisions: Map<string, Decision>, record: DecisionRecord): void {
  if (record.kind === 'ended') {
    if (decisions.get(record.container)?.id === record.id) decisions.delete(record.container);
    return;
  }
  const { decision } = record;
  decisions.delete(decision.container);
  decisions.set(decision.container, decision);
  const [oldest] = decisions.keys();
  if (decisions.size > mostDecisions && oldest !== undefined) decisions.delete(oldest);
}

const mostDecisions = 10_000;

/** The fewest records that make the same decisions. */
export function compactRecords(records: readonly DecisionRecord[]): readonly DecisionRecord[] {
  return [...decisionsOf(records).values()].map((decision) => ({ kind: 'decided', decision }));
}

/** The decision that counts for this version in this container now. */
export function decisionFor(
  decisions: Decisions,
  { container, digest, nowMs }: { readonly container: string; readonly digest: Digest; readonly nowMs: number },
): Decision | undefined {
  const decision = decisions.get(container);
  return decision === undefined || decision.digest !== digest || hasEnded(decision, nowMs) ? undefined : decision;
}

/**
 * Decisions that count no more: their time is over, or the container's candidate is another one or none, because it
 * was updated. `candidates` by name holds checked containers only: what could not be checked keeps its decision.
 */
export function deadDecisions(
  decisions: Decisions,
  candidates: ReadonlyMap<string, Digest | undefined>,
  nowMs: number,
): readonly Decision[] {
  return [...decisions.values()].filter(
    (decision) =>
      hasEnded(decision, nowMs) ||
      (candidates.has(decision.container) && candidates.get(decision.container) !== decision.digest),
  );
}

function hasEnded({ untilMs }: Decision, nowMs: number): boolean {
  return untilMs !== undefined && untilMs <= nowMs;
}

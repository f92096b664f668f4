import type { Digest } from '../reference/digest.ts';
import type { Decision } from './decision.ts';

/** The last decision for each container, by name. A later decision replaces an earlier one. */
export type Decisions = ReadonlyMap<string, Decision>;

/** One stored change. The decisions are the result of their records, in order. */
export type DecisionRecord =
  | { readonly kind: 'decided'; readonly decision: Decision }
  /** Withdrawn by a person, or ended with its digest. */
  | { readonly kind: 'ended'; readonly container: string; readonly id: string };

/** The decisions after one more record. */
export function applyRecord(decisions: Decisions, record: DecisionRecord): Decisions {
  const next = new Map(decisions);
  change(next, record);
  return next;
}

/** The decisions that result from records. `compactRecords` keeps the result. */
export function decisionsOf(records: readonly DecisionRecord[]): Decisions {
  const decisions = new Map<string, Decision>();
  for (const record of records) change(decisions, record);
  return decisions;
}

/** At most 10,000 are kept; the oldest are dropped. */
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

/** The smallest list of records with the same result. */
export function compactRecords(records: readonly DecisionRecord[]): readonly DecisionRecord[] {
  return [...decisionsOf(records).values()].map((decision) => ({ kind: 'decided', decision }));
}

/** The decision that applies to this version in this container now. */
export function decisionFor(
  decisions: Decisions,
  { container, digest, nowMs }: { readonly container: string; readonly digest: Digest; readonly nowMs: number },
): Decision | undefined {
  const decision = decisions.get(container);
  return decision === undefined || decision.digest !== digest || hasEnded(decision, nowMs) ? undefined : decision;
}

/**
 * Decisions that no longer apply: their time is over, or the container has another candidate or none. `candidates`, by
 * name, contains checked containers only: without a check the decision stays.
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

import { isDigest } from '../image/image-reference.ts';
import { isJsonObject, isWholeNumber } from '../text/json.ts';
import { printable } from '../text/printable.ts';
import { putNewest } from '../text/plain-data.ts';
import { type Decision, decisionKinds, type Decisions } from './decisions.ts';

/** One stored change. The decisions are the result of their records, in order. */
export type DecisionRecord =
  | { readonly kind: 'decided'; readonly decision: Decision }
  /** Withdrawn by a person, or ended with its digest. */
  | { readonly kind: 'ended'; readonly container: string; readonly id: string };

/**
 * The decisions that result from records. `compactRecords` keeps the result. At most 10,000 are kept; the oldest are
 * dropped.
 */
export function decisionsOf(records: readonly DecisionRecord[]): Decisions {
  const decisions = new Map<string, Decision>();
  for (const record of records) {
    if (record.kind === 'ended') {
      if (decisions.get(record.container)?.id === record.id) decisions.delete(record.container);
      continue;
    }
    const { decision } = record;
    putNewest(decisions, decision.container, decision, mostDecisions);
  }
  return decisions;
}

const mostDecisions = 10_000;

/** The smallest list of records with the same result. */
export function compactRecords(records: readonly DecisionRecord[]): readonly DecisionRecord[] {
  return [...decisionsOf(records).values()].map((decision) => ({ kind: 'decided', decision }));
}

/** Reads a record of the file. Undefined for any other value. Texts are cut to a length that a page can show. */
export function readDecisionRecord(value: unknown): DecisionRecord | undefined {
  if (!isJsonObject(value)) return undefined;
  if (value['kind'] === 'ended') {
    const { container, id } = value;
    return isText(container) && isText(id) ? { kind: 'ended', container, id } : undefined;
  }
  const decision = value['kind'] === 'decided' ? readDecision(value['decision']) : undefined;
  return decision && { kind: 'decided', decision };
}

function readDecision(value: unknown): Decision | undefined {
  if (!isJsonObject(value)) return undefined;
  const { id, container, digest, tag, by, atMs, untilMs } = value;
  const kind = decisionKinds.find((each) => each === value['kind']);
  if (kind === undefined || !isText(id) || !isText(container) || typeof digest !== 'string' || !isDigest(digest))
    return undefined;
  if (!isText(by) || !isWholeNumber(atMs) || (untilMs !== undefined && !isWholeNumber(untilMs))) return undefined;
  if (kind === 'snooze' && untilMs === undefined) return undefined;
  const shownTag = isText(tag) ? printable(tag, 128) : undefined;
  return { id, kind, container, digest, tag: shownTag, by: printable(by, 200), atMs, untilMs };
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= longestText;
}

const longestText = 1000;

import { isDigest, type Digest } from '../reference/digest.ts';
import { isJsonObject, isWholeNumber } from '../text/json-value.ts';
import { printable, quoted } from '../text/printable.ts';
import { formatDuration } from '../text/duration.ts';

export type DecisionKind = 'approve' | 'skip' | 'snooze';

/** A person's decision about one new version of one container. It applies to that digest only. */
export type Decision = {
  /** A UUID. */
  readonly id: string;
  readonly kind: DecisionKind;
  /** Name of the container. */
  readonly container: string;
  /** The engine of the container; present with several engines. */
  readonly engine?: string;
  readonly digest: Digest;
  /** The candidate's tag as it was read, for people; undefined for one without. */
  readonly tag: string | undefined;
  /** Name of the token, or `command line`. */
  readonly by: string;
  /** Both in milliseconds since the epoch. A decision without `untilMs` ends with its digest. */
  readonly atMs: number;
  readonly untilMs: number | undefined;
};

export type DecisionRequest = {
  readonly kind: DecisionKind;
  readonly container: string;
  /** Needed if several engines have a container of that name. */
  readonly engine?: string;
  /** The digest that the person saw. */
  readonly digest: string;
  readonly untilMs?: number | undefined;
  readonly by: string;
};

/** The newer version that the container waits for now. */
export type DecidedCandidate = { readonly digest: Digest; readonly tag: string | undefined };

/** `conflict`: the candidate has changed since the person saw it. Reasons complete "Cannot approve …: ". */
export type DecisionFault = { readonly kind: 'conflict' | 'invalid'; readonly fault: string };

/** The decision, or why it is not possible. */
export function takeDecision(
  request: DecisionRequest,
  candidate: DecidedCandidate | undefined,
  { id, nowMs }: { readonly id: string; readonly nowMs: number },
): Decision | DecisionFault {
  const { kind, container, digest, untilMs, by } = request;
  if (!isDigest(digest)) return { kind: 'invalid', fault: `${quoted(digest)} is not a digest` };
  if (candidate === undefined) return { kind: 'conflict', fault: 'no newer version of it is known' };
  if (candidate.digest !== digest)
    return { kind: 'conflict', fault: `its newer version has changed to ${candidate.digest}` };
  const fault = faultOfEnd(kind, untilMs, nowMs);
  if (fault !== undefined) return { kind: 'invalid', fault };
  return { id, kind, container, digest, tag: candidate.tag, by, atMs: nowMs, untilMs };
}

function faultOfEnd(kind: DecisionKind, untilMs: number | undefined, nowMs: number): string | undefined {
  if (untilMs === undefined) return kind === 'snooze' ? 'the time to snooze is missing' : undefined;
  if (!(untilMs > nowMs)) return 'its end has passed already';
  return untilMs - nowMs > longestMs ? `it ends in more than ${formatDuration(longestMs)}` : undefined;
}

/** A longer time is probably a mistake in the unit. */
const longestMs = 366 * 86_400_000;

/** The last decision for each container, by name. A later decision replaces an earlier one. */
export type Decisions = ReadonlyMap<string, Decision>;

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
    decisions.delete(decision.container);
    decisions.set(decision.container, decision);
    const [oldest] = decisions.keys();
    if (decisions.size > mostDecisions && oldest !== undefined) decisions.delete(oldest);
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

const kinds: readonly DecisionKind[] = ['approve', 'skip', 'snooze'];

function readDecision(value: unknown): Decision | undefined {
  if (!isJsonObject(value)) return undefined;
  const { id, container, digest, tag, by, atMs, untilMs } = value;
  const kind = kinds.find((each) => each === value['kind']);
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
export function obsoleteDecisions(
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

import { isDigest, type Digest } from '../image/image-reference.ts';
import { quoted } from '../text/printable.ts';
import { formatDuration } from '../text/duration.ts';

export const decisionKinds = ['approve', 'skip', 'snooze'] as const;

export type DecisionKind = (typeof decisionKinds)[number];

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

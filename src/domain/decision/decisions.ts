/** Reasons that hold a newer version back, and the decisions of people about it. */

import type { VersionKind } from '../image/version-tag.ts';
import { isDigest, type Digest } from '../image/image-reference.ts';
import { quoted, printable } from '../text/printable.ts';
import { formatDuration, printTime } from '../text/duration.ts';
import type { Windows } from './windows.ts';
import { words } from '../text/words.ts';
import { isJsonObject, isWholeNumber } from '../text/json.ts';
import { putNewest } from '../text/plain-data.ts';

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
  return untilMs - nowMs > maxMs ? `it ends in more than ${formatDuration(maxMs)}` : undefined;
}

/** A longer time is probably a mistake in the unit. */
const maxMs = 366 * 86_400_000;

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

/**
 * Why a newer image waits. `failed`: this version failed in this container. `failed-elsewhere`: it failed in another
 * container of the same image. `went-back`: a person went back from it.
 * `approval`: it waits for a person. `notes`: its release notes are to be read first.
 * `window`: its window is closed, or cannot be read. `wave`: engines of earlier waves have not proven it. `own-way`: the
 * engine cannot be reached without this container. `not-replaceable`: an update would leave this container as it is, for
 * example one with `--rm`. `unreadable`: the decisions cannot be read, so that nobody
 * knows whether it is skipped.
 */
export const heldBecause = [
  'failed',
  'failed-elsewhere',
  'went-back',
  'cooldown',
  'monitor-only',
  'unsigned',
  'skipped',
  'snoozed',
  'approval',
  'notes',
  'window',
  'wave',
  'own-way',
  'not-replaceable',
  'unreadable',
] as const;

/** Why a check failed. `no-pull`: the engine has no image of the tag, and `no-pull` forbids a registry request. */
export const unknownBecause = ['no-pull', 'rate-limited', 'unreachable', 'unauthorised', 'not-found', 'other'] as const;

/** The kind of reason for the status `held` or `unknown`. */
export type Hold = (typeof heldBecause | typeof unknownBecause)[number];

/** Why a newer version is held back: one reason, with the time at which it ends by itself. */
type HoldReason = { readonly kind: Hold } & (
  | { readonly kind: 'unsigned'; readonly keys: readonly string[]; readonly why: string }
  | { readonly kind: 'unreadable'; readonly fault: string }
  | { readonly kind: 'skipped'; readonly by: string; readonly releasedAtMs: number | undefined }
  | { readonly kind: 'snoozed'; readonly by: string; readonly releasedAtMs: number }
  | {
      readonly kind: 'approval';
      /** Absent: the kind of the version. */
      readonly because?: 'breaking' | 'unread';
      /** With `because`: a clause about its release notes. */
      readonly why?: string;
    }
  | { readonly kind: 'notes'; readonly why: string; readonly releasedAtMs: number | undefined }
  | { readonly kind: 'window'; readonly releasedAtMs: number }
  /** The label with the windows cannot be read. */
  | { readonly kind: 'window'; readonly releasedAtMs: undefined; readonly fault: string }
);

type HoldQuestion = {
  readonly candidateKind: CandidateKind;
  readonly approval: Approval;
  /** What is known of its release notes. Absent: nobody reads them. */
  readonly notes?: NotesVerdict | undefined;
  /** Why stored decisions cannot be read. */
  readonly unreadable: string | undefined;
  /** The decision that counts for the candidate. */
  readonly decision: Decision | undefined;
  /** Undefined: an update may begin at any time, or a person has requested it now. */
  readonly windows: Windows | { readonly fault: string } | undefined;
  readonly nowMs: number;
};

/**
 * A hold that a person must end takes precedence over one that ends by itself, so that the reason names the action that
 * is needed.
 */
export function holdOf(question: HoldQuestion): HoldReason | undefined {
  const { candidateKind, approval, notes, unreadable, decision, windows, nowMs } = question;
  if (unreadable !== undefined) return { kind: 'unreadable', fault: unreadable };
  if (decision?.kind === 'skip') return { kind: 'skipped', by: decision.by, releasedAtMs: decision.untilMs };
  if (decision?.kind === 'snooze' && decision.untilMs !== undefined)
    return { kind: 'snoozed', by: decision.by, releasedAtMs: decision.untilMs };
  if (decision?.kind !== 'approve') {
    if (needsApproval(approval.from, candidateKind)) return { kind: 'approval' };
    const held = holdOfNotes(approval, notes ?? nobodyReads, nowMs);
    if (held !== undefined) return held;
  }
  if (windows === undefined) return undefined;
  if ('fault' in windows) return { kind: 'window', releasedAtMs: undefined, fault: windows.fault };
  if (windows.isOpen(nowMs)) return undefined;
  return { kind: 'window', releasedAtMs: windows.nextOpening(nowMs) };
}

/** What the release notes of a newer version say, for a hold. The texts are clauses. */
export type NotesVerdict =
  | { readonly kind: 'harmless' }
  | { readonly kind: 'breaking'; readonly why: string }
  /** `endsAtMs`: a failure that passes holds until then at most. Undefined: they cannot be read at all. */
  | { readonly kind: 'unread'; readonly why: string; readonly endsAtMs: number | undefined };

const nobodyReads: NotesVerdict = { kind: 'unread', why: 'its release notes are not read', endsAtMs: undefined };

/** A person is asked for what stays as it is. Notes that may be read soon hold for a time. */
function holdOfNotes({ breaking, unread }: Approval, notes: NotesVerdict, nowMs: number): HoldReason | undefined {
  if (notes.kind === 'harmless') return undefined;
  if (notes.kind === 'breaking')
    return breaking ? { kind: 'approval', because: 'breaking', why: notes.why } : undefined;
  if (unread) return { kind: 'approval', because: 'unread', why: notes.why };
  const isPassing = notes.endsAtMs !== undefined && nowMs < notes.endsAtMs;
  return breaking && isPassing ? { kind: 'notes', why: notes.why, releasedAtMs: notes.endsAtMs } : undefined;
}

/** The reason, and the way to end it where a person can, without a final period. Times are in UTC, as in all reasons. */
export function describeHold(hold: HoldReason, container: string): string {
  const releasedBy = (command: string) => `; release it with upkeep ${command}`;
  switch (hold.kind) {
    case 'unsigned':
      if (hold.keys.length === 0) return `not signed: ${hold.why}`;
      return `not signed by ${hold.keys.map((key) => quoted(key)).join(' or ')}: ${hold.why}`;
    case 'unreadable':
      return `the decisions cannot be read: ${hold.fault}; ${unreadableRemedy}`;
    case 'skipped': {
      const end = hold.releasedAtMs === undefined ? '' : ` until ${printTime(hold.releasedAtMs)}`;
      return `skipped by ${quoted(hold.by)}${end}${releasedBy(`unskip ${container}`)}`;
    }
    case 'snoozed': {
      const end = printTime(hold.releasedAtMs);
      return `snoozed by ${quoted(hold.by)} until ${end}${releasedBy(`unskip ${container}`)}`;
    }
    case 'approval':
      return `${hold.why ?? words.hold.approval}${releasedBy(`approve ${container}`)}`;
    case 'notes':
      return `${hold.why}${releasedBy(`approve ${container}`)}`;
    case 'window':
      if (hold.releasedAtMs === undefined)
        return `its window cannot be read: ${hold.fault}; correct the label upkeep.window`;
      return `its window opens at ${printTime(hold.releasedAtMs)}${releasedBy(`update ${container} --now`)}`;
  }
}

export const unreadableRemedy =
  'correct this file in the folder of --state-dir, or stop Upkeep and remove it with its decisions';

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
    putNewest(decisions, decision.container, decision, maxDecisions);
  }
  return decisions;
}

const maxDecisions = 10_000;

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
  return typeof value === 'string' && value !== '' && value.length <= maxTextLength;
}

const maxTextLength = 1000;

/**
 * The differences between a candidate and the current tag, the smallest first. `digest` means the same tag with other
 * content.
 */
export const candidateKinds = ['digest', 'patch', 'minor', 'major'] as const satisfies readonly (
  | 'digest'
  | VersionKind
)[];

export type CandidateKind = (typeof candidateKinds)[number];

/** The smallest kind of candidate that needs approval. `never`: no candidate does. */
type ApprovalFrom = CandidateKind | 'never';

/** The newer versions that wait for a person: by their kind, and by what their release notes say. */
export type Approval = {
  readonly from: ApprovalFrom;
  /** Also any version whose release notes speak of breaking changes. */
  readonly breaking: boolean;
  /** Also any version whose release notes cannot be read. */
  readonly unread: boolean;
};

/** The same in the notation of the option. */
export function printApproval({ from, breaking, unread }: Approval): string {
  const kind = from === 'never' ? [] : [from === 'digest' ? 'true' : from];
  const words = [...kind, ...(breaking ? ['breaking'] : []), ...(unread ? ['unread'] : [])];
  return words.length === 0 ? 'false' : words.join(',');
}

/** Whether a person must approve a candidate of the kind. */
export function needsApproval(from: ApprovalFrom, kind: CandidateKind): boolean {
  return from !== 'never' && candidateKinds.indexOf(kind) >= candidateKinds.indexOf(from);
}

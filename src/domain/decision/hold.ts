import { printTime } from '../text/duration.ts';
import { quoted } from '../text/printable.ts';
import type { Windows } from '../window/windows.ts';
import type { Decision } from './decisions.ts';
import type { ErrorCode } from '../text/errors.ts';
import { type ApprovalFrom, type CandidateKind, needsApproval } from './approval.ts';

/**
 * Why a newer image waits. `failed`: this version failed in this container. `went-back`: a person went back from it.
 * `approval`: it waits for a person.
 * `window`: its window is closed, or cannot be read. `wave`: engines of earlier waves have not proven it. `own-way`: the
 * engine cannot be reached without this container. `not-replaceable`: an update would leave this container as it is, for
 * example one with `--rm`. `unreadable`: the decisions of people cannot be read, so that nobody
 * knows whether it is skipped.
 */
export const heldBecause = [
  'failed',
  'went-back',
  'cooldown',
  'monitor-only',
  'unsigned',
  'skipped',
  'snoozed',
  'approval',
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

/** The kind of reason for a failed check. */
export function holdOfFailure(code: ErrorCode | undefined): Hold {
  return (code !== undefined && byCode[code]) || 'other';
}

const byCode: Partial<Record<ErrorCode, Hold>> = {
  'registry-rate-limited': 'rate-limited',
  'registry-unreachable': 'unreachable',
  timeout: 'unreachable',
  'registry-denied': 'unauthorised',
  'registry-not-found': 'not-found',
};

/** Why a newer version is held back: one reason, with the time at which it ends by itself. */
export type HoldReason = { readonly kind: Hold } & (
  | { readonly kind: 'unsigned'; readonly keys: readonly string[]; readonly why: string }
  | { readonly kind: 'unreadable'; readonly fault: string }
  | { readonly kind: 'skipped'; readonly by: string; readonly releasedAtMs: number | undefined }
  | { readonly kind: 'snoozed'; readonly by: string; readonly releasedAtMs: number }
  | { readonly kind: 'approval' }
  | { readonly kind: 'window'; readonly releasedAtMs: number }
  /** The label with the windows cannot be read. */
  | { readonly kind: 'window'; readonly releasedAtMs: undefined; readonly fault: string }
);

export type HoldQuestion = {
  readonly candidateKind: CandidateKind;
  readonly approval: ApprovalFrom;
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
  const { candidateKind, approval, unreadable, decision, windows, nowMs } = question;
  if (unreadable !== undefined) return { kind: 'unreadable', fault: unreadable };
  if (decision?.kind === 'skip') return { kind: 'skipped', by: decision.by, releasedAtMs: decision.untilMs };
  if (decision?.kind === 'snooze' && decision.untilMs !== undefined)
    return { kind: 'snoozed', by: decision.by, releasedAtMs: decision.untilMs };
  if (needsApproval(approval, candidateKind) && decision?.kind !== 'approve') return { kind: 'approval' };
  if (windows === undefined) return undefined;
  if ('fault' in windows) return { kind: 'window', releasedAtMs: undefined, fault: windows.fault };
  if (windows.isOpen(nowMs)) return undefined;
  return { kind: 'window', releasedAtMs: windows.nextOpening(nowMs) };
}

/** The reason, and the way to end it where a person can, without a final period. Times are in UTC, as in all reasons. */
export function describeHold(hold: HoldReason, container: string): string {
  const releasedBy = (command: string) => `; release it with upkeep ${command}`;
  switch (hold.kind) {
    case 'unsigned':
      if (hold.keys.length === 0) return `not signed: ${hold.why}`;
      return `not signed by ${hold.keys.map((key) => quoted(key)).join(' or ')}: ${hold.why}`;
    case 'unreadable':
      return `the decisions of people cannot be read: ${hold.fault}; ${unreadableRemedy}`;
    case 'skipped': {
      const end = hold.releasedAtMs === undefined ? '' : ` until ${printTime(hold.releasedAtMs)}`;
      return `skipped by ${quoted(hold.by)}${end}${releasedBy(`unskip ${container}`)}`;
    }
    case 'snoozed': {
      const end = printTime(hold.releasedAtMs);
      return `snoozed by ${quoted(hold.by)} until ${end}${releasedBy(`unskip ${container}`)}`;
    }
    case 'approval':
      return `waits for approval${releasedBy(`approve ${container}`)}`;
    case 'window':
      if (hold.releasedAtMs === undefined)
        return `its window cannot be read: ${hold.fault}; correct the label upkeep.window`;
      return `its window opens at ${printTime(hold.releasedAtMs)}${releasedBy(`update ${container} --now`)}`;
  }
}

export const unreadableRemedy = 'correct this file in the folder of --state-dir, or remove it with its decisions';

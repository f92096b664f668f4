import type { ApprovalFrom } from '../../domain/decision/approval.ts';
import { type Decisions, decisionFor } from '../../domain/decision/decisions.ts';
import type { Hold } from '../../domain/check/hold.ts';
import type { Staleness } from '../../domain/check/verdict.ts';
import type { CandidateKind } from '../../domain/decision/approval.ts';
import { describeHold, holdOf } from '../../domain/decision/hold.ts';
import { type Digest, parseDigest } from '../../domain/reference/digest.ts';
import { createTimeZone } from '../../domain/schedule/time-zone.ts';
import type { ServiceSettings } from '../../domain/settings/settings.ts';
import type { WindowSetting } from '../../domain/settings/values/holding-back.ts';
import { createWindows, type Windows } from '../../domain/window/windows.ts';

/** What holds a container back besides its verdict. `window` undefined: somebody has asked for the update now. */
export type Restraints = { readonly approval: ApprovalFrom; readonly window: WindowSetting | undefined };

/** The verdict on its newer version without them, from which it can be judged again. */
export type Unrestrained = Restraints & Judged;

type Judged = {
  readonly status: Staleness;
  readonly reason: string;
  readonly hold?: Hold | undefined;
  readonly eligibleAtMs: number | undefined;
};

type Newer = {
  readonly updateAvailable: boolean;
  readonly pullDigest: Digest | undefined;
  readonly latestDigest: Digest | undefined;
  readonly latestImageId: string | undefined;
};

/** What a checked container says of itself. */
export type Holdable = Judged &
  Newer & {
    readonly name: string;
    readonly candidateKind?: CandidateKind;
    readonly unrestrained?: Unrestrained;
  };

export type HoldBack = {
  /** A fresh verdict, with the first reason why its newer version waits. Others than `stale` and `held` stay as they are. */
  readonly judge: <Checked extends Holdable>(
    checked: Checked,
    restraints: Restraints,
    decisions: Decisions,
    nowMs: number,
  ) => Checked;
  /** An earlier verdict, by the decisions and the time as they are now. */
  readonly again: <Checked extends Holdable>(checked: Checked, decisions: Decisions, nowMs: number) => Checked;
};

export function createHoldBack({ timeZone }: Pick<ServiceSettings, 'timeZone'>): HoldBack {
  const zone = createTimeZone(timeZone);
  const known = new Map<string, Windows>();

  function windowsOf(setting: WindowSetting | undefined): Windows | { readonly fault: string } | undefined {
    if (setting === undefined || setting.kind === 'always') return undefined;
    if (setting.kind === 'unreadable') return setting;
    const windows = known.get(setting.text) ?? createWindows(setting.windows, zone);
    if (known.size >= mostKnown) known.clear();
    known.set(setting.text, windows);
    return windows;
  }

  function judge<Checked extends Holdable>(
    checked: Checked,
    restraints: Restraints,
    decisions: Decisions,
    nowMs: number,
  ): Checked {
    const { status, reason, hold, eligibleAtMs } = checked;
    const isYoung = status === 'held' && hold === 'cooldown';
    if (status !== 'stale' && !isYoung) return checked;
    const unrestrained: Unrestrained = {
      ...restraints,
      ...{ status, reason, eligibleAtMs },
      ...(hold !== undefined && { hold }),
    };
    const { name: container } = checked;
    const digest = candidateDigest(checked);
    const held = holdOf({
      candidateKind: checked.candidateKind ?? 'digest',
      approval: restraints.approval,
      decision: digest && decisionFor(decisions, { container, digest, nowMs }),
      // A cooldown ends by itself too, and says so.
      windows: isYoung ? undefined : windowsOf(restraints.window),
      nowMs,
    });
    if (held === undefined) return { ...checked, unrestrained };
    const { reason: why, remedy } = describeHold(held, container);
    return {
      ...checked,
      unrestrained,
      status: 'held',
      hold: held.kind,
      reason: `${why.slice(0, 1).toUpperCase()}${why.slice(1)}; release it with ${remedy}`,
      eligibleAtMs: 'releasedAtMs' in held ? held.releasedAtMs : undefined,
    };
  }

  return {
    judge,
    again(checked, decisions, nowMs) {
      const { unrestrained } = checked;
      if (unrestrained === undefined) return checked;
      const { approval, window, ...verdict } = unrestrained;
      return judge({ ...checked, hold: undefined, ...verdict }, { approval, window }, decisions, nowMs);
    },
  };
}

/** Different texts; labels name few. */
const mostKnown = 1000;

/** What an update would apply: the digest of the registry, or the id of an image that the engine holds already. */
export function candidateDigest({
  updateAvailable,
  pullDigest,
  latestDigest,
  latestImageId = '',
}: Newer): Digest | undefined {
  return updateAvailable ? (pullDigest ?? latestDigest ?? parseDigest(latestImageId)) : undefined;
}

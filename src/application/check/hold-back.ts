import { sentence } from '../../domain/text/printable.ts';
import { decisionFor, describeHold, holdOf } from '../../domain/decision/decisions.ts';
import { createTimeZone, createWindows, type Windows } from '../../domain/decision/windows.ts';
import type { ServiceSettings } from '../../domain/settings/effective-settings.ts';
import type { WindowSetting } from '../../domain/settings/values/versions.ts';
import type { CheckedContainer, HoldSettings, UnheldVerdict } from './checked-container.ts';
import { candidateDigest } from './describe-checked.ts';
import type { Clock } from '../../domain/outside/outside.ts';
import type { DecisionStore, KnownDecisions } from './decision-store.ts';

export type HoldRules = {
  /**
   * Judges a fresh verdict: adds the first reason why its newer version waits. Verdicts other than `stale` and `held`
   * stay as they are.
   */
  readonly judge: (
    checked: CheckedContainer,
    restraints: HoldSettings,
    known: KnownDecisions,
    nowMs: number,
  ) => CheckedContainer;
  /** Judges an earlier verdict again, by the present decisions and time. */
  readonly again: (checked: CheckedContainer, known: KnownDecisions, nowMs: number) => CheckedContainer;
};

export function createHoldRules({ timeZone }: Pick<ServiceSettings, 'timeZone'>): HoldRules {
  const zone = createTimeZone(timeZone);
  const readBefore = new Map<string, Windows>();

  function windowsOf(setting: WindowSetting | undefined): Windows | { readonly fault: string } | undefined {
    if (setting === undefined || setting.kind === 'always') return undefined;
    if (setting.kind === 'unreadable') return setting;
    const windows = readBefore.get(setting.text) ?? createWindows(setting.windows, zone);
    if (readBefore.size >= mostKnown) readBefore.clear();
    readBefore.set(setting.text, windows);
    return windows;
  }

  function judge(
    checked: CheckedContainer,
    restraints: HoldSettings,
    { decisions, fault }: KnownDecisions,
    nowMs: number,
  ): CheckedContainer {
    const { status, reason, hold, eligibleAtMs } = checked;
    const isYoung = status === 'held' && hold === 'cooldown';
    if (status !== 'stale' && !isYoung) return checked;
    const unrestrained: UnheldVerdict = {
      ...restraints,
      status,
      reason,
      eligibleAtMs,
      ...(hold !== undefined && { hold }),
    };
    const { name: container } = checked;
    const digest = candidateDigest(checked);
    const held = holdOf({
      candidateKind: checked.candidateKind ?? 'digest',
      approval: restraints.approval,
      unreadable: fault,
      decision: digest && decisionFor(decisions, { container, digest, nowMs }),
      // A cooldown has its own end and its own message.
      windows: isYoung ? undefined : windowsOf(restraints.window),
      nowMs,
    });
    if (held === undefined) return { ...checked, unrestrained };
    return {
      ...checked,
      unrestrained,
      status: 'held',
      hold: held.kind,
      reason: sentence(describeHold(held, container)),
      eligibleAtMs: 'releasedAtMs' in held ? held.releasedAtMs : undefined,
    };
  }

  return {
    judge,
    again(checked, known, nowMs) {
      const { unrestrained, ...rest } = checked;
      if (unrestrained === undefined) return checked;
      const { approval, window, ...verdict } = unrestrained;
      const { hold: _, ...unheld } = rest;
      return judge({ ...unheld, ...verdict }, { approval, window }, known, nowMs);
    },
  };
}

/** Number of different label texts. Fleets have far fewer. */
const mostKnown = 1000;

/**
 * Why one of the checked containers must not be replaced now, though its check allowed it: a window has closed, or a
 * person has decided otherwise since.
 */
export type FinalHoldCheck = (containers: readonly CheckedContainer[]) => Promise<string | undefined>;

export function createFinalHoldCheck({ store, holdBack, clock }: FinalHoldParts): FinalHoldCheck {
  return async (containers) => {
    const stale = containers.filter(({ status }) => status === 'stale');
    if (stale.length === 0) return undefined;
    const known = await store.refresh();
    const nowMs = clock.nowMs();
    return stale.map((one) => holdBack.again(one, known, nowMs)).find(({ status }) => status === 'held')?.reason;
  };
}

type FinalHoldParts = {
  readonly store: DecisionStore;
  readonly holdBack: HoldRules;
  readonly clock: Pick<Clock, 'nowMs'>;
};

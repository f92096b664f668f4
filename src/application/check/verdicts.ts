import type { Verdict } from '../../domain/check/verdict.ts';
import type { WatchedContainer } from '../../domain/check/selection.ts';
import type { ReadOnlyOutside } from '../../domain/outside/outside.ts';
import { isContainer } from '../../domain/run/session.ts';
import { defined } from '../../domain/text/plain-data.ts';
import type { Digest } from '../../domain/image/image-reference.ts';
import type { OwnWays } from '../../domain/self-update/own-ways.ts';
import { effectiveSettings, type ServiceSettings } from '../../domain/settings/effective-settings.ts';
import type { CheckedContainer } from './checked-container.ts';
import type { KnownDecisions } from './decision-store.ts';
import { candidateDigest, checkedFacts, describeChecked } from './describe-checked.ts';
import type { HoldRules } from './hold-back.ts';
import type { JudgeOrder } from './judge-order.ts';
import type { SelectedContainers } from './select/select-containers.ts';
import type { SwarmService } from '../../domain/container/swarm-service.ts';

/** The verdicts of one check. */
export type Verdicts = {
  /** Adds to a verdict the reasons to wait. Announces it, unless it is `stale`. */
  readonly settle: (watched: WatchedContainer, verdict: Verdict) => Settled;
  /**
   * Announces a stale container. With the reason why the plan of its update refuses it, it is held back, so that no list
   * promises what an update refuses.
   */
  readonly conclude: (settled: Settled, refusal: string | undefined) => Settled;
  /** The settled verdict on a container. */
  readonly of: (watched: WatchedContainer) => Settled | undefined;
  /** The digest to apply in place of the newest one, which waits for engines of earlier waves. */
  readonly instead: (watched: WatchedContainer, newest: Verdict) => Digest | undefined;
  /** The service that is listed as a container; undefined for a container. */
  readonly serviceOf: (watched: WatchedContainer) => SwarmService | undefined;
};

type Settled = {
  readonly checked: CheckedContainer;
  /** The verdict of a scheduled run, without the exceptions of this order. */
  readonly asScheduled: CheckedContainer;
};

type VerdictParts = {
  readonly holdBack: HoldRules;
  readonly decided: KnownDecisions;
  readonly selected: SelectedContainers;
  readonly order: JudgeOrder;
  readonly ways: OwnWays;
};

export function createVerdicts(
  { clock, publish }: Pick<ReadOnlyOutside, 'clock' | 'publish'>,
  settings: ServiceSettings,
  { holdBack, decided, order, ways, selected: { listing, references } }: VerdictParts,
  signal?: AbortSignal,
): Verdicts {
  const services = new Map(listing.services?.services.map((service) => [service.id, service]));
  const settledOf = new Map<string, Settled>();
  const serviceOf = ({ container }: WatchedContainer) => services.get(container.id);

  /**
   * Holds a newer version back for good if the engine cannot be reached without the container, and no helper can
   * replace it.
   */
  function unlessOwnWay(checked: CheckedContainer): CheckedContainer {
    const way = ways.get(checked.id);
    if (checked.status !== 'stale' || way === undefined) return checked;
    const byHand = way.byHand ?? (settings.selfUpdate === 'off' ? ', because self-update is off' : undefined);
    if (byHand === undefined) return checked;
    const reason = `${checked.reason}; the container ${way.reason}, so it is updated only by hand${byHand}`;
    return { ...checked, status: 'held', hold: 'own-way', reason };
  }

  function describe(watched: WatchedContainer, verdict: Verdict): CheckedContainer {
    const { container, wishes } = watched;
    const isService = serviceOf(watched) !== undefined;
    const kind = isService ? ('service' as const) : settings.swarm ? ('container' as const) : undefined;
    const noPull = effectiveSettings(settings, wishes).noPull && !isService;
    const read = references.get(container.id);
    const isCanary = wishes.canary === true || undefined;
    const facts = { kind, isCanary, read, verdict, noPull };
    return unlessOwnWay(describeChecked(container, { ...facts, images: listing.images, nowMs: clock.nowMs() }));
  }

  function inUsualWave(one: CheckedContainer, retriesFailed = false): CheckedContainer {
    return isContainer(one) ? (order.part?.hold?.(one, retriesFailed) ?? one) : one;
  }

  function inWave(one: CheckedContainer): CheckedContainer {
    return order.ignoreWaves === true ? one : inUsualWave(one, order.retryFailed);
  }

  function announce(told: CheckedContainer): void {
    const { name: container, kind: entryKind, image, status, reason, error } = told;
    const said = { container, ...defined({ entryKind }), image, status, reason: error ?? reason };
    publish({ kind: 'container_checked', runId: order.runId, ...said, checked: checkedFacts(told) });
  }

  /** The end of a dry run tells nothing about its containers. */
  function tell({ checked, asScheduled }: Settled): void {
    const isUnasked = order.isDryRun === true && signal?.aborted === true && asScheduled.status === 'unknown';
    if (!isUnasked) announce(order.isDryRun === true ? asScheduled : checked);
  }

  /** Whether a person has asked for this very version. */
  function isAsSeen(judged: CheckedContainer): boolean {
    const digest = candidateDigest(judged);
    return digest !== undefined && order.byPerson?.(judged.name)?.digest === digest;
  }

  return {
    serviceOf,
    of: ({ container }) => settledOf.get(container.id),
    instead(watched, newest) {
      const judged = describe(watched, newest);
      const { status, pullDigest } = inWave(judged);
      return status === 'stale' && pullDigest !== judged.pullDigest ? pullDigest : undefined;
    },
    settle(watched, verdict) {
      const { approve: approval, window } = effectiveSettings(settings, watched.wishes);
      const nowMs = clock.nowMs();
      const judged = describe(watched, verdict);
      const lifted = {
        approval: order.asApproved === true || isAsSeen(judged) ? ('never' as const) : approval,
        window: order.ignoreWindows === true || order.byPerson !== undefined ? undefined : window,
      };
      const checked = holdBack.judge(inWave(judged), lifted, decided, nowMs);
      const usual = inUsualWave({ ...judged, ...heldOtherwise(verdict) });
      const asScheduled = holdBack.judge(usual, { approval, window }, decided, nowMs);
      const settled = { checked, asScheduled };
      settledOf.set(checked.id, settled);
      if (checked.status !== 'stale') tell(settled);
      return settled;
    },
    conclude(settled, refusal) {
      if (settled.checked.status !== 'stale') return settled;
      const concluded =
        refusal === undefined
          ? settled
          : { checked: refused(settled.checked, refusal), asScheduled: refused(settled.asScheduled, refusal) };
      tell(concluded);
      return concluded;
    },
  };
}

/** A decision or a window would not change it, so it is not judged again before the next check. */
function refused(checked: CheckedContainer, reason: string): CheckedContainer {
  if (checked.status !== 'stale') return checked;
  const { unrestrained: _, ...rest } = checked;
  return { ...rest, status: 'held', hold: 'not-replaceable', reason };
}

/** The status that a scheduled run would give to a version that this order finds ready. */
function heldOtherwise({ status, otherwise }: Verdict) {
  return status === 'stale' && otherwise !== undefined ? ({ ...otherwise, status: 'held' } as const) : {};
}

import { readOwnWays } from '../engine/list-all.ts';
import { type FailedVersion, obsoleteFailures } from '../../domain/check/failed-version.ts';
import type { EngineRuns } from '../../domain/fleet/engine-run.ts';
import type { ReadOnlyOutside } from '../../domain/outside/outside.ts';
import type { UnmatchedFilter } from '../../domain/check/filters.ts';
import type { MadePlan } from '../../domain/plan/update-plan.ts';
import type { WatchedContainer } from '../../domain/check/selection.ts';
import type { ServiceSettings } from '../../domain/settings/service-settings.ts';
import { isContainer } from '../../domain/run/session.ts';
import { judgeWithoutRegistry } from '../../domain/check/staleness.ts';
import type { Verdict } from '../../domain/check/verdict.ts';
import type { UnfinishedUpdate } from '../../domain/recovery/unfinished-update.ts';
import { askRegistries, type Question } from './ask-registry.ts';
import { questionsAbout } from './judge-services.ts';
import type { ReadReference } from './select/container-references.ts';
import { createCandidateFinder } from './newer/find-candidate.ts';
import { createDecisionStore, type DecisionStore } from './decision-store.ts';
import type { JudgeOrder } from './judge-order.ts';
import { createVerdicts } from './verdicts.ts';
import { createHoldRules, type HoldRules } from './hold-back.ts';
import { subjectOf, unanswered } from './check-subject.ts';
import { type CheckedContainer, imageIn } from './checked-container.ts';
import { refuseUnproven } from './newer/require-signature.ts';
import { createCooldownClock } from './newer/cooldown-clock.ts';
import { createTagSightings, type TagSightings } from './newer/tag-sightings.ts';
import type { SelectedContainers } from './select/select-containers.ts';

export type CheckReport = EngineRuns & {
  /** Containers in listing order. */
  readonly containers: readonly CheckedContainer[];
  /** Filters of the request that match no container. */
  readonly unmatched: readonly UnmatchedFilter[];
  /** Containers that are not watched. The reason follows the name: `is stopped`. */
  readonly unwatched: readonly { readonly name: string; readonly reason: string; readonly engine?: string }[];
  /** Watched containers of the request whose update was interrupted. */
  readonly unfinished: readonly UnfinishedContainer[];
  /** Remembered failures that no longer hold an update back. */
  readonly obsoleteFailures: readonly FailedVersion[];
  /** Why an update of its stale containers is not possible: a sentence with the remedy. Absent if none is known. */
  readonly notPossible?: string;
  readonly startedAtMs: number;
  readonly durationMs: number;
};

/** A container before its interrupted update; `id` is the old container's. */
export type UnfinishedContainer = Pick<UnfinishedUpdate, 'name' | 'state' | 'reason' | 'isParked' | 'isDown'> &
  Pick<CheckedContainer, 'id' | 'image' | 'imageId' | 'engine'>;

/** A failure for one container becomes its verdict. After an abort, containers without an answer are `unknown`. */
export type Judge = (selected: SelectedContainers, order: JudgeOrder, signal?: AbortSignal) => Promise<JudgedReport>;

export type JudgedReport = CheckReport & {
  /** The verdicts of a scheduled run on the same containers, without the exceptions of this order. */
  readonly asScheduled: readonly CheckedContainer[];
  /** The plan that updates its stale containers. Absent: it could not be made, or nobody has asked for it. */
  readonly made?: MadePlan;
};

/**
 * The rules that hold newer versions back, the decisions of people, and the digests seen. They are shared by the whole
 * process.
 */
export type HoldParts = {
  readonly holdBack: HoldRules;
  readonly decisions: DecisionStore;
  readonly tags: TagSightings;
  /** Absent: the verdicts do not show which stale containers an update would leave as they are. */
  readonly plan?: PlanStale | undefined;
};

/** The plan that updates the stale ones among checked containers. */
type PlanStale = (
  containers: readonly CheckedContainer[],
  listing: SelectedContainers['listing'],
  signal?: AbortSignal,
) => Promise<MadePlan>;

/** Asks the registries about selected containers. */
export function createJudge(
  world: ReadOnlyOutside,
  settings: ServiceSettings,
  {
    holdBack = createHoldRules(settings),
    decisions = createDecisionStore(),
    tags = createTagSightings({ clock: world.clock, store: undefined }),
    plan,
  }: Partial<HoldParts> = {},
): Judge {
  const { clock } = world;
  const cooldownClock = createCooldownClock(world);

  return async (selected, order, signal) => {
    const { listing, references, watched } = selected;
    const { containers, images, failedVersions, begunAt } = listing;
    const isAsked = order.byPerson !== undefined;
    const [applyCooldown, retryFailed] = [order.applyCooldown && !isAsked, order.retryFailed === true || isAsked];
    const outside = { ...world, registry: order.part?.registry ?? world.registry };
    const [decided, ways] = await Promise.all([
      decisions.refresh(),
      readOwnWays(outside, containers, signal),
      tags.load(),
    ]);
    const verdicts = createVerdicts(outside, settings, { holdBack, decided, selected, order, ways }, signal);
    const manner = { ...settings, applyCooldown, retryFailed, ignoresMonitorOnly: isAsked };

    function questionsOf(one: WatchedContainer): readonly Question[] {
      const service = verdicts.serviceOf(one);
      const settle = (verdict: Verdict) => verdicts.settle(one, verdict);
      if (service !== undefined && listing.services !== undefined)
        return questionsAbout(one, service, listing.services, settings, {
          settle,
          applyCooldown,
          retryFailed,
          ignoresMonitorOnly: isAsked,
        });
      const subject = subjectOf(one, { references, images, failedVersions }, manner);
      const verdict =
        'status' in subject ? subject : refuseUnproven(outside, subject, judgeWithoutRegistry(subject, images));
      if (verdict !== undefined) settle(verdict);
      if ('status' in subject || verdict !== undefined) return [];
      return [{ subject, instead: (newest) => verdicts.instead(one, newest), settle }];
    }

    const find = createCandidateFinder(outside.registry, clock);
    const limit = settings.checkConcurrency;
    await askRegistries(watched.flatMap(questionsOf), { outside, images, tags, cooldownClock, find, limit, signal });
    tags.keep();
    const judged = watched.map((one) => verdicts.of(one) ?? verdicts.settle(one, unanswered(one, images, signal)));
    const made = await planOf(judged.map((one) => one.checked));
    const refused = new Map(made?.plan.refused.map(({ id, reason }) => [id, reason]));
    const settled = judged.map((one) => verdicts.conclude(one, refused.get(one.checked.id)));
    const checked = settled.map(({ checked: one }) => one);
    return {
      containers: checked,
      asScheduled: settled.map(({ asScheduled }) => asScheduled),
      ...(made && { made }),
      unmatched: selected.unmatched,
      unfinished: selected.unfinished.map((update) => describeUnfinished(update, references.get(update.container.id))),
      unwatched: selected.unwatched,
      obsoleteFailures: obsoleteFailures(failedVersions, containers, checked.filter(isContainer)),
      startedAtMs: begunAt.wallMs,
      durationMs: clock.monotonicMs() - begunAt.monotonicMs,
    };

    /** A plan that cannot be made is no failure of the check. An update makes it again, and reports the reason. */
    async function planOf(found: readonly CheckedContainer[]): Promise<MadePlan | undefined> {
      const isStale = found.some((one) => one.status === 'stale' && isContainer(one));
      if (plan === undefined || !isStale || signal?.aborted) return undefined;
      return plan(found, listing, signal).catch((error: unknown) => {
        world.log.debug('An update could not be planned', { error });
        return undefined;
      });
    }
  };
}

function describeUnfinished(
  { name, state, reason, isParked, isDown, container }: UnfinishedUpdate,
  read: ReadReference | undefined,
): UnfinishedContainer {
  const { id, image, imageId } = container;
  return { id, name, image: imageIn(read, image), imageId, state, reason, isParked, ...(isDown && { isDown }) };
}

import { type FailedVersion, obsoleteFailures } from '../../domain/check/failed-version.ts';
import type { EngineRuns } from '../../domain/fleet/engine-run.ts';
import type { ReadOnlyOutside } from '../../domain/outside/outside.ts';
import type { UnmatchedFilter } from '../../domain/check/filters.ts';
import type { WatchedContainer } from '../../domain/check/selection.ts';
import type { ServiceSettings } from '../../domain/settings/service-settings.ts';
import { judgeWithoutRegistry } from '../../domain/check/staleness.ts';
import type { Verdict } from '../../domain/check/verdict.ts';
import type { UnfinishedUpdate } from '../../domain/recovery/unfinished-update.ts';
import type { Digest } from '../../domain/reference/digest.ts';
import { effectiveSettings } from '../../domain/settings/effective-settings.ts';
import { askRegistries, type Question } from './ask-registry.ts';
import { questionsAbout } from './judge-services.ts';
import type { ReadReference } from './container-references.ts';
import { createCandidateFinder } from './newer/find-candidate.ts';
import { createDecisionStore, type DecisionStore } from './decision-store.ts';
import { createHoldRules, type HoldRules } from './hold-back.ts';
import { subjectOf, unanswered } from './check-subject.ts';
import { type CheckedContainer, imageIn } from './checked-container.ts';
import { checkedFacts, describeChecked } from './describe-checked.ts';
import type { PartOfRun } from './part-of-run.ts';
import { refuseUnproven } from './newer/require-signature.ts';
import { createTagSightings, type TagSightings } from './newer/tag-sightings.ts';
import type { SelectedContainers } from './select-containers.ts';

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
  readonly startedAtMs: number;
  readonly durationMs: number;
};

/** A container before its interrupted update; `id` is the old container's. */
export type UnfinishedContainer = Pick<UnfinishedUpdate, 'name' | 'state' | 'reason' | 'isParked'> &
  Pick<CheckedContainer, 'id' | 'image' | 'imageId' | 'engine'>;

export type JudgeOrder = {
  readonly runId: string;
  /** False for a check, which reports every new version; true for an update, which holds young ones back. */
  readonly applyCooldown: boolean;
  /** Versions that failed in a container are not held back. */
  readonly retryFailed?: boolean;
  /** Windows hold nothing back. */
  readonly ignoreWindows?: boolean;
  /** Waves hold nothing back. */
  readonly ignoreWaves?: boolean;
  /** No version waits for approval: for a plan that shows what an approval would lead to. */
  readonly asApproved?: boolean;
  /** Nothing follows from this order, so its events have the verdicts of a scheduled run. */
  readonly isDryRun?: boolean;
  /** Its registry replaces the registry of `world`. */
  readonly part?: Pick<PartOfRun, 'registry' | 'hold'> | undefined;
};

/** A failure for one container becomes its verdict. After an abort, containers without an answer are `unknown`. */
export type Judge = (selected: SelectedContainers, order: JudgeOrder, signal?: AbortSignal) => Promise<JudgedReport>;

export type JudgedReport = CheckReport & {
  /** The verdicts of a scheduled run on the same containers, without the exceptions of this order. */
  readonly asScheduled: readonly CheckedContainer[];
};

/**
 * The rules that hold newer versions back, the decisions of people, and the digests seen. They are shared by the whole
 * process.
 */
export type HoldParts = {
  readonly holdBack: HoldRules;
  readonly decisions: DecisionStore;
  readonly tags: TagSightings;
};

/** Asks the registries about selected containers. */
export function createJudge(
  world: ReadOnlyOutside,
  settings: ServiceSettings,
  {
    holdBack = createHoldRules(settings),
    decisions = createDecisionStore(),
    tags = createTagSightings({ clock: world.clock, store: undefined }),
  }: Partial<HoldParts> = {},
): Judge {
  const { clock, publish } = world;

  return async ({ listing, references, watched: named, ...selected }, order, signal) => {
    const { runId, applyCooldown, retryFailed = false, ignoreWindows = false } = order;
    const { ignoreWaves = false, asApproved = false } = order;
    const { registry = world.registry, hold } = order.part ?? {};
    const outside = { ...world, registry };
    const [decided] = await Promise.all([decisions.refresh(), tags.load()]);
    const { containers, images, failedVersions, begunAt } = listing;
    const services = new Map(listing.services?.services.map((service) => [service.id, service]));
    const verdicts = new Map<string, CheckedContainer>();
    const asScheduled = new Map<string, CheckedContainer>();
    const describe = ({ container, wishes }: WatchedContainer, verdict: Verdict): CheckedContainer => {
      const isService = services.has(container.id);
      const kind = isService ? ('service' as const) : settings.swarm ? ('container' as const) : undefined;
      const noPull = effectiveSettings(settings, wishes).noPull && !isService;
      const read = references.get(container.id);
      return describeChecked(container, { kind, read, verdict, images, nowMs: clock.nowMs(), noPull });
    };
    const inUsualWave = (one: CheckedContainer, retry = false) =>
      one.kind === 'service' ? one : (hold?.(one, retry) ?? one);
    const inWave = (one: CheckedContainer) => (ignoreWaves ? one : inUsualWave(one, retryFailed));
    const instead = (watched: WatchedContainer, newest: Verdict): Digest | undefined => {
      const judged = describe(watched, newest);
      const { status, pullDigest } = inWave(judged);
      return status === 'stale' && pullDigest !== judged.pullDigest ? pullDigest : undefined;
    };
    const settle = (watched: WatchedContainer, verdict: Verdict): void => {
      const { approve: approval, window } = effectiveSettings(settings, watched.wishes);
      const nowMs = clock.nowMs();
      const judged = describe(watched, verdict);
      const lifted = {
        approval: asApproved ? ('never' as const) : approval,
        window: ignoreWindows ? undefined : window,
      };
      const checked = holdBack.judge(inWave(judged), lifted, decided, nowMs);
      verdicts.set(checked.id, checked);
      const usual = inUsualWave({ ...judged, ...heldOtherwise(verdict) });
      const scheduled = holdBack.judge(usual, { approval, window }, decided, nowMs);
      asScheduled.set(checked.id, scheduled);
      // The end of a dry run tells nothing about its containers.
      if (order.isDryRun === true && signal?.aborted === true && scheduled.status === 'unknown') return;
      const told = order.isDryRun === true ? scheduled : checked;
      const { name: container, kind: entryKind, image, status, reason, error } = told;
      publish({
        kind: 'container_checked',
        runId,
        container,
        ...(entryKind && { entryKind }),
        image,
        status,
        reason: error ?? reason,
        checked: checkedFacts(told),
      });
    };
    const known = { references, images, failedVersions };
    const manner = { ...settings, applyCooldown, retryFailed };
    const questions = named.flatMap((watched): readonly Question[] => {
      const service = services.get(watched.container.id);
      if (service !== undefined && listing.services !== undefined) {
        const judgement = { settle, applyCooldown, retryFailed };
        return questionsAbout(watched, service, listing.services, settings, judgement);
      }
      const subject = subjectOf(watched, known, manner);
      const verdict =
        'status' in subject ? subject : refuseUnproven(outside, subject, judgeWithoutRegistry(subject, images));
      if (verdict !== undefined) settle(watched, verdict);
      if ('status' in subject || verdict !== undefined) return [];
      return [{ subject, instead: (said) => instead(watched, said), settle: (said) => settle(watched, said) }];
    });
    const find = createCandidateFinder(outside.registry, clock);
    await askRegistries(questions, { outside, images, tags, find, limit: settings.checkConcurrency, signal });
    tags.keep();
    for (const watched of named) {
      if (!verdicts.has(watched.container.id)) settle(watched, unanswered(watched, images, signal));
    }

    const checked = named.flatMap(({ container }) => verdicts.get(container.id) ?? []);
    return {
      containers: checked,
      asScheduled: checked.map((one) => asScheduled.get(one.id) ?? one),
      unmatched: selected.unmatched,
      unfinished: selected.unfinished.map((update) => describeUnfinished(update, references.get(update.container.id))),
      unwatched: selected.unwatched,
      obsoleteFailures: obsoleteFailures(
        failedVersions,
        containers,
        checked.filter(({ kind }) => kind !== 'service'),
      ),
      startedAtMs: begunAt.wallMs,
      durationMs: clock.monotonicMs() - begunAt.monotonicMs,
    };
  };
}

/** The status that a scheduled run would give to a version that this order finds ready. */
function heldOtherwise({ status, otherwise }: Verdict) {
  return status === 'stale' && otherwise !== undefined ? ({ ...otherwise, status: 'held' } as const) : {};
}

function describeUnfinished(
  { name, state, reason, isParked, container }: UnfinishedUpdate,
  read: ReadReference | undefined,
): UnfinishedContainer {
  const { id, image, imageId } = container;
  return { id, name, image: imageIn(read, image), imageId, state, reason, isParked };
}

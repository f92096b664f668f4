import { readOwnWays, type ServiceListing } from '../engine/listing.ts';
import { obsoleteFailures, failedVersionsIn, type FailedVersion } from '../../domain/check/known-versions.ts';
import { isContainer, type EngineRuns } from '../../domain/run/session.ts';
import type { NotesService } from './notes.ts';
import type { ReadOnlyOutside } from '../../domain/outside/outside.ts';
import type { UnmatchedFilter, WatchedContainer } from '../../domain/check/selection.ts';
import type { MadePlan } from '../../domain/plan/update-plan.ts';
import { effectiveSettings, type ServiceSettings } from '../../domain/settings/effective-settings.ts';
import {
  judgeWithoutRegistry,
  judgeFailure,
  unknownVerdict,
  type Verdict,
  type CheckSubject,
} from '../../domain/check/verdict.ts';
import type { UnfinishedUpdate } from '../../domain/recovery/leftovers.ts';
import { askRegistries, createCooldownClock, type Question } from './registry-verdict.ts';
import type { ReadReference, SelectedContainers } from './select-containers.ts';
import { createCandidateFinder, createTagSightings, type TagSightings } from './newer.ts';
import { createDecisionStore, createHoldRules, type DecisionStore, type HoldRules } from './decisions.ts';
import {
  imageIn,
  candidateDigest,
  checkedFacts,
  withComposeStates,
  describeChecked,
  type JudgeOrder,
  type CheckedContainer,
} from './checked-container.ts';
import { refuseUnproven } from './require-signature.ts';
import { readServiceImage, type SwarmService } from '../../domain/container/swarm-service.ts';
import {
  joinVerdicts,
  judgeServiceAlone,
  platformsOf,
  subjectOfService,
  whyHeldByLabel,
} from '../../domain/swarm/service-verdict.ts';
import type { ImageSummary } from '../../domain/container/container.ts';
import { imageLabelsIn, labelsOfImage, type ImageIndex } from '../../domain/container/lookup.ts';
import {
  sameRepository,
  tryParseImageReference,
  type Digest,
  type ImageReference,
} from '../../domain/image/image-reference.ts';
import { quoted } from '../../domain/text/printable.ts';
import { ownJournal } from '../../domain/transaction/journal.ts';
import { stopCode } from '../async/concurrency.ts';
import { defined } from '../../domain/text/plain-data.ts';
import type { Approval } from '../../domain/decision/decisions.ts';

export type CheckReport = EngineRuns & {
  /** Containers in listing order. */
  readonly containers: readonly CheckedContainer[];
  /** Filters of the request that match no container. */
  readonly unmatched: readonly UnmatchedFilter[];
  /** Containers that are not watched. The reason follows the name: `is stopped`. */
  readonly unwatched: readonly { readonly name: string; readonly reason: string; readonly engine?: string }[];
  /** Watched containers of the request, before their interrupted update; `id` is the old container's. */
  readonly unfinished: readonly (Pick<UnfinishedUpdate, 'name' | 'state' | 'reason' | 'isParked' | 'isDown'> &
    Pick<CheckedContainer, 'id' | 'image' | 'imageId' | 'engine'>)[];
  /** Remembered failures that no longer hold an update back. */
  readonly obsoleteFailures: readonly FailedVersion[];
  /** Why an update of its stale containers is not possible: a sentence with the remedy. Absent if none is known. */
  readonly notPossible?: string;
  readonly startedAtMs: number;
  readonly durationMs: number;
};

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
  /** Absent: nobody reads release notes. */
  readonly notes?: NotesService | undefined;
};

/** The plan that updates the stale ones among checked containers. */
type PlanStale = (
  containers: readonly CheckedContainer[],
  listing: SelectedContainers['listing'],
  signal?: AbortSignal,
) => Promise<MadePlan>;

/** Asks the registries about selected containers, and announces each verdict as soon as it is known. */
export function createJudge(
  world: ReadOnlyOutside,
  settings: ServiceSettings,
  {
    holdBack = createHoldRules(settings),
    decisions = createDecisionStore(),
    tags = createTagSightings({ clock: world.clock, store: undefined }),
    plan,
    notes,
  }: Partial<HoldParts> = {},
): Judge {
  const { clock, log } = world;
  const cooldownClock = createCooldownClock(world);

  return async (selected, order, signal) => {
    const { listing, references, watched, unmatched, unwatched } = selected;
    const { containers, images, failedVersions, begunAt } = listing;
    const isAsked = order.byPerson !== undefined;
    const ignoresCooldown = !order.applyCooldown || isAsked;
    const retryFailed = order.retryFailed === true || isAsked;
    const outside = { ...world, registry: order.part?.registry ?? world.registry };
    const hold = order.part?.hold;
    const [decided, ways] = await Promise.all([
      decisions.refresh(),
      readOwnWays(outside, containers, signal),
      tags.load(),
      notes?.load(),
    ]);
    const services = new Map(listing.services?.services.map((service) => [service.id, service]));
    const byContainer = new Map<WatchedContainer, Concluded>();
    const find = createCandidateFinder(outside.registry, clock);
    const limit = settings.checkConcurrency;
    const options = { outside, images, tags, cooldownClock, find, limit, oneFirst: order.oneFirst, signal };
    await askRegistries(watched.flatMap(questionsAbout), options);
    tags.keep();
    for (const one of watched)
      if (!byContainer.has(one)) setVerdict(one, unanswered(images.byId(one.container.imageId), signal));
    const first = watched.flatMap((one) => byContainer.get(one) ?? []);
    const late = first.filter(awaitsNotes).flatMap(({ checked: { notesAt = [] } }) => notesAt);
    if (notes !== undefined && late.length > 0) await notes.readNow(late, signal).catch(() => undefined);
    const judged = first.map(judgeAgain);
    const made = await planOf(judged.map((one) => one.checked));
    const refusals = new Map(made?.plan.refused.map((refusal) => [refusal.id, refusal]));
    const concluded = judged.map((one) => conclude(one, refusals.get(one.checked.id)));
    const checked = concluded.map((one) => one.checked);
    const withCompose = await withComposeStates(outside, checked, { watched, labelsOf: imageLabelsIn(images) }, signal);
    return {
      containers: checked.map(withCompose),
      asScheduled: concluded.map(({ asScheduled }) => withCompose(asScheduled)),
      ...(made && { made }),
      unmatched,
      unfinished: selected.unfinished.map((update) => describeUnfinished(update, references.get(update.container.id))),
      unwatched,
      obsoleteFailures: obsoleteFailures(failedVersions, containers, checked.filter(isContainer)),
      startedAtMs: begunAt.wallMs,
      durationMs: clock.monotonicMs() - begunAt.monotonicMs,
    };

    /** The questions about one container. Without a question its verdict is settled. */
    function questionsAbout(one: WatchedContainer): readonly Question[] {
      const service = services.get(one.container.id);
      if (service !== undefined && listing.services !== undefined)
        return questionsAboutService(one, service, listing.services);
      const subject = subjectOf(one);
      const verdict =
        'status' in subject ? subject : refuseUnproven(outside, subject, judgeWithoutRegistry(subject, images));
      if (verdict !== undefined) setVerdict(one, verdict);
      if ('status' in subject || verdict !== undefined) return [];
      const instead = (newest: Verdict) => insteadOf(one, newest);
      return [{ subject, ...(hold && { instead }), setVerdict: (answer) => setVerdict(one, answer) }];
    }

    /** One question for each platform of the nodes. The last answer settles the verdict. */
    function questionsAboutService(
      one: WatchedContainer,
      service: SwarmService,
      { nodes, failures }: ServiceListing,
    ): readonly Question[] {
      const alone = judgeServiceAlone(service);
      const image = readServiceImage(service.image, service.labels);
      if (alone !== undefined || image.kind !== 'tagged') {
        if (alone !== undefined) setVerdict(one, alone);
        return [];
      }
      const effective = effectiveSettings(settings, one.labelSettings);
      const fault = faultOfLabels(one.labelSettings, effective);
      if (fault !== undefined) {
        setVerdict(one, unknownVerdict(fault, { image: undefined }));
        return [];
      }
      const own = failures.filter(({ serviceId }) => serviceId === service.id);
      const subject = subjectOfService(image, own, {
        effective: ignoresCooldown ? { ...effective, cooldownMs: 0 } : effective,
        retryFailed,
        ...(isAsked && { ignoresMonitorOnly: true }),
      });
      const platforms = platformsOf(nodes);
      const verdicts: Verdict[] = [];
      return platforms.map((platform) => ({
        subject,
        platform,
        setVerdict: (verdict) => {
          verdicts.push(verdict);
          if (verdicts.length < platforms.length) return;
          const joined = joinVerdicts(service, image, verdicts, { failures: own, retryFailed });
          setVerdict(one, heldByLabel(joined, service, settings));
        },
      }));
    }

    /** The facts about a container that its verdict needs, or a verdict without a registry request. */
    function subjectOf({ container, labelSettings }: WatchedContainer): CheckSubject | Verdict {
      const { id, name, imageId, platform } = container;
      const image = images.byId(imageId);
      const read = references.get(id);
      const effective = effectiveSettings(settings, labelSettings);
      const fault = faultOfLabels(labelSettings, effective);
      if (fault !== undefined) return unknownVerdict(fault, { image });
      // Its own settings may forbid the update, and cannot be distinguished from the image's.
      if (image?.isConfigUnknown) return unknownVerdict(unknownConfig(image), { image });
      switch (read?.kind) {
        case 'known':
          break;
        case 'unknown':
          return unknownVerdict(read.reason, { image });
        case 'failed':
          return judgeFailure({ image }, read.error);
        case undefined:
          return unknownVerdict('The check failed', { image });
      }
      const { reference, isNamedByLabel = false } = read;
      // The container's own label names the image to move to, whatever runs now.
      const isKnownSource = isNamedByLabel || wasPulled(container, images, reference);
      const isFromRegistry = labelSettings.fromRegistry ?? (isKnownSource || undefined);
      return {
        imageId,
        image,
        reference,
        isNamedByLabel,
        effective,
        ...defined({ isFromRegistry, platform }),
        ...(ignoresCooldown && { ignoresCooldown }),
        ...(isAsked && { ignoresMonitorOnly: true }),
        failedVersions: failedVersionsIn(failedVersions, name),
        retryFailed,
      };
    }

    function describe({ container, labelSettings }: WatchedContainer, verdict: Verdict): CheckedContainer {
      const isService = services.has(container.id);
      const kind = isService ? ('service' as const) : settings.swarm ? ('container' as const) : undefined;
      const { noPull: isPullOff, releaseNotes } = effectiveSettings(settings, labelSettings);
      const { canary, source, sourceTag: tagForm } = labelSettings;
      const facts = {
        kind,
        isCanary: canary === true || undefined,
        read: references.get(container.id),
        verdict,
        noPull: isPullOff && !isService,
        images,
        nowMs: clock.nowMs(),
        notes: notes && { isOn: releaseNotes, hosts: notes.hosts, source, tagForm },
      } as const;
      return unlessOwnWay(describeChecked(container, facts));
    }

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

    function inUsualWave(one: CheckedContainer, retriesFailed = false): CheckedContainer {
      return isContainer(one) ? (hold?.(one, retriesFailed) ?? one) : one;
    }

    function inWave(one: CheckedContainer): CheckedContainer {
      return order.ignoreWaves === true ? one : inUsualWave(one, order.retryFailed);
    }

    /** The digest to apply in place of the newest one, which waits for engines of earlier waves. */
    function insteadOf(one: WatchedContainer, newest: Verdict): Digest | undefined {
      const judged = describe(one, newest);
      const { status, pullDigest } = inWave(judged);
      return status === 'stale' && pullDigest !== judged.pullDigest ? pullDigest : undefined;
    }

    /** Adds to a verdict the reasons to wait. A stale container is announced by `conclude`. */
    function setVerdict(one: WatchedContainer, verdict: Verdict): void {
      const { approve: approval, window } = effectiveSettings(settings, one.labelSettings);
      const nowMs = clock.nowMs();
      const judged = describe(one, verdict);
      const lifted = {
        approval: order.asApproved === true || isAsSeen(judged) ? nothingWaits : approval,
        window: order.ignoreWindows === true || isAsked ? undefined : window,
      };
      const checked = holdBack.judge(inWave(judged), lifted, decided, nowMs);
      const usual = inUsualWave({ ...judged, ...heldOtherwise(verdict) });
      const both = { checked, asScheduled: holdBack.judge(usual, { approval, window }, decided, nowMs) };
      byContainer.set(one, both);
      if (checked.status !== 'stale' && !awaitsNotes(both)) announce(both);
    }

    /** An update waits a little for the notes that decide on it; a check never does. */
    function awaitsNotes({ checked, asScheduled }: Concluded): boolean {
      const isHeld = checked.hold === 'notes' || asScheduled.hold === 'notes' || checked.holdBecause === 'unread';
      const isTried = checked.notes?.readAtMs !== undefined || checked.notes?.error !== undefined;
      return order.applyCooldown && isHeld && !isTried;
    }

    /** Judges such a verdict again, after its notes were read or in vain. */
    function judgeAgain(one: Concluded): Concluded {
      if (!awaitsNotes(one)) return one;
      const nowMs = clock.nowMs();
      const again = (each: CheckedContainer) => holdBack.again(each, decided, nowMs);
      const judged = { checked: again(one.checked), asScheduled: again(one.asScheduled) };
      if (judged.checked.status !== 'stale') announce(judged);
      return judged;
    }

    /** Whether a person has asked for this very version. */
    function isAsSeen(judged: CheckedContainer): boolean {
      const digest = candidateDigest(judged);
      return digest !== undefined && order.byPerson?.(judged.name)?.digest === digest;
    }

    /** A plan that cannot be made is no failure of the check. An update makes it again, and reports the reason. */
    async function planOf(found: readonly CheckedContainer[]): Promise<MadePlan | undefined> {
      const isStale = found.some((one) => one.status === 'stale' && isContainer(one));
      if (plan === undefined || !isStale || signal?.aborted) return undefined;
      return plan(found, listing, signal).catch((error: unknown) => {
        log.warn('Cannot tell which of the found updates would be refused', { error });
        return undefined;
      });
    }

    /**
     * Announces a stale container. With the reason why the plan of its update refuses it, it is held back, so that no
     * list promises what an update refuses.
     */
    function conclude(one: Concluded, refusal: Parameters<typeof refused>[1] | undefined): Concluded {
      if (one.checked.status !== 'stale') return one;
      const concluded =
        refusal === undefined
          ? one
          : { checked: refused(one.checked, refusal), asScheduled: refused(one.asScheduled, refusal) };
      announce(concluded);
      return concluded;
    }

    /** Only an update tells what its exceptions make of a container. The end of a dry run tells nothing about its containers. */
    function announce({ checked, asScheduled }: Concluded): void {
      const shown = order.applyCooldown && order.isDryRun !== true ? checked : asScheduled;
      if (order.isDryRun === true && signal?.aborted === true && shown.status === 'unknown') return;
      const { name: container, kind: entryKind, image, status, reason, error } = shown;
      const facts = { container, ...defined({ entryKind }), image, status, reason: error ?? reason };
      outside.publish({ kind: 'container_checked', runId: order.runId, ...facts, checked: checkedFacts(shown) });
    }
  };
}

const nothingWaits: Approval = { from: 'never', breaking: false, unread: false };

type Concluded = {
  readonly checked: CheckedContainer;
  /** The verdict of a scheduled run, without the exceptions of this order. */
  readonly asScheduled: CheckedContainer;
};

function describeUnfinished(
  { name, state, reason, isParked, isDown, container }: UnfinishedUpdate,
  read: ReadReference | undefined,
): CheckReport['unfinished'][number] {
  const { id, image, imageId } = container;
  return { id, name, image: imageIn(read, image), imageId, state, reason, isParked, ...(isDown && { isDown }) };
}

/** A label that restrains updates holds the service back where it cannot be followed. */
function heldByLabel(verdict: Verdict, service: SwarmService, settings: ServiceSettings): Verdict {
  const why = verdict.status === 'stale' ? whyHeldByLabel(service, settings) : undefined;
  return why === undefined ? verdict : { ...verdict, status: 'held', hold: 'other', reason: why };
}

/** Whether an update of ours has pulled the image that runs from the repository of the container's reference. */
function wasPulled(
  { labels, imageId }: WatchedContainer['container'],
  images: ImageIndex,
  ownReference: ImageReference,
): boolean {
  const journal = ownJournal(labels, labelsOfImage(images.byId(imageId)));
  if (journal?.isPulled !== true || journal.newImageId !== imageId) return false;
  const reference = tryParseImageReference(journal.reference);
  return reference !== undefined && sameRepository(reference, ownReference);
}

function unknownConfig({ configFault }: ImageSummary): string {
  const unread = configFault === undefined ? '' : `, and it cannot be read from the registry (${configFault})`;
  return `The engine does not know the configuration of the image that runs${unread}, so the labels of the container cannot be distinguished from those of the image: recreate the container from its compose file or command`;
}

/** Why the labels of a container hold its updates back: its owner meant a restriction, and it cannot be read. */
function faultOfLabels(
  labelSettings: WatchedContainer['labelSettings'],
  { tagPolicy, tagInclude, tagExclude }: Pick<ServiceSettings, 'tagPolicy' | 'tagInclude' | 'tagExclude'>,
): string | undefined {
  const named = { policy: tagPolicy, 'tag-include': tagInclude, 'tag-exclude': tagExclude };
  for (const [name, rule] of Object.entries(named))
    if (rule.kind === 'unreadable')
      return `Cannot read the label ${name} with ${quoted(rule.text, 100)}: ${rule.fault}`;
  return labelSettings.faults[0];
}

/** The verdict on a container whose questions were not answered before the end of the check. */
function unanswered(image: CheckSubject['image'], signal: AbortSignal | undefined): Verdict {
  const isLate = signal !== undefined && stopCode(signal) === 'timeout';
  return unknownVerdict(
    isLate ? 'The check did not end in time' : 'The check was cancelled',
    { image },
    isLate ? 'check timed out' : 'check cancelled',
  );
}

/**
 * A stale container that no plan replaces now. A decision or a window would not change that, so it is not judged again
 * before the next check.
 */
function refused(
  checked: CheckedContainer,
  { reason, isDeferred }: { readonly reason: string; readonly isDeferred?: true },
): CheckedContainer {
  if (checked.status !== 'stale') return checked;
  const { unrestrained: _, ...rest } = checked;
  return { ...rest, status: 'held', hold: isDeferred === true ? 'failed-elsewhere' : 'not-replaceable', reason };
}

/** The status that a scheduled run would give to a version that this order finds ready. */
function heldOtherwise({ status, otherwise }: Verdict) {
  return status === 'stale' && otherwise !== undefined ? ({ ...otherwise, status: 'held' } as const) : {};
}

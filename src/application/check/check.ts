import type { ContainerReference } from '../../domain/check/container-reference.ts';
import { judgeFailure } from '../../domain/check/failed-check.ts';
import { type FailedVersion, failedVersionsIn, obsoleteFailures } from '../../domain/check/failed-version.ts';
import { type ImageIndex, imageLabelsIn } from '../../domain/container/image-index.ts';
import type { ImageReference } from '../../domain/reference/image-reference.ts';
import { createImageRule, selectByImage } from '../../domain/check/image-selection.ts';
import type { ReadOnlyOutside } from '../../domain/outside/outside.ts';
import { scopeInForce } from '../../domain/check/scope-in-force.ts';
import {
  applyFilters,
  type ContainerFilters,
  type Selection,
  selectContainers,
  type UnmatchedFilter,
  type WatchedContainer,
} from '../../domain/check/selection.ts';
import type { ServiceSettings } from '../../domain/settings/settings.ts';
import { judgeAlone } from '../../domain/check/staleness.ts';
import { type Subject, undecided, type Verdict } from '../../domain/check/verdict.ts';
import { type UnfinishedUpdate, unfinishedUpdates } from '../../domain/recovery/unfinished-update.ts';
import { effectiveSettings } from '../../domain/settings/effective-settings.ts';
import { askRegistries, type Question } from './ask-registry.ts';
import { type ContainerReferences, createReferenceReader, type ReadReference } from './container-references.ts';
import { createLabelWarnings } from './label-warnings.ts';
import { type Listing, listAll } from '../engine/list-all.ts';
import { stopMatchingInTime } from './match-time.ts';
import { type CheckedContainer, checkedFacts, describeChecked, imageIn } from './checked-container.ts';
import { createTagWatch } from './tag-watch.ts';
import { stopCode } from '../async/stopped.ts';
import { createUpdaterWarnings, type UpdaterWarnings } from './updater-warnings.ts';

export type CheckReport = {
  /** In listing order. */
  readonly containers: readonly CheckedContainer[];
  /** Filters of the request that match no container. */
  readonly unmatched: readonly UnmatchedFilter[];
  /** Containers that are not watched. The reason follows the name: `is stopped`. */
  readonly unwatched: readonly { readonly name: string; readonly reason: string }[];
  /** Of those that a request is about, watched containers that an update has not come to an end with. */
  readonly unfinished: readonly UnfinishedContainer[];
  /** Remembered, though they hold nothing back any more. */
  readonly obsoleteFailures: readonly FailedVersion[];
  readonly startedAtMs: number;
  readonly durationMs: number;
};

/** As it was before that update; `id` is that of the old container. */
export type UnfinishedContainer = Pick<UnfinishedUpdate, 'name' | 'state' | 'reason' | 'isParked'> &
  Pick<CheckedContainer, 'id' | 'image' | 'imageId'>;

export type CheckOrder = ContainerFilters & {
  readonly runId: string;
  /** False for a check, which reports every new version; true for an update, which holds young ones back. */
  readonly applyCooldown: boolean;
  /** Versions that failed in a container are not held back. */
  readonly retryFailed?: boolean;
  /** Called with the selected containers, and awaited before the first registry request. */
  readonly onSelected?: (selected: readonly WatchedContainer[]) => Promise<void>;
};

export type Check = (order: CheckOrder, signal?: AbortSignal) => Promise<CheckReport>;

/**
 * Lists containers and images with one call each, selects, and asks the registries. Throws when the engine
 * cannot be listed; a failure for one container becomes its verdict. After an abort the containers without
 * an answer are `unknown`.
 */
export function createCheck(
  outside: ReadOnlyOutside,
  settings: ServiceSettings,
  warnAboutUpdaters: UpdaterWarnings = createUpdaterWarnings(outside, settings),
): Check {
  const { clock, publish } = outside;
  const readReferences = createReferenceReader(outside);
  const warnAboutLabels = createLabelWarnings(outside.log);
  const imageRule = createImageRule(settings);
  const tags = createTagWatch();

  return async ({ runId, applyCooldown, retryFailed = false, onSelected, ...filters }, signal) => {
    const [startedAtMs, beganMs] = [clock.nowMs(), clock.monotonicMs()];
    const { containers, images, failedVersions } = await listAll(outside, signal);
    const imageLabelsOf = imageLabelsIn(images);
    warnAboutUpdaters(containers, imageLabelsOf);
    const scope = scopeInForce({ ...settings, containers, imageLabelsOf, ownId: outside.instance.containerId });
    const { watched, unwatched } = selectContainers(containers, { ...settings, scope }, imageLabelsOf);
    const updates = unfinishedUpdates(containers, outside.instance);
    const held = selectContainers(
      updates.map(({ container }) => container),
      { ...settings, scope },
      imageLabelsOf,
    );
    const references = await readReferences([...watched, ...held.watched], images, signal);
    const choose = (from: Selection) => selectByImage(from, imageRule, (id) => toldReference(references, id));
    const selection = choose({ watched, unwatched });
    warnAboutLabels(selection);
    const onMatch = stopMatchingInTime(clock);
    const ofRequest = (from: Selection) =>
      applyFilters(from, filters, ({ id }) => referenceIn(references, id), onMatch);
    const { named, unmatched } = ofRequest(selection);
    const parked = ofRequest(choose({ ...held, unwatched: [] }));
    const unfinished = parked.named.flatMap(({ container }) => {
      const update = updates.find((one) => one.container === container);
      return update === undefined ? [] : [describeUnfinished(update, references.get(container.id))];
    });
    const isUnknownToBoth = ({ filter }: UnmatchedFilter) => parked.unmatched.some((one) => one.filter === filter);
    publish({ kind: 'containers_selected', runId, ...announced(named) });
    await onSelected?.(named);

    const verdicts = new Map<string, CheckedContainer>();
    const settle = (watched: WatchedContainer, verdict: Verdict): void => {
      const { noPull } = effectiveSettings(settings, watched.wishes);
      const read = references.get(watched.container.id);
      const checked = describeChecked(watched.container, { read, verdict, noPull, images, nowMs: clock.nowMs() });
      verdicts.set(checked.id, checked);
      const { name: container, image, status, reason, error } = checked;
      publish({
        kind: 'container_checked',
        runId,
        container,
        image,
        status,
        reason: error ?? reason,
        checked: checkedFacts(checked),
      });
    };
    const known = { references, images, failedVersions };
    const manner = { ...settings, applyCooldown, retryFailed };
    const questions = named.flatMap((watched): Question[] => {
      const subject = subjectOf(watched, known, manner);
      const verdict = 'status' in subject ? subject : judgeAlone(subject, images);
      if (verdict !== undefined) settle(watched, verdict);
      return 'status' in subject || verdict !== undefined ? [] : [{ subject, settle: (said) => settle(watched, said) }];
    });
    await askRegistries(questions, { outside, images, tags, limit: settings.checkConcurrency, signal });
    for (const watched of named) {
      if (!verdicts.has(watched.container.id)) settle(watched, unanswered(watched, images, signal));
    }

    const checked = named.flatMap(({ container }) => verdicts.get(container.id) ?? []);
    return {
      containers: checked,
      unmatched: unmatched.filter(isUnknownToBoth),
      unfinished,
      unwatched: selection.unwatched.map(({ container, reason }) => ({ name: container.name, reason })),
      obsoleteFailures: obsoleteFailures(failedVersions, containers, checked),
      startedAtMs,
      durationMs: clock.monotonicMs() - beganMs,
    };
  };
}

function announced(named: readonly WatchedContainer[]) {
  const names = named.map(({ container }) => container.name);
  const labelled = named.flatMap(({ container, wishes: { notify } }) =>
    notify === undefined ? [] : [[container.name, notify] as const],
  );
  return { names, ...(labelled.length > 0 && { recipients: Object.fromEntries(labelled) }) };
}

function referenceIn(references: ContainerReferences, id: string): ImageReference | undefined {
  const read = references.get(id);
  return read?.kind === 'known' ? read.reference : undefined;
}

function toldReference(references: ContainerReferences, id: string): ContainerReference | undefined {
  const read = references.get(id);
  return read?.kind === 'failed' ? undefined : read;
}

/** A verdict where there is nothing to ask about. */
function subjectOf(
  { container, wishes }: WatchedContainer,
  { references, images, failedVersions }: Omit<Listing, 'containers'> & { readonly references: ContainerReferences },
  settings: ServiceSettings & { readonly applyCooldown: boolean; readonly retryFailed: boolean },
): Subject | Verdict {
  const { id, name, imageId } = container;
  const image = images.byId(imageId);
  const read = references.get(id);
  const inForce = effectiveSettings(settings, wishes);
  switch (read?.kind) {
    case 'known':
      return {
        imageId,
        image,
        reference: read.reference,
        inForce: settings.applyCooldown ? inForce : { ...inForce, cooldownMs: 0 },
        failedVersions: failedVersionsIn(failedVersions, name),
        retryFailed: settings.retryFailed,
      };
    case 'unknown':
      return undecided(read.reason, { image });
    case 'failed':
      return judgeFailure({ image }, read.error);
    case undefined:
      return undecided('The check failed', { image });
  }
}

function describeUnfinished(
  { name, state, reason, isParked, container }: UnfinishedUpdate,
  read: ReadReference | undefined,
): UnfinishedContainer {
  const { id, image, imageId } = container;
  return { id, name, image: imageIn(read, image), imageId, state, reason, isParked };
}

function unanswered({ container }: WatchedContainer, images: ImageIndex, signal: AbortSignal | undefined): Verdict {
  const subject = { image: images.byId(container.imageId) };
  const late = signal !== undefined && stopCode(signal) === 'timeout';
  return undecided(
    late ? 'The check did not end in time' : 'The check was cancelled',
    subject,
    late ? 'check timed out' : 'check cancelled',
  );
}

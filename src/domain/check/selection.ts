import type { Labels } from '../image/image-labels.ts';
import type { ContainerSummary } from '../container/container.ts';
import type { ImageLabelsOf } from '../container/lookup.ts';
import {
  readLabels,
  effectiveSettings,
  type LabelValues,
  type ServiceSettings,
} from '../settings/effective-settings.ts';
import { anyOf, namePattern } from '../text/name-pattern.ts';
import type { UnwatchedReason } from './unwatched.ts';
import { type ContainerReference, readContainerReference } from './container-reference.ts';
import { createImageRule, type ImageRule } from './image-selection.ts';
import { readRules, type SelectionSettings, whyDisabled, whyOthers, whyUnwatched } from './watch-rules.ts';

export type Selection = {
  /** In listing order. */
  readonly watched: readonly WatchedContainer[];
  readonly unwatched: readonly UnwatchedContainer[];
};

export type WatchedContainer = LabelledContainer & { readonly wishes: LabelValues };

/** `reason` follows the container's name: `is stopped`. */
export type UnwatchedContainer = LabelledContainer & UnwatchedReason;

type LabelledContainer = {
  readonly container: ContainerSummary;
  /** Warnings about labels without effect. A typo in one can be why a container is not watched. */
  readonly warnings: readonly string[];
};

/** Divides the engine's containers into watched and unwatched ones, the latter with the reason. */
export function selectContainers(
  containers: readonly ContainerSummary[],
  settings: SelectionSettings,
  imageLabelsOf: ImageLabelsOf,
): Selection {
  const select = createSelector(settings);
  const watched: WatchedContainer[] = [];
  const unwatched: UnwatchedContainer[] = [];
  for (const container of containers) {
    const selected = select(container, imageLabelsOf(container));
    if ('reason' in selected) unwatched.push(selected);
    else watched.push(selected);
  }
  return { watched, unwatched };
}

/** The same for one container at a time, because selections are independent. */
export function createSelector(
  settings: SelectionSettings,
): (container: ContainerSummary, imageLabels: Labels | undefined) => WatchedContainer | UnwatchedContainer {
  const rules = readRules(settings);
  return (container, imageLabels) => {
    const { wishes, warnings } = readLabels(container.labels, imageLabels);
    const omission = whyUnwatched(container, wishes, rules, imageLabels);
    return omission === undefined ? { container, wishes, warnings } : { container, ...omission, warnings };
  };
}

/** Applies the rule to a selection. A container with an unreadable reference stays, so that the check reports it. */
export function selectByImage(
  selection: Selection,
  rule: ImageRule | undefined,
  readReference: (id: string) => ContainerReference | undefined,
): Selection {
  if (rule === undefined) return selection;
  const watched: WatchedContainer[] = [];
  const unwatched: UnwatchedContainer[] = [...selection.unwatched];
  for (const each of selection.watched) {
    const read = readReference(each.container.id);
    const reason = read && rule(read);
    if (reason === undefined) watched.push(each);
    else unwatched.push({ container: each.container, kind: 'excluded', reason, warnings: each.warnings });
  }
  return { watched, unwatched };
}

type OptOutSettings = Pick<
  ServiceSettings,
  'disableContainers' | 'skipImageNames' | 'disableContainersByLabel' | 'monitorOnly' | 'labelTakesPrecedence'
>;

/** `image` is the reference that the container was created from. */
type Candidate = Pick<ContainerSummary, 'name' | 'labels' | 'image' | 'imageId' | 'networkMode'> & {
  readonly imageLabels?: Labels | undefined;
};

/** A reason of `whyOptedOut()`. */
export const monitoredOnly = 'is monitored only';

/**
 * Why a container must not be changed even for the update of another one. Undefined when it may be. A container outside
 * of the selection (another scope, not named) may be: otherwise it would stay broken.
 */
export function whyOptedOut(candidate: Candidate, settings: OptOutSettings): string | undefined {
  const { labels, imageLabels, image: text, imageId } = candidate;
  const { wishes } = readLabels(labels, imageLabels);
  const isDisabled = anyOf(settings.disableContainers.map(namePattern));
  const disabled = whyDisabled(candidate, wishes, { ...settings, isDisabled });
  const excluded = disabled ?? whyOthers(candidate, imageLabels);
  if (excluded !== undefined) return excluded.reason;
  const isSkipped = createImageRule({ skipImageNames: settings.skipImageNames, monitorImageNames: [] });
  const reference = readContainerReference({ text, originalImage: wishes.originalImage, imageId, image: undefined });
  return isSkipped?.(reference) ?? (effectiveSettings(settings, wishes).monitorOnly ? monitoredOnly : undefined);
}

import type { Labels } from '../container/label-names.ts';
import type { ContainerSummary } from '../container/container.ts';
import type { ImageLabelsOf } from '../container/image-index.ts';
import { carriesAny } from '../container/label-pair.ts';
import { type LabelValues, readLabels } from '../settings/labels.ts';
import { anyOf, namePattern, type NamePattern } from '../text/name-pattern.ts';
import { quoted } from '../text/printable.ts';
import type { UnwatchedReason } from './unwatched.ts';
import type { ServiceSettings } from '../settings/service-settings.ts';
import { isParkedName, parseKeptName } from '../transaction/transaction-names.ts';
import { type ContainerReference, readContainerReference } from './container-reference.ts';
import { createImageRule, type ImageRule } from './image-selection.ts';
import { effectiveSettings } from '../settings/effective-settings.ts';

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

/** The options that select the watched containers. */
export type SelectionSettings = Pick<
  ServiceSettings,
  | 'names'
  | 'labelEnable'
  | 'disableContainers'
  | 'enableContainersByLabel'
  | 'disableContainersByLabel'
  | 'includeStopped'
  | 'includeRestarting'
> & {
  /** Empty: only unscoped containers. */
  readonly scope: string;
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
    const omission = whyUnwatched(container, wishes, rules);
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
type Candidate = Pick<ContainerSummary, 'name' | 'labels' | 'image' | 'imageId'> & {
  readonly imageLabels?: Labels | undefined;
};

/**
 * Why a container must not be changed even for the update of another one. Undefined when it may be. A container outside
 * of the selection (another scope, not named) may be: otherwise it would stay broken.
 */
export function whyOptedOut(candidate: Candidate, settings: OptOutSettings): string | undefined {
  const { labels, imageLabels, image: text, imageId } = candidate;
  const { wishes } = readLabels(labels, imageLabels);
  const isDisabled = anyOf(settings.disableContainers.map(namePattern));
  const disabled = whyDisabled(candidate, wishes, { ...settings, isDisabled });
  if (disabled !== undefined) return disabled.reason;
  const isSkipped = createImageRule({ skipImageNames: settings.skipImageNames, monitorImageNames: [] });
  const reference = readContainerReference({ text, originalImage: wishes.originalImage, imageId, image: undefined });
  return isSkipped?.(reference) ?? (effectiveSettings(settings, wishes).monitorOnly ? 'is monitored only' : undefined);
}

export type ScopeSource = {
  /** Configured scope; undefined: none. */
  readonly scope: string | undefined;
  readonly containers: readonly ContainerSummary[];
  readonly imageLabelsOf: ImageLabelsOf;
  /** The id of the container that we run in. */
  readonly ownId: string | undefined;
};

/**
 * The effective scope, empty for unscoped: the configured one (`none` means unscoped), else the scope of Upkeep's own
 * container.
 */
export function scopeInForce({ scope, containers, imageLabelsOf, ownId }: ScopeSource): string {
  if (scope !== undefined) return scope === 'none' ? '' : scope;
  const own = ownId === undefined ? undefined : containers.find(({ id }) => id === ownId);
  return (own && readLabels(own.labels, imageLabelsOf(own)).wishes.scope) ?? '';
}

/**
 * A label of every container of a Swarm service:
 * https://docs.docker.com/engine/swarm/how-swarm-mode-works/swarm-task-states/
 */
export const swarmTaskLabel = 'com.docker.swarm.task.id';

type Rules = Omit<SelectionSettings, 'names' | 'disableContainers'> & {
  readonly isNamed: NamePattern;
  readonly isDisabled: NamePattern;
};

function readRules(settings: SelectionSettings): Rules {
  return {
    ...settings,
    isNamed: settings.names.length === 0 ? () => true : anyOf(settings.names.map(namePattern)),
    isDisabled: anyOf(settings.disableContainers.map(namePattern)),
  };
}

function whyUnwatched(container: ContainerSummary, wishes: LabelValues, rules: Rules): UnwatchedReason | undefined {
  if (isParkedName(container.name)) return { reason: 'belongs to an update that is not finished' };
  if (parseKeptName(container.name) !== undefined) {
    return { reason: 'was replaced by an update, and is kept for a rollback' };
  }
  if (container.labels[swarmTaskLabel] !== undefined) {
    return { kind: 'swarm task', reason: 'is a task of a Swarm service, and Swarm replaces those itself' };
  }
  const disabled = whyDisabled(container, wishes, rules);
  if (disabled !== undefined) return disabled;
  const scope = wishes.scope ?? '';
  if (scope !== rules.scope) {
    return { kind: 'other scope', reason: scope === '' ? 'has no scope' : `has the scope ${quoted(scope)}` };
  }
  if (rules.labelEnable && wishes.enable !== true) {
    return { kind: 'not enabled by label', reason: 'has no enable label, and label-enable is on' };
  }
  if (rules.enableContainersByLabel.length > 0 && !carriesAny(container.labels, rules.enableContainersByLabel)) {
    return { kind: 'not enabled by label', reason: 'carries no label of enable-containers-by-label' };
  }
  if (!rules.isNamed(container.name)) return { kind: 'not named', reason: 'is not among the names to watch' };
  return whyNotInThisState(container, rules);
}

/** Why its owner has excluded a container, by its name or a label. */
function whyDisabled(
  { name, labels }: Pick<ContainerSummary, 'name' | 'labels'>,
  wishes: LabelValues,
  { isDisabled, disableContainersByLabel }: Pick<Rules, 'isDisabled' | 'disableContainersByLabel'>,
): UnwatchedReason | undefined {
  if (wishes.enable === false) return { kind: 'disabled by label', reason: 'is disabled by its label' };
  if (isDisabled(name)) return { kind: 'excluded', reason: 'is disabled by disable-containers' };
  if (carriesAny(labels, disableContainersByLabel)) {
    return { kind: 'excluded', reason: 'is disabled by disable-containers-by-label' };
  }
  return undefined;
}

/** A paused container is watched and reported as stale, though it is not replaced. */
function whyNotInThisState({ status }: ContainerSummary, rules: Rules): UnwatchedReason | undefined {
  switch (status) {
    case 'running':
    case 'paused':
      return undefined;
    case 'created':
    case 'exited':
      return rules.includeStopped ? undefined : { kind: 'stopped', reason: 'is stopped, and include-stopped is off' };
    case 'restarting':
      return rules.includeRestarting
        ? undefined
        : { kind: 'restarting', reason: 'is restarting, and include-restarting is off' };
    case 'removing':
    case 'dead':
      return { reason: 'is being removed' };
  }
}

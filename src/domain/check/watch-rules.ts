/** Which containers are watched: by state, labels, names, images and scope. */

import type { ContainerSummary } from '../container/container.ts';
import { carriesAny, type Labels } from '../image/labels.ts';
import { ownEnable, readLabels, type LabelValues, type ServiceSettings } from '../settings/effective-settings.ts';
import { anyOf, namePattern, type NamePattern } from '../text/name-pattern.ts';
import { quoted } from '../text/printable.ts';
import { isLeftOver, isParkedName, parseKeptName } from '../transaction/transaction-names.ts';
import { whyManagedElsewhere, type ManagedCandidate } from './other-managers.ts';
import type { ContainerReference } from './container-reference.ts';
import { familiarReference, formatReference, matchesReference } from '../image/image-reference.ts';
import type { ImageLabelsOf } from '../container/lookup.ts';

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

/**
 * A label of every container of a Swarm service:
 * https://docs.docker.com/engine/swarm/how-swarm-mode-works/swarm-task-states/
 */
export const swarmTaskLabel = 'com.docker.swarm.task.id';

type Rules = Omit<SelectionSettings, 'names' | 'disableContainers'> & {
  readonly isNamed: NamePattern;
  readonly isDisabled: NamePattern;
};

/** Compiles the patterns of the options. */
export function readRules(settings: SelectionSettings): Rules {
  return {
    ...settings,
    isNamed: settings.names.length === 0 ? () => true : anyOf(settings.names.map(namePattern)),
    isDisabled: anyOf(settings.disableContainers.map(namePattern)),
  };
}

/** Why a container is not watched. Undefined when it is. */
export function whyUnwatched(
  container: ContainerSummary,
  labelSettings: LabelValues,
  rules: Rules,
  imageLabels: Labels | undefined,
): UnwatchedReason | undefined {
  if (isParkedName(container.name)) return { reason: 'belongs to an update that is not finished' };
  if (parseKeptName(container.name) !== undefined) {
    return {
      reason: isLeftOver(container)
        ? 'is left over from an update, because it could not be removed'
        : 'was replaced by an update, and is kept for a rollback',
    };
  }
  if (container.labels[swarmTaskLabel] !== undefined) {
    return { kind: 'swarm task', reason: 'is a task of a Swarm service, and Swarm replaces those itself' };
  }
  if (container.image === '' && container.imageId === '') return { reason: 'has no image (podman run --rootfs)' };
  const excluded = whyDisabled(container, labelSettings, rules) ?? whyOthers(container, imageLabels);
  if (excluded !== undefined) return excluded;
  const scope = labelSettings.scope ?? '';
  if (scope !== rules.scope) {
    return { kind: 'other scope', reason: scope === '' ? 'has no scope' : `has the scope ${quoted(scope)}` };
  }
  if (rules.labelEnable && labelSettings.enable !== true) {
    return { kind: 'not enabled by label', reason: 'has no enable label, and label-enable is on' };
  }
  if (rules.enableContainersByLabel.length > 0 && !carriesAny(container.labels, rules.enableContainersByLabel)) {
    return { kind: 'not enabled by label', reason: 'carries no label of enable-containers-by-label' };
  }
  if (!rules.isNamed(container.name)) return { kind: 'not named', reason: 'is not among the names to watch' };
  return whyNotInThisState(container, rules);
}

/** Why its owner has excluded a container, by its name or a label. */
export function whyDisabled(
  { name, labels }: Pick<ContainerSummary, 'name' | 'labels'>,
  labelSettings: LabelValues,
  { isDisabled, disableContainersByLabel }: Pick<Rules, 'isDisabled' | 'disableContainersByLabel'>,
): UnwatchedReason | undefined {
  if (labelSettings.enable === false) return { kind: 'disabled by label', reason: 'is disabled by its label' };
  if (isDisabled(name)) return { kind: 'excluded', reason: 'is disabled by disable-containers' };
  if (carriesAny(labels, disableContainersByLabel)) {
    return { kind: 'excluded', reason: 'is disabled by disable-containers-by-label' };
  }
  return undefined;
}

/** Why a container is another program's to replace, unless its own label asks for its updates. */
export function whyOthers(container: ManagedCandidate, imageLabels: Labels | undefined): UnwatchedReason | undefined {
  const reason = whyManagedElsewhere(container);
  if (reason === undefined || ownEnable(container.labels, imageLabels) === true) return undefined;
  return { kind: 'other manager', reason };
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

/** Why containers of an image are not watched; undefined when they are. The text follows the container's name. */
export type ImageRule = (read: ContainerReference) => string | undefined;

/** Rule from the options that select containers by image; undefined without such options. */
export function createImageRule(
  settings: Pick<ServiceSettings, 'monitorImageNames' | 'skipImageNames'>,
): ImageRule | undefined {
  const { monitorImageNames, skipImageNames } = settings;
  if (monitorImageNames.length + skipImageNames.length === 0) return undefined;
  const isSkipped = imagePattern(skipImageNames);
  const isMonitored = monitorImageNames.length === 0 ? () => true : imagePattern(monitorImageNames);
  return (read) => {
    if (isSkipped(read)) return 'runs an image of skip-image-names';
    return isMonitored(read) ? undefined : 'runs an image that is not among monitor-image-names';
  };
}

/**
 * Matches images by name, with or without a tag, or by a pattern for the whole name with its tag. The name may be
 * short, full, or as the container has it.
 */
function imagePattern(texts: readonly string[]): (read: ContainerReference) => boolean {
  const matches = anyOf(texts.map(namePattern));
  return (read) => {
    if (read.kind === 'unknown') return matches(read.text);
    const { text, reference } = read;
    const names = [familiarReference(reference), formatReference(reference), text];
    return names.some(matches) || texts.some((each) => matchesReference(each, reference));
  };
}

type ScopeSource = {
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
export function effectiveScope({ scope, containers, imageLabelsOf, ownId }: ScopeSource): string {
  if (scope !== undefined) return scope === 'none' ? '' : scope;
  const own = ownId === undefined ? undefined : containers.find(({ id }) => id === ownId);
  return (own && readLabels(own.labels, imageLabelsOf(own)).labelSettings.scope) ?? '';
}

/** The kinds of reasons why a container is not watched. */
export type UnwatchedKind = keyof typeof remedies;

/** The remedy for each kind. */
const remedies = {
  'disabled by label': 'remove its label upkeep.enable=false',
  'not enabled by label': 'give it the label upkeep.enable=true',
  'other scope': 'start Upkeep with its scope, or change its label upkeep.scope',
  'not named': 'add its name to the command of Upkeep',
  excluded: 'change the options that exclude it by name, label or image',
  stopped: 'start it, or start Upkeep with --include-stopped',
  restarting: 'wait until it runs, or start Upkeep with --include-restarting',
  'other manager': 'update it with its manager, or give it the label upkeep.enable=true',
  'swarm task': 'update its service with docker service update',
} as const;

/**
 * `reason` follows the container's name. Without a kind the container cannot be watched at all: it is part of an
 * update, it has no image, or it is being removed.
 */
export type UnwatchedReason = { readonly reason: string; readonly kind?: UnwatchedKind };

type UnwatchedCount = {
  readonly reason: UnwatchedKind;
  readonly count: number;
  readonly remedy: string;
};

/** The number of each kind, the largest first. */
export function countUnwatched(omissions: readonly UnwatchedReason[]): readonly UnwatchedCount[] {
  const counts = new Map<UnwatchedKind, number>();
  for (const { kind } of omissions) if (kind !== undefined) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return [...counts]
    .map(([reason, count]) => ({ reason, count, remedy: remedies[reason] }))
    .toSorted((one, other) => other.count - one.count);
}

import type { ContainerSummary } from '../container/container.ts';
import { carriesAny, type Labels } from '../image/image-labels.ts';
import { ownEnable, type LabelValues, type ServiceSettings } from '../settings/effective-settings.ts';
import { anyOf, namePattern, type NamePattern } from '../text/name-pattern.ts';
import { quoted } from '../text/printable.ts';
import { isLeftOver, isParkedName, parseKeptName } from '../transaction/transaction-names.ts';
import { type ManagedCandidate, whyManagedElsewhere } from './other-managers.ts';
import type { UnwatchedReason } from './unwatched.ts';

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

export type Rules = Omit<SelectionSettings, 'names' | 'disableContainers'> & {
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
  wishes: LabelValues,
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
  const excluded = whyDisabled(container, wishes, rules) ?? whyOthers(container, imageLabels);
  if (excluded !== undefined) return excluded;
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
export function whyDisabled(
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

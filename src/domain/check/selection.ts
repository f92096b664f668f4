import { accessTest } from '../access/rights.ts';
import { carriesAny, type Labels } from '../image/labels.ts';
import type { ContainerSummary } from '../container/container.ts';
import { type ImageLabelsOf, forgivingPattern, suggestionFor } from '../container/lookup.ts';
import {
  readLabels,
  effectiveSettings,
  ownEnable,
  type LabelValues,
  type ServiceSettings,
} from '../settings/effective-settings.ts';
import { anyOf, namePattern, type NamePattern } from '../text/name-pattern.ts';
import { readContainerReference, type ContainerReference } from './container-reference.ts';
import { ServiceError } from '../text/errors.ts';
import { familiarReference, formatReference, matchesReference, type ImageReference } from '../image/image-reference.ts';
import type { Request } from '../run/session.ts';
import { quoted } from '../text/printable.ts';
import { isLeftOver, isParkedName, parseKeptName } from '../transaction/transaction-names.ts';
import { whyManagedElsewhere, type ManagedCandidate } from './other-managers.ts';

export type Selection = {
  /** In listing order. */
  readonly watched: readonly WatchedContainer[];
  readonly unwatched: readonly UnwatchedContainer[];
};

export type WatchedContainer = {
  readonly container: ContainerSummary;
  readonly labelSettings: LabelValues;
  /** Warnings about labels without effect. A typo in one can be why a container is not watched. */
  readonly warnings: readonly string[];
};

/** `reason` follows the container's name: `is stopped`. */
export type UnwatchedContainer = Omit<WatchedContainer, 'labelSettings'> & UnwatchedReason;

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
    const { labelSettings, warnings } = readLabels(container.labels, imageLabels);
    const omission = whyUnwatched(container, labelSettings, rules, imageLabels);
    return omission === undefined ? { container, labelSettings, warnings } : { container, ...omission, warnings };
  };
}

/** Applies the rule to a selection. A container with an unreadable reference stays, so that the check reports it. */
export function selectByImage(
  selection: Selection,
  rule: ReturnType<typeof createImageRule>,
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

/** A reason of `whyOptedOut()`. */
export const monitoredOnly = 'is monitored only';

/**
 * Why a container must not be changed even for the update of another one. Undefined when it may be. A container outside
 * of the selection (another scope, not named) may be: otherwise it would stay broken.
 */
export function whyOptedOut(
  /** `image` is the reference that the container was created from. */
  candidate: Pick<ContainerSummary, 'name' | 'labels' | 'image' | 'imageId' | 'networkMode'> & {
    readonly imageLabels?: Labels | undefined;
  },
  settings: Pick<
    ServiceSettings,
    'disableContainers' | 'skipImageNames' | 'disableContainersByLabel' | 'monitorOnly' | 'labelTakesPrecedence'
  >,
): string | undefined {
  const { labels, imageLabels, image: text, imageId } = candidate;
  const { labelSettings } = readLabels(labels, imageLabels);
  const isDisabled = anyOf(settings.disableContainers.map(namePattern));
  const disabled = whyDisabled(candidate, labelSettings, { ...settings, isDisabled });
  const excluded = disabled ?? whyOthers(candidate, imageLabels);
  if (excluded !== undefined) return excluded.reason;
  const isSkipped = createImageRule({ skipImageNames: settings.skipImageNames, monitorImageNames: [] });
  const reference = readContainerReference({
    text,
    originalImage: labelSettings.originalImage,
    imageId,
    image: undefined,
  });
  return isSkipped?.(reference) ?? (effectiveSettings(settings, labelSettings).monitorOnly ? monitoredOnly : undefined);
}

export type UnmatchedFilter = { readonly filter: string; readonly reason: string };

/**
 * Keeps the containers that a request names, and lists filters without a match. Comparisons block the process, so
 * `onMatch` runs before each one and may throw to stop a large request.
 */
export function applyFilters(
  selection: Selection,
  filters: Omit<Request, 'engines'>,
  referenceOf: (container: ContainerSummary) => ImageReference | undefined,
  onMatch: () => void = () => {},
): { readonly named: readonly WatchedContainer[]; readonly unmatched: readonly UnmatchedFilter[] } {
  const { watched, unwatched } =
    filters.within === undefined ? selection : limited(selection, filters.within, referenceOf);
  const all = [...watched, ...unwatched].map(({ container }) => container);
  const names = filters.containers.map((filter) => {
    onMatch();
    const pattern = filters.forgiving === true ? forgivingPattern(filter, all) : namePattern(filter);
    const matches: NamePattern = (name) => {
      onMatch();
      return pattern(name);
    };
    return { filter, matches };
  });
  const runs = (filter: string) => (container: ContainerSummary) => {
    onMatch();
    const reference = referenceOf(container);
    return reference !== undefined && matchesReference(filter, reference);
  };
  // The engine lists a bare id once the tag has moved.
  const shownImage = (container: ContainerSummary) => {
    const reference = referenceOf(container);
    return reference === undefined ? container.image : familiarReference(reference);
  };
  const named = watched.filter(
    ({ container }) =>
      (names.length === 0 || names.some(({ matches }) => matches(container.name))) &&
      (filters.images.length === 0 || filters.images.some((filter) => runs(filter)(container))),
  );
  const unmatchedNames = names
    .filter(({ matches }) => !watched.some(({ container }) => matches(container.name)))
    .map(({ filter, matches }) => ({ filter, reason: whyNoName(filter, matches, unwatched, all) }));
  const unmatchedImages = filters.images
    .filter((filter) => !watched.some(({ container }) => runs(filter)(container)))
    .map((filter) => ({
      filter,
      reason: `No watched container runs the image ${quoted(filter)}${imagesAmong(watched.map(({ container }) => shownImage(container)))}`,
    }));
  return { named, unmatched: [...unmatchedNames, ...unmatchedImages] };
}

/** The part of a selection that a limited caller may know of. */
function limited(
  { watched, unwatched }: Selection,
  within: NonNullable<Request['within']>,
  referenceOf: (container: ContainerSummary) => ImageReference | undefined,
): Selection {
  const isWithin = accessTest(within);
  const isKnown = ({ container }: Pick<WatchedContainer, 'container'>) => {
    const reference = referenceOf(container);
    return isWithin({ name: container.name, image: reference === undefined ? '' : formatReference(reference) });
  };
  return { watched: watched.filter(isKnown), unwatched: unwatched.filter(isKnown) };
}

function whyNoName(
  filter: string,
  matches: NamePattern,
  unwatched: readonly UnwatchedContainer[],
  all: readonly ContainerSummary[],
): string {
  const known = unwatched.find(({ container }) => matches(container.name));
  if (known !== undefined) return `Container ${quoted(known.container.name)} is not watched: it ${known.reason}`;
  return `There is no container named ${quoted(filter)}${suggestionFor(filter, all)}`;
}

function imagesAmong(all: readonly string[]): string {
  const images = [...new Set(all)];
  if (images.length === 0) return '; no container is watched';
  const more = images.length > 8 ? `, and ${images.length - 8} more` : '';
  const first = images.slice(0, 8).map((image) => quoted(image, 100));
  return `; the watched images are ${first.join(', ')}${more}`;
}

/**
 * Throws `not-found` when a name or an image of the request matches no watched container. A typo must not look like
 * success.
 */
export function refuseUnmatched(
  { unmatched }: { readonly unmatched: readonly UnmatchedFilter[] },
  verb: 'check' | 'update' | 'decide about' | 'show release notes of',
): void {
  if (unmatched.length === 0) return;
  const message = unmatched
    .map(({ filter, reason }) => `Cannot ${verb} ${quoted(filter)}: ${lowerFirst(reason)}`)
    .join('\n');
  throw new ServiceError('not-found', message, { remedy: '"upkeep check" without names lists the watched containers' });
}

function lowerFirst(sentence: string): string {
  return sentence.charAt(0).toLowerCase() + sentence.slice(1);
}

/** The options that select the watched containers. */
type SelectionSettings = Pick<
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
function readRules(settings: SelectionSettings): Rules {
  return {
    ...settings,
    isNamed: settings.names.length === 0 ? () => true : anyOf(settings.names.map(namePattern)),
    isDisabled: anyOf(settings.disableContainers.map(namePattern)),
  };
}

/** Why a container is not watched. Undefined when it is. */
function whyUnwatched(
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
function whyDisabled(
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
function whyOthers(container: ManagedCandidate, imageLabels: Labels | undefined): UnwatchedReason | undefined {
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

/**
 * Rule from the options that select containers by image; undefined without such options. It returns why containers of
 * an image are not watched, as text that follows the container's name, and undefined when they are.
 */
export function createImageRule(
  settings: Pick<ServiceSettings, 'monitorImageNames' | 'skipImageNames'>,
): ((read: ContainerReference) => string | undefined) | undefined {
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

/**
 * The effective scope, empty for unscoped: the configured one (`none` means unscoped), else the scope of Upkeep's own
 * container.
 */
export function effectiveScope({
  scope,
  containers,
  imageLabelsOf,
  ownId,
}: {
  /** Configured scope; undefined: none. */
  readonly scope: string | undefined;
  readonly containers: readonly ContainerSummary[];
  readonly imageLabelsOf: ImageLabelsOf;
  /** The id of the container that we run in. */
  readonly ownId: string | undefined;
}): string {
  if (scope !== undefined) return scope === 'none' ? '' : scope;
  const own = ownId === undefined ? undefined : containers.find(({ id }) => id === ownId);
  return (own && readLabels(own.labels, imageLabelsOf(own)).labelSettings.scope) ?? '';
}

/** The kinds of reasons why a container is not watched. */
type UnwatchedKind = keyof typeof remedies;

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

/** The number of each kind, the largest first. */
export function countUnwatched(
  omissions: readonly UnwatchedReason[],
): readonly { readonly reason: UnwatchedKind; readonly count: number; readonly remedy: string }[] {
  const counts = new Map<UnwatchedKind, number>();
  for (const { kind } of omissions) if (kind !== undefined) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return [...counts]
    .map(([reason, count]) => ({ reason, count, remedy: remedies[reason] }))
    .toSorted((one, other) => other.count - one.count);
}

import { type ContainerSummary, isAlive } from '../container/container.ts';
import type { ImageLabelsOf } from '../container/lookup.ts';
import { tryParseImageReference } from '../image/image-reference.ts';
import { watchtowerLabel } from '../image/image-labels.ts';
import { readLabels } from '../settings/effective-settings.ts';
import { quoted } from '../text/printable.ts';

export type OtherUpdaterSource = {
  readonly containers: readonly ContainerSummary[];
  readonly imageLabelsOf: ImageLabelsOf;
  /** The id of the container that we run in. */
  readonly ownId: string | undefined;
  /** Our scope; empty for unscoped. */
  readonly scope: string;
};

/** One line, safe to print: the container, the danger and the remedy. */
export type OtherUpdater = { readonly container: ContainerSummary; readonly warning: string };

/**
 * Running containers of known updaters that may replace the same containers. An updater that respects scopes is ignored
 * if its label has another scope. An updater that only watches, or only updates Swarm services, is harmless.
 */
export function otherUpdaters({
  containers,
  imageLabelsOf,
  ownId,
  scope,
}: OtherUpdaterSource): readonly OtherUpdater[] {
  const own = ownId === undefined ? undefined : containers.find(({ id }) => id === ownId);
  return containers.flatMap((container) => {
    if (container.id === ownId || !isAlive(container.status)) return [];
    const kind = kindOf(container, own);
    if (kind === undefined) return [];
    const { wishes } = readLabels(container.labels, imageLabelsOf(container));
    if (!meets(kind, wishes.scope ?? '', scope)) return [];
    const { called, danger, remedy } = kind;
    const warning = `Container ${quoted(container.name)} is ${called} on the same engine: ${danger}. ${remedy}`;
    return [{ container, warning }];
  });
}

type Kind = {
  readonly called: string;
  readonly danger: string;
  readonly remedy: string;
  /** Containers that an updater without a scope updates; undefined for a kind without scopes. */
  readonly unscoped?: 'all' | 'unscoped';
};

const stopOrDivide =
  'Stop it, or divide their containers by scopes or labels: docs/operations.md, "Two updaters on one engine?"';

const removing: Omit<Kind, 'called'> = {
  danger: 'it removes a container before it creates the successor, even during an update by Upkeep',
  remedy: stopOrDivide,
};

/** Kinds that update only with a configured trigger. */
const triggered = { ...removing, danger: `with a docker trigger ${removing.danger}` };

const watchtower: Kind = { ...removing, called: 'an updater of the Watchtower family', unscoped: 'all' };

const upkeep: Kind = {
  called: 'another Upkeep',
  danger: 'both update the same containers, and each defers the updates of the other',
  remedy: 'Stop it, or give each a --scope',
  unscoped: 'unscoped',
};

/** Matched by the end of the repository, so that a mirror's prefix does not matter. */
const kindsByRepository: readonly (readonly [RegExp, Kind])[] = [
  [/(?:^|\/)(?:containrrr|v2tec|centurylink|beatkind)\/watchtower$/, watchtower],
  [/(?:^|\/)(?:nickfedor|nicholas-fedor)\/watchtower$/, { ...watchtower, unscoped: 'unscoped' }],
  [/(?:^|\/)(?:getwud\/wud|fmartinou\/whats-up-docker)$/, { ...triggered, called: 'What’s Up Docker' }],
  [/(?:^|\/)codeswhat\/drydock$/, { ...triggered, called: 'drydock' }],
  [/(?:^|\/)pyouroboros\/ouroboros$/, { ...removing, called: 'Ouroboros' }],
  [/(?:^|\/)quenary\/tugtainer$/, { ...removing, called: 'Tugtainer' }],
  [/(?:^|\/)upkeep$/, upkeep],
];

/** The label marks every image of the family, under any repository name. */
function kindOf(container: ContainerSummary, own: ContainerSummary | undefined): Kind | undefined {
  const repository = tryParseImageReference(container.image)?.repository ?? '';
  const byRepository = kindsByRepository.find(([pattern]) => pattern.test(repository))?.[1];
  const kind = container.imageId === own?.imageId ? upkeep : byRepository;
  if (kind === upkeep) return belongTogether(container, own) ? undefined : upkeep;
  return kind ?? (container.labels[watchtowerLabel] === 'true' ? watchtower : undefined);
}

/** A container that takes part in Upkeep's own update has a name of that update. */
function belongTogether(container: ContainerSummary, own: ContainerSummary | undefined): boolean {
  return [container, own].some((one) => one?.name.includes('.upkeep-') === true);
}

function meets({ unscoped }: Kind, theirs: string, ours: string): boolean {
  return unscoped === undefined || theirs === ours || (theirs === '' && unscoped === 'all');
}

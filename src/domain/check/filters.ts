import type { ContainerSummary } from '../container/container.ts';
import { ServiceError } from '../errors.ts';
import { type ImageReference, matchesReference } from '../reference/image-reference.ts';
import type { Request } from '../run/request.ts';
import { namePattern, type NamePattern } from '../text/name-pattern.ts';
import { quoted } from '../text/printable.ts';
import type { Selection, UnwatchedContainer, WatchedContainer } from './selection.ts';

/** The filters of a request; see `Request`. */
export type ContainerFilters = Pick<Request, 'images' | 'containers'>;

export type UnmatchedFilter = { readonly filter: string; readonly reason: string };

/**
 * Keeps the containers that a request names, and lists filters without a match. Comparisons block the process, so
 * `onMatch` runs before each one and may throw to stop a large request.
 */
export function applyFilters(
  selection: Selection,
  filters: ContainerFilters,
  referenceOf: (container: ContainerSummary) => ImageReference | undefined,
  onMatch: () => void = () => {},
): { readonly named: readonly WatchedContainer[]; readonly unmatched: readonly UnmatchedFilter[] } {
  const { watched, unwatched } = selection;
  const names = filters.containers.map((filter) => {
    onMatch();
    const pattern = namePattern(filter);
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
  const named = watched.filter(
    ({ container }) =>
      (names.length === 0 || names.some(({ matches }) => matches(container.name))) &&
      (filters.images.length === 0 || filters.images.some((filter) => runs(filter)(container))),
  );
  const unmatchedNames = names
    .filter(({ matches }) => !watched.some(({ container }) => matches(container.name)))
    .map(({ filter, matches }) => ({ filter, reason: whyNoName(filter, matches, unwatched) }));
  const unmatchedImages = filters.images
    .filter((filter) => !watched.some(({ container }) => runs(filter)(container)))
    .map((filter) => ({ filter, reason: `No watched container runs the image ${quoted(filter)}` }));
  return { named, unmatched: [...unmatchedNames, ...unmatchedImages] };
}

function whyNoName(filter: string, matches: NamePattern, unwatched: readonly UnwatchedContainer[]): string {
  const known = unwatched.find(({ container }) => matches(container.name));
  return known === undefined
    ? `No container is called ${quoted(filter)}`
    : `Container ${quoted(known.container.name)} is not watched: it ${known.reason}`;
}

/**
 * Throws `not-found` when a name or an image of the request matches no watched container. A typo must not look like
 * success.
 */
export function refuseUnmatched(
  { unmatched }: { readonly unmatched: readonly UnmatchedFilter[] },
  verb: 'check' | 'update' | 'decide about',
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

import type { ContainerSummary } from '../container/container.ts';
import { ServiceError } from '../text/errors.ts';
import { familiarReference, type ImageReference, matchesReference } from '../image/image-reference.ts';
import type { Request } from '../run/session.ts';
import { composePrefix } from '../container/lookup.ts';
import { nearest, namePattern, type NamePattern } from '../text/name-pattern.ts';
import { quoted } from '../text/printable.ts';
import type { Selection, UnwatchedContainer, WatchedContainer } from './selection.ts';

/** The filters of a request; see `Request`. */
export type ContainerFilters = Pick<Request, 'images' | 'containers' | 'forgiving'>;

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

/** A container by its name, and if it is of Compose by its service and project. */
export type Nameable = Pick<ContainerSummary, 'name'> & { readonly labels?: ContainerSummary['labels'] };

/** The containers that a name of a person means: those that it matches, or else those that it may mean otherwise. */
export function forgivingPattern(text: string, containers: readonly Nameable[]): NamePattern {
  const pattern = namePattern(text);
  if (containers.some(({ name }) => pattern(name))) return pattern;
  const meant = new Set(otherwiseMeant(text, containers).map(({ name }) => name));
  return (name) => meant.has(name);
}

/** By the first of: other letter case, Compose service, Compose project, glob. */
function otherwiseMeant(text: string, containers: readonly Nameable[]): readonly Nameable[] {
  const typed = text.trim().replace(/^\//, '').toLowerCase();
  const label = (part: string) => (one: Nameable) => one.labels?.[`${composePrefix}${part}`]?.toLowerCase() === typed;
  const glob = namePattern(
    typed
      .replaceAll(/[.+^${}()|[\]\\]/g, String.raw`\$&`)
      .replaceAll('*', '.*')
      .replaceAll('?', '.'),
  );
  const rules: readonly ((one: Nameable) => boolean)[] = [
    ({ name }) => name.toLowerCase() === typed,
    label('service'),
    label('project'),
    ...(/[*?]/.test(typed) ? [({ name }: Nameable) => glob(name.toLowerCase())] : []),
  ];
  return rules.map((isMeant) => containers.filter(isMeant)).find(({ length }) => length > 0) ?? [];
}

/** The end of a message about a name without a container: a near one, or else the names that there are. */
export function suggestionFor(text: string, containers: readonly Nameable[]): string {
  if (containers.length === 0) return '; there are no containers';
  const list = (found: readonly string[]) =>
    found
      .slice(0, maxNamed)
      .map((name) => quoted(name, 64))
      .join(', ');
  const meant = otherwiseMeant(text, containers).map(({ name }) => name);
  if (meant.length > 0) return `; did you mean ${list(meant)}?`;
  const names = containers.map(({ name }) => name);
  const services = containers.flatMap(({ labels }) => labels?.[`${composePrefix}service`] ?? []);
  const near = nearest(text.trim(), [...new Set([...names, ...services])].slice(0, maxCompared), 0.5);
  if (near !== undefined) return `; did you mean ${quoted(near, 64)}?`;
  const more = names.length > maxNamed ? `, and ${names.length - maxNamed} more` : '';
  return `; the containers are ${list(names)}${more}`;
}

const maxNamed = 8;
const maxCompared = 2000;

function imagesAmong(all: readonly string[]): string {
  const images = [...new Set(all)];
  if (images.length === 0) return '; no container is watched';
  const more = images.length > maxNamed ? `, and ${images.length - maxNamed} more` : '';
  return `; the watched images are ${images
    .slice(0, maxNamed)
    .map((image) => quoted(image, 100))
    .join(', ')}${more}`;
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

import { ServiceError } from '../../../domain/text/errors.ts';
import { refuseUnmatched, type UnmatchedFilter } from '../../../domain/check/selection.ts';
import type { Request } from '../../../domain/run/session.ts';
import type { Answer } from './each-engine.ts';

type Filters = Pick<Request, 'images' | 'containers'>;

/** The filters that match a container of an engine. Undefined when the request does not concern that engine. */
export function filtersForEngine(
  { images, containers }: Filters,
  unmatched: readonly UnmatchedFilter[],
): Filters | undefined {
  const isStrange = (filter: string) => unmatched.some((one) => one.filter === filter);
  const kept = { images: images.filter(meansOne), containers: containers.filter(meansOne) };
  function meansOne(filter: string): boolean {
    return !isStrange(filter);
  }
  const isMeant =
    (images.length === 0 || kept.images.length > 0) && (containers.length === 0 || kept.containers.length > 0);
  return isMeant ? kept : undefined;
}

/** The filters that match no container on any engine that has answered. */
export function unmatchedEverywhere(lists: readonly (readonly UnmatchedFilter[])[]): readonly UnmatchedFilter[] {
  const [first = [], ...others] = lists;
  return first.filter(({ filter }) => others.every((list) => list.some((one) => one.filter === filter)));
}

/**
 * Throws `not-found` for a filter that matches no container on any engine, or `engine-unreachable` if an unreachable
 * engine may have a match.
 */
export function refuseUnmatchedFilters(answers: readonly Answer<readonly UnmatchedFilter[]>[]): void {
  const unmatched = unmatchedEverywhere(answers.flatMap(({ result }) => (result === undefined ? [] : [result])));
  const away = answers.filter(({ result }) => result === undefined);
  if (unmatched.length === 0 && away.length < answers.length) return;
  if (away.length === 0) return refuseUnmatched({ unmatched }, 'update');
  const which = [...new Set(away.map(({ run }) => `${run.name} (${run.error})`))].join(', ');
  const filters = unmatched.map(({ filter }) => filter).join(', ');
  const what = filters === '' ? '' : ` ${filters}: no engine that answers has it, and`;
  throw new ServiceError(
    'engine-unreachable',
    `Cannot update${what === '' ? ':' : what} these cannot be asked: ${which}`,
  );
}

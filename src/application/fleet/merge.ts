import { accessTest } from '../../domain/access/rights.ts';
import { defined } from '../../domain/text/plain-data.ts';
import { ServiceError, type ErrorCode } from '../../domain/text/errors.ts';
import type { EngineRun, Request, Session, ContainerOutcome } from '../../domain/run/session.ts';
import type { TrackedContainer, Inventory, UnwatchedTracked } from '../../domain/inventory.ts';
import { namePattern } from '../../domain/text/name-pattern.ts';
import type { CheckReport } from '../check/check.ts';
import type { ReachedMember, Answer } from './members.ts';
import { isDigest } from '../../domain/image/image-reference.ts';
import type { CheckedContainer } from '../check/checked-container.ts';
import { refuseUnmatched, type UnmatchedFilter } from '../../domain/check/selection.ts';

/** In configured order, independent of the waves. */
export function inOrder<Result>(
  answers: readonly Answer<Result>[],
  meant: readonly ReachedMember[],
): readonly Answer<Result>[] {
  const indexes = new Map(meant.map(({ name }, index) => [name, index]));
  const indexOf = ({ member }: Answer<Result>) => indexes.get(member.name) ?? 0;
  return answers.toSorted((one, other) => indexOf(one) - indexOf(other));
}

/** One result for each engine. An engine with the services of a swarm has two answers; the worse one counts. */
export function runsOf(answers: readonly Answer<unknown>[]): readonly EngineRun[] {
  const runs = new Map<string, EngineRun>();
  for (const { run } of answers) {
    const { name, durationMs } = run;
    const before = runs.get(name);
    const worse = before === undefined || before.result === 'ran' ? run : before;
    runs.set(name, { ...worse, durationMs: Math.max(durationMs, before?.durationMs ?? 0) });
  }
  return [...runs.values()];
}

/** Whether at least one engine was worked on. An engine without a container of the request counts. */
export function hasRun(answers: readonly Answer<unknown>[]): boolean {
  return answers.some(({ run }) => run.result === 'ran');
}

/** The error of a single engine, or of the first one if all are busy; else all reasons with their engines. */
export function failureOfAll(answers: readonly Answer<unknown>[], verb: string): unknown {
  const [first] = answers;
  const isBusy = ({ run }: Answer<unknown>) => run.result === 'busy';
  if (answers.length < 2 || answers.every(isBusy)) return first?.error;
  const runs = runsOf(answers);
  const all = runs.slice(0, maxNamed).map(({ name, error }) => `${name}: ${error}`);
  const more = runs.length > maxNamed ? `; and ${runs.length - maxNamed} more` : '';
  const message = `Cannot ${verb}: no engine could be worked on: ${all.join('; ')}${more}`;
  return new ServiceError(answers.some(isBusy) ? 'busy' : firstCode(answers), message);
}

function firstCode(answers: readonly Answer<unknown>[]): ErrorCode {
  const failure = answers.map(({ error }) => error).find((error) => error instanceof ServiceError);
  return failure?.code ?? 'engine-unreachable';
}

const maxNamed = 5;

/** The containers of the last listing, for an engine that could not be worked on. */
function lastListed({ member }: Answer<unknown>, { containers, images, within }: Request): readonly TrackedContainer[] {
  const patterns = containers.map(namePattern);
  const isWithin = within === undefined ? () => true : accessTest(within);
  const isMeant = (one: TrackedContainer) =>
    isWithin(one) && (patterns.length === 0 || patterns.some((means) => means(one.name)));
  return images.length > 0 ? [] : member.application.inventory().containers.filter(isMeant);
}

/** The outcomes of one engine. If it could not be worked on, they are `unknown`. */
export function outcomesOf(answer: Answer<Session | undefined>, request: Request): readonly ContainerOutcome[] {
  const { member, run, result } = answer;
  const { name: engine } = member;
  if (run.result === 'ran') return (result?.containers ?? []).map((one) => ({ ...one, engine }));
  return lastListed(answer, request).map(({ id, name, image, imageId, digest, kind }) => ({
    name,
    engine,
    containerId: id,
    image,
    outcome: 'unknown',
    reason: run.error ?? '',
    oldImageId: imageId,
    newImageId: '',
    oldDigest: digest,
    newDigest: '',
    ...defined({ kind }),
  }));
}

/** The reports of all engines as one. Engines without a report are included with their last listing. */
export function reportOf(
  answers: readonly Answer<CheckReport>[],
  request: Request,
  times: Pick<CheckReport, 'startedAtMs' | 'durationMs'>,
): CheckReport {
  const reports = answers.flatMap(({ member, result }) =>
    result === undefined ? [] : [{ engine: member.name, report: result }],
  );
  const tagged = <Item>(list: (report: CheckReport) => readonly Item[]) =>
    reports.flatMap(({ engine, report }) => list(report).map((item) => ({ ...item, engine })));
  return {
    containers: answers.flatMap((answer) =>
      answer.result === undefined
        ? uncheckedContainers(answer, request)
        : answer.result.containers.map((one) => ({ ...one, engine: answer.member.name })),
    ),
    unmatched: unmatchedEverywhere(reports.map(({ report }) => report.unmatched)),
    unwatched: tagged(({ unwatched }) => unwatched),
    unfinished: tagged(({ unfinished }) => unfinished),
    obsoleteFailures: tagged(({ obsoleteFailures }) => obsoleteFailures),
    ...times,
    engines: runsOf(answers),
  };
}

/** The containers of an engine without a report, from its last listing: `unknown`, with the reason. */
function uncheckedContainers(answer: Answer<unknown>, request: Request): readonly CheckedContainer[] {
  const { member, run } = answer;
  const { error: reason = '' } = run;
  return lastListed(answer, request).map(({ id, name, image, imageId, digest, version, kind }) => ({
    id,
    name,
    engine: member.name,
    image,
    reference: image,
    successorReference: image,
    imageId,
    digest: isDigest(digest) ? digest : undefined,
    status: 'unknown',
    reason,
    updateAvailable: false,
    error: reason,
    latestDigest: undefined,
    latestImageId: undefined,
    pullDigest: undefined,
    eligibleAtMs: undefined,
    failedVersion: undefined,
    ...defined({ version, kind }),
  }));
}

type Filters = Pick<Request, 'images' | 'containers'>;

/** The filters that match a container of an engine. Undefined when the request does not concern that engine. */
export function filtersForEngine(
  { images, containers }: Filters,
  unmatched: readonly UnmatchedFilter[],
): Filters | undefined {
  const isKnown = (filter: string) => unmatched.every((one) => one.filter !== filter);
  const kept = { images: images.filter(isKnown), containers: containers.filter(isKnown) };
  const isMeant =
    (images.length === 0 || kept.images.length > 0) && (containers.length === 0 || kept.containers.length > 0);
  return isMeant ? kept : undefined;
}

/** The filters that match no container on any engine that has answered. */
function unmatchedEverywhere(lists: readonly (readonly UnmatchedFilter[])[]): readonly UnmatchedFilter[] {
  const [first = [], ...others] = lists;
  return first.filter(({ filter }) => others.every((list) => list.some((one) => one.filter === filter)));
}

/**
 * Throws `not-found` for a filter that matches no container on any engine, or `engine-unreachable` if an unreachable
 * engine may have a match.
 */
export function refuseUnmatchedFilters(answers: readonly Answer<readonly UnmatchedFilter[]>[]): void {
  const unmatched = unmatchedEverywhere(answers.flatMap(({ result }) => (result === undefined ? [] : [result])));
  const unreachable = answers.filter(({ result }) => result === undefined);
  if (unmatched.length === 0 && unreachable.length < answers.length) return;
  if (unreachable.length === 0) return refuseUnmatched({ unmatched }, 'update');
  const which = [...new Set(unreachable.map(({ run }) => `${run.name} (${run.error})`))].join(', ');
  const filters = unmatched.map(({ filter }) => filter).join(', ');
  const what = filters === '' ? '' : ` ${filters}: no engine that answers has it, and`;
  throw new ServiceError(
    'engine-unreachable',
    `Cannot update${what === '' ? ':' : what} these cannot be asked: ${which}`,
  );
}

type FleetInventory = {
  readonly inventory: () => Inventory;
  readonly unwatched: () => readonly UnwatchedTracked[];
};

/**
 * The inventories of all engines and swarms as one. An unreachable engine keeps its last inventory. `isReady`: every
 * engine has answered or failed once.
 */
export function createFleetInventory(
  membersNow: () => readonly ReachedMember[],
  isReady: () => boolean,
): FleetInventory {
  let parts: readonly Part[] = [];
  let joined: Inventory | undefined;
  const tagged = createTagger();

  return {
    inventory() {
      const members = membersNow().map(({ name, application }) => ({ name, inventory: application.inventory() }));
      const now = members.map(({ inventory }) => inventory);
      const isKnown = now.every(({ known }) => known) || (isReady() && now.some(({ known }) => known));
      const isSame = joined?.known === isKnown && isSameList(parts, members);
      if (joined !== undefined && isSame) return joined;
      parts = members;
      const all = <Item extends object>(list: (one: Inventory) => readonly Item[]) =>
        members.flatMap(({ name, inventory }) => list(inventory).map((item) => tagged(item, name)));
      joined = {
        revision: (joined?.revision ?? 0) + 1,
        known: isKnown,
        scope: now.find(({ scope }) => scope !== '')?.scope ?? '',
        containers: all(({ containers }) => containers),
        unfinished: all(({ unfinished }) => unfinished),
        images: all(({ images }) => images),
        updatesAvailable: sumOfKnown(now.map(({ updatesAvailable }) => updatesAvailable)),
      };
      return joined;
    },
    unwatched: () =>
      membersNow().flatMap(({ name, application }) => application.unwatched().map((one) => ({ ...one, engine: name }))),
  };
}

/** Undefined if none is known. */
export function sumOfKnown(counts: readonly (number | undefined)[]): number | undefined {
  const known = counts.filter((count) => count !== undefined);
  return known.length === 0 ? undefined : known.reduce((sum, count) => sum + count, 0);
}

/** Returns the same object for the same item and engine, so unchanged containers share their memory. */
function createTagger() {
  const known = new WeakMap<object, { readonly engine: string }>();
  return <Item extends object>(item: Item, engine: string): Item & { readonly engine: string } => {
    const before = known.get(item);
    const made = before?.engine === engine ? before : { ...item, engine };
    known.set(item, made);
    // A copy of this item.
    return made as Item & { readonly engine: string };
  };
}

type Part = { readonly name: string; readonly inventory: Inventory };

function isSameList(one: readonly Part[], other: readonly Part[]): boolean {
  return (
    one.length === other.length &&
    one.every(({ name, inventory }, index) => name === other[index]?.name && inventory === other[index]?.inventory)
  );
}

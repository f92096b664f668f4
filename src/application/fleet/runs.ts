import { refuseUnmatched, type UnmatchedFilter } from '../../domain/check/selection.ts';
import type { Outside } from '../../domain/outside/outside.ts';
import type {
  CheckRequest,
  Request,
  UpdateRequest,
  Session,
  EngineRun,
  ContainerOutcome,
} from '../../domain/run/session.ts';
import type { PartOfRun, CheckedContainer } from '../check/checked-container.ts';
import type { CheckReport } from '../check/check.ts';
import type { Application, EngineApplication } from '../application.ts';
import { announceRun, type AnnouncedRun } from '../events/history.ts';
import { chooseEngines, inOrder, type ReachedMember, type Answer } from './members.ts';
import { inAllWaves, wavesOf, type PartFor, type WaveParts } from './waves.ts';
import { addTo, defined } from '../../domain/text/plain-data.ts';
import { ServiceError, describeError, isBusy, type ErrorCode } from '../../domain/text/errors.ts';
import { createSharedUse, remember, rememberLists } from '../async/concurrency.ts';
import { formatReference, isDigest } from '../../domain/image/image-reference.ts';
import { formatPlatform } from '../../domain/image/platform.ts';
import type { Registry } from '../../domain/outside/registry.ts';
import { accessTest } from '../../domain/access/rights.ts';
import type { TrackedContainer, Inventory, UnwatchedTracked } from '../../domain/inventory.ts';
import { namePattern } from '../../domain/text/name-pattern.ts';

export type RunParts = WaveParts & Pick<Outside, 'clock' | 'newId' | 'publish' | 'registry'>;

/** The use cases that work on all engines. Each call is one run with one id. */
export function createRuns(parts: RunParts): Pick<Application, 'check' | 'update'> {
  const { members, swarms, each, registry } = parts;

  async function check(request: CheckRequest, signal?: AbortSignal): Promise<CheckReport> {
    const meant = chooseEngines(members, request.engines);
    const run = announceRun(parts, 'check', request);
    run.begin();
    const work = (one: EngineApplication, part: PartOfRun) => one.check({ ...request, part }, signal);
    const part = partOfRun(run.runId, registry);
    const order = { work, part, applyCooldown: false, isNamed: isNamed(request) };
    const answers = await inAllWaves(meant, parts, order, signal);
    if (!hasRun(answers)) throw run.fail(failureOfAll(answers, 'check'));
    const report = reportOf(answers, request, run.times());
    run.endCheck(report.containers);
    return report;
  }

  async function update(request: UpdateRequest, signal?: AbortSignal): Promise<Session> {
    const meant = chooseEngines(members, request.engines);
    if (request.refuseUnmatched) {
      const asked = [...meant, ...(await swarms.of(meant, signal))];
      refuseUnmatchedFilters(await ask(asked, request, signal));
    }
    const run = announceRun(parts, 'update', request);
    const part = partOfRun(run.runId, registry);
    // The search for swarms counts as one until the number of swarms is known.
    const lastOnes = createWorkCounter(meant.length + 1);
    const { refuseUnmatched: _, onBegin, ...asked } = request;
    const begin = () => {
      run.begin();
      onBegin?.(run.runId);
    };
    type Working = Pick<PartOfRun, 'beforeSelf'> & { readonly partFor: PartFor; readonly onEnd: () => void };
    const workOn = (chosen: readonly ReachedMember[], { partFor, beforeSelf, onEnd }: Working) =>
      each<Session | undefined>(chosen, {
        isNamed: isNamed(request),
        signal,
        onEnd,
        async work(member, slot) {
          const filters = await filtersFor(member, request, signal);
          if (filters === undefined) return undefined;
          const shared = { ...partFor(member), beforeSelf: () => slot.pause(beforeSelf) };
          return member.application.update({ ...asked, ...filters, part: shared, onBegin: begin }, signal);
        },
      });
    const ofSwarms = swarms.of(meant, signal).then((found) => {
      lastOnes.add(found.length);
      lastOnes.end();
      return workOn(found, { partFor: () => part, beforeSelf: lastOnes.wait, onEnd: lastOnes.end });
    });
    const working: (typeof ofSwarms)[] = [];
    for (const wave of wavesOf(meant, parts, { part, applyCooldown: true, ...request }, signal)) {
      const partFor = await wave.prepare();
      const ofWave = createWorkCounter(wave.members.length);
      const beforeSelf = () => {
        // Our own container waits for all waves, so the next wave must not wait for it.
        ofWave.end();
        return lastOnes.wait();
      };
      const onEnd = () => {
        ofWave.end();
        lastOnes.end();
      };
      working.push(workOn(wave.members, { partFor, beforeSelf, onEnd }));
      await ofWave.ended;
    }
    const answers = inOrder((await Promise.all([...working, ofSwarms])).flat(), meant);
    return concludeRun(answers, parts, { run, request, verb: 'update' });
  }

  /** Asks every engine which filters of a request match no container. */
  function ask(meant: readonly ReachedMember[], request: Request, signal: AbortSignal | undefined) {
    const work = ({ application }: ReachedMember) => application.unmatched(request, signal);
    return each<readonly UnmatchedFilter[]>(meant, { work, isNamed: isNamed(request), signal });
  }

  async function filtersFor({ application }: ReachedMember, request: Request, signal: AbortSignal | undefined) {
    const isFull = request.images.length === 0 && request.containers.length === 0;
    return isFull ? {} : filtersForEngine(request, await application.unmatched(request, signal));
  }

  return { check, update };
}

/** Named engines are tried even if they were unreachable a moment ago. */
export function isNamed({ engines = [] }: Request): boolean {
  return engines.length > 0;
}

/** Lets work wait until all other work of a run has ended. Waiting work does not block other waiting work. */
type WorkCounter = {
  /** Adds more work. Only valid while some is at work. */
  readonly add: (count: number) => void;
  readonly end: () => void;
  readonly wait: () => Promise<void>;
  /** Resolves when all work has ended or waits. */
  readonly ended: Promise<void>;
};

function createWorkCounter(count: number): WorkCounter {
  let working = count;
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  const end = () => {
    working -= 1;
    if (working <= 0) release();
  };
  return {
    add: (more) => void (working += more),
    end,
    ended: released,
    async wait() {
      end();
      await released;
    },
  };
}

/** A rollback on the engines that have the named containers. */
export function createRollBack(parts: RunParts): Application['rollBack'] {
  const { members, swarms, each, registry } = parts;
  return async (names, signal, order = {}) => {
    const chosen = chooseEngines(members, order.engines);
    const request = { images: [], containers: [...names], ...order };
    const asked = [...chosen, ...(await swarms.of(chosen, signal))];
    const having = await ownersOf(names, asked, request, signal);
    const run = announceRun(parts, 'update', order);
    const begin = () => {
      run.begin();
      order.onBegin?.(run.runId);
    };
    const part = partOfRun(run.runId, registry);
    const answers = await each<Session | undefined>([...having.keys()], {
      isNamed: true,
      signal,
      work: (member) =>
        member.application.rollBack(having.get(member) ?? [], signal, { ...order, part, onBegin: begin }),
    });
    return concludeRun(answers, parts, { run, request, verb: 'roll back' });
  };

  /** Throws before any change if a name is on no engine, or on several. */
  async function ownersOf(
    names: readonly string[],
    asked: readonly ReachedMember[],
    request: Request,
    signal: AbortSignal | undefined,
  ): Promise<ReadonlyMap<ReachedMember, readonly string[]>> {
    const work = ({ application }: ReachedMember) => application.containerNames(signal);
    const lists = await each(asked, { work, isNamed: isNamed(request), signal });
    const having = new Map<ReachedMember, string[]>();
    for (const name of names) {
      const owners = ownersIn(lists.filter(({ result }) => result?.includes(name)));
      const unreachable = [...new Set(lists.filter(({ result }) => result === undefined).map(({ run }) => run.name))];
      const [owner] = owners;
      if (owner === undefined) {
        const code = unreachable.length === 0 ? 'not-found' : 'engine-unreachable';
        const more = unreachable.length === 0 ? '' : `, and these cannot be asked: ${unreachable.join(', ')}`;
        throw new ServiceError(code, `Cannot roll back ${name}: no engine has a container of this name${more}`);
      }
      if (owners.length > 1)
        throw new ServiceError(
          'invalid-input',
          `Cannot roll back ${name}: several engines have it: ${owners.map(({ run }) => run.name).join(', ')}`,
          { remedy: 'name one of them with --engine, or engine= in a request' },
        );
      addTo(having, owner.member, name);
    }
    return having;
  }
}

/** A service wins over a container of its name on the same engine. */
function ownersIn(lists: readonly Answer<readonly string[]>[]): readonly Answer<readonly string[]>[] {
  return [...new Map(lists.map((list) => [list.run.name, list])).values()];
}

type Conclusion = {
  readonly run: AnnouncedRun;
  readonly request: Request;
  /** For an error: `update`. */
  readonly verb: string;
};

/**
 * Publishes the end of a run that changes containers. Throws `busy` if no engine ran and one was busy with another run.
 * If no engine ran for other reasons, it throws these.
 */
function concludeRun(
  answers: readonly Answer<Session | undefined>[],
  { clock, publish }: Pick<Outside, 'clock' | 'publish'>,
  { run, request, verb }: Conclusion,
): Session {
  if (!hasRun(answers)) {
    const error = failureOfAll(answers, verb);
    if (!isBusy(error)) throw run.fail(error);
    publish({ kind: 'scan_skipped', trigger: run.trigger, reason: describeError(error), atMs: clock.nowMs() });
    throw error;
  }
  return run.end({
    containers: answers.flatMap((answer) => outcomesOf(answer, request)),
    engines: runsOf(answers.filter(({ run: { result }, result: of }) => result !== 'ran' || of !== undefined)),
  });
}

/** The part of each engine in a run. Upkeep's own container waits for no other engine. */
export function partOfRun(runId: string, registry: Registry): PartOfRun {
  return { runId, registry: registryOfRun(registry), network: createSharedUse(), beforeSelf: () => Promise.resolve() };
}

/**
 * The registries for one run. Each question is asked once for all engines, so a tag that moves during the run gives all
 * engines the same digest. Failures are shared too. The questions of the run bound it.
 */
function registryOfRun(registry: Registry): Registry {
  return {
    ...registry,
    resolve: remember(registry.resolve, (reference) => formatReference(reference)),
    listTags: rememberLists(registry.listTags),
    describe: remember(
      registry.describe,
      ({ reference, digest, platform }) => `${formatReference(reference)} ${digest} ${formatPlatform(platform)}`,
    ),
    platformsOf: remember(registry.platformsOf, (reference, digest) => `${formatReference(reference)} ${digest}`),
    signaturesOf: remember(registry.signaturesOf, (reference, digest) => `${formatReference(reference)} ${digest}`),
  };
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
function outcomesOf(answer: Answer<Session | undefined>, request: Request): readonly ContainerOutcome[] {
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
function filtersForEngine({ images, containers }: Filters, unmatched: readonly UnmatchedFilter[]): Filters | undefined {
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
function refuseUnmatchedFilters(answers: readonly Answer<readonly UnmatchedFilter[]>[]): void {
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

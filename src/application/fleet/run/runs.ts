import type { UnmatchedFilter } from '../../../domain/check/selection.ts';
import { describeError, ServiceError } from '../../../domain/errors.ts';
import type { Outside } from '../../../domain/outside/outside.ts';
import type { CheckRequest, Request, UpdateRequest } from '../../../domain/run/request.ts';
import { type Session, summarise, type Trigger } from '../../../domain/run/session.ts';
import type { ScanPurpose } from '../../../domain/run/event.ts';
import type { TrackedContainer } from '../../../domain/inventory/inventory.ts';
import { namePattern } from '../../../domain/text/name-pattern.ts';
import type { PartOfRun } from '../../engine/part-of-run.ts';
import type { Application } from '../../application.ts';
import type { CheckReport } from '../../check/check.ts';
import type { Answer, EachEngine } from './each-engine.ts';
import { chooseEngines } from '../member/choose-engines.ts';
import { createLastOnes } from './last-ones.ts';
import type { ReachedMember } from '../member/member.ts';
import { narrow, refuseStrange, unmatchedEverywhere } from './narrow.ts';
import { registryOfRun } from './run-registry.ts';
import { uncheckedContainers, unknownOutcomes } from './unchecked.ts';

export type RunParts = Pick<Outside, 'clock' | 'newId' | 'publish' | 'registry'> & {
  readonly members: readonly ReachedMember[];
  readonly each: EachEngine;
};

/** The use cases that work on all engines at once. Each is one run with one id, whatever its engines do. */
export function createRuns({ members, each, clock, newId, publish, registry }: RunParts) {
  /** Announces a run once, and its end. */
  function announce(purpose: ScanPurpose, trigger: Trigger) {
    const runId = newId();
    const [startedAtMs, beganMs] = [clock.nowMs(), clock.monotonicMs()];
    let hasBegun = false;
    const begin = () => {
      if (hasBegun) return;
      hasBegun = true;
      publish({ kind: 'scan_started', runId, purpose, trigger, atMs: startedAtMs });
    };
    const fail = (error: unknown) => {
      begin();
      publish({ kind: 'scan_failed', runId, purpose, error: describeError(error), atMs: clock.nowMs() });
      return error;
    };
    const times = () => ({ startedAtMs, durationMs: clock.monotonicMs() - beganMs });
    return { runId, begin, fail, times };
  }

  async function check(request: CheckRequest, signal?: AbortSignal): Promise<CheckReport> {
    const meant = chooseEngines(members, request.engines);
    const run = announce('check', request.trigger ?? 'command');
    run.begin();
    const part = partOf(run.runId);
    const work = ({ application }: ReachedMember) => application.check({ ...request, part }, signal);
    const answers = await each(meant, { work, isNamed: isNamed(request), signal });
    if (!hasRun(answers)) throw run.fail(failureOfAll(answers, 'check'));
    const report = reportOf(answers, request, run.times());
    const failed = report.containers.filter(({ error }) => error !== undefined).length;
    const counts = { scanned: report.containers.length, updated: 0, failed, restarted: 0, skipped: 0 };
    const { runId } = run;
    publish({ kind: 'scan_completed', runId, purpose: 'check', ...counts, session: undefined, atMs: clock.nowMs() });
    return report;
  }

  async function update(request: UpdateRequest, signal?: AbortSignal): Promise<Session> {
    const { trigger } = request;
    const meant = chooseEngines(members, request.engines);
    if (request.refuseUnmatched) refuseStrange(await ask(meant, request, signal), 'update');
    const run = announce('update', trigger);
    const part = partOf(run.runId);
    const lastOnes = createLastOnes(meant.length);
    const { refuseUnmatched: _, onBegin, ...asked } = request;
    const begin = () => {
      run.begin();
      onBegin?.(run.runId);
    };
    const answers = await each<Session | undefined>(meant, {
      isNamed: isNamed(request),
      signal,
      onEnd: lastOnes.end,
      async work(member, slot) {
        const filters = await filtersFor(member, request, signal);
        if (filters === undefined) return undefined;
        const beforeSelf = () => slot.pause(lastOnes.wait);
        return member.application.update(
          { ...asked, ...filters, part: { ...part, beforeSelf }, onBegin: begin },
          signal,
        );
      },
    });
    return conclude(answers, { run, request, verb: 'update' });
  }

  /** What every engine says about the filters of a request. */
  function ask(meant: readonly ReachedMember[], request: Request, signal: AbortSignal | undefined) {
    const work = ({ application }: ReachedMember) => application.unmatched(filtersOf(request), signal);
    return each<readonly UnmatchedFilter[]>(meant, { work, isNamed: isNamed(request), signal });
  }

  async function filtersFor({ application }: ReachedMember, request: Request, signal: AbortSignal | undefined) {
    const filters = filtersOf(request);
    return isFull(request) ? filters : narrow(filters, await application.unmatched(filters, signal));
  }

  type Conclusion = {
    readonly run: ReturnType<typeof announce>;
    readonly request: Request & { readonly trigger?: Trigger };
    readonly verb: string;
  };

  /** Throws `busy` when every engine that answers is at work for others, and why when none could be worked on. */
  function conclude(answers: readonly Answer<Session | undefined>[], { run, request, verb }: Conclusion): Session {
    const { trigger = 'command' } = request;
    if (!hasRun(answers)) {
      const error = failureOfAll(answers, verb);
      const isBusy = error instanceof ServiceError && error.code === 'busy';
      if (!isBusy) throw run.fail(error);
      publish({ kind: 'scan_skipped', trigger, reason: describeError(error), atMs: clock.nowMs() });
      throw error;
    }
    run.begin();
    const { runId } = run;
    const session: Session = {
      ...{ runId, trigger, ...run.times() },
      containers: answers.flatMap((answer) => outcomesOf(answer, request)),
      engines: answers.filter(({ run: { result }, result: of }) => result !== 'ran' || of !== undefined).map(runOf),
    };
    const atMs = clock.nowMs();
    publish({ kind: 'scan_completed', runId, purpose: 'update', ...summarise(session), session, atMs });
    return session;
  }

  function partOf(runId: string): PartOfRun {
    return { runId, registry: registryOfRun(registry), beforeSelf: () => Promise.resolve() };
  }

  const rollBack: Application['rollBack'] = async (names, signal, order = {}) => {
    const chosen = chooseEngines(members, order.engines);
    const request = { images: [], containers: [...names], ...order };
    const having = await ownersOf(names, chosen, request, signal);
    const run = announce('update', order.trigger ?? 'command');
    const begin = () => {
      run.begin();
      order.onBegin?.(run.runId);
    };
    const part = partOf(run.runId);
    const answers = await each<Session | undefined>([...having.keys()], {
      isNamed: true,
      signal,
      work: (member) =>
        member.application.rollBack(having.get(member) ?? [], signal, { ...order, part, onBegin: begin }),
    });
    const refused = answers.find(({ run: { result } }) => result !== 'ran');
    if (refused !== undefined && answers.length === 1) throw run.fail(refused.error);
    return conclude(answers, { run, request, verb: 'roll back' });
  };

  /** Throws before anything is touched where a name is on no engine, or on several. */
  async function ownersOf(
    names: readonly string[],
    chosen: readonly ReachedMember[],
    request: Request,
    signal: AbortSignal | undefined,
  ): Promise<ReadonlyMap<ReachedMember, readonly string[]>> {
    const work = ({ application }: ReachedMember) => application.containerNames(signal);
    const lists = await each(chosen, { work, isNamed: isNamed(request), signal });
    const having = new Map<ReachedMember, string[]>();
    for (const name of names) {
      const owners = lists.filter(({ result }) => result?.includes(name));
      const away = lists.filter(({ result }) => result === undefined).map(({ run }) => run.name);
      const [owner] = owners;
      if (owner === undefined) {
        const code = away.length === 0 ? 'not-found' : 'engine-unreachable';
        const more = away.length === 0 ? '' : `, and these cannot be asked: ${away.join(', ')}`;
        throw new ServiceError(code, `Cannot roll back ${name}: no engine has a container of this name${more}`);
      }
      if (owners.length > 1)
        throw new ServiceError(
          'invalid-input',
          `Cannot roll back ${name}: several engines have it: ${owners.map(({ run }) => run.name).join(', ')}`,
          { remedy: 'name one of them with --engine, or engine= in a request' },
        );
      having.set(owner.member, [...(having.get(owner.member) ?? []), name]);
    }
    return having;
  }

  return { check, update, rollBack };
}

function isNamed({ engines = [] }: Request): boolean {
  return engines.length > 0;
}

function isFull({ images, containers }: Request): boolean {
  return images.length === 0 && containers.length === 0;
}

function filtersOf({ images, containers }: Request) {
  return { images, containers };
}

function runOf({ run }: Answer<unknown>) {
  return run;
}

/** Whether at least one engine was worked on, or had nothing to do with the request. */
export function hasRun(answers: readonly Answer<unknown>[]): boolean {
  return answers.some(({ run }) => run.result === 'ran');
}

/** The one reason of all where there is one, else each with its engine. */
export function failureOfAll(answers: readonly Answer<unknown>[], verb: string): unknown {
  const [first, ...others] = answers;
  if (first === undefined || others.length === 0) return first?.error;
  const codes = answers.map(({ error }) => (error instanceof ServiceError ? error.code : undefined));
  const busy = answers.find(({ run }) => run.result === 'busy');
  if (busy !== undefined) return busy.error;
  const code = codes.find((each) => each !== undefined) ?? 'engine-unreachable';
  const all = answers.slice(0, mostNamed).map(({ run }) => `${run.name}: ${run.error}`);
  const more = answers.length > mostNamed ? `; and ${answers.length - mostNamed} more` : '';
  return new ServiceError(code, `Cannot ${verb}: no engine could be worked on: ${all.join('; ')}${more}`);
}

const mostNamed = 5;

/** Of an engine that could not be worked on, the containers that it had when it was last listed. */
function lastListed({ member }: Answer<unknown>, { containers, images }: Request): readonly TrackedContainer[] {
  const patterns = containers.map(namePattern);
  const isMeant = ({ name }: TrackedContainer) => patterns.length === 0 || patterns.some((means) => means(name));
  return images.length > 0 ? [] : member.application.inventory().containers.filter(isMeant);
}

function outcomesOf(answer: Answer<Session | undefined>, request: Request): Session['containers'] {
  const { name } = answer.member;
  if (answer.run.result === 'ran') return (answer.result?.containers ?? []).map((one) => ({ ...one, engine: name }));
  const reason = answer.run.error ?? '';
  return unknownOutcomes(lastListed(answer, request), name, reason);
}

/** The reports of all engines as one, with what those that are away ran last. */
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
        ? uncheckedContainers(lastListed(answer, request), answer.member.name, answer.run.error ?? '')
        : answer.result.containers.map((one) => ({ ...one, engine: answer.member.name })),
    ),
    unmatched: unmatchedEverywhere(reports.map(({ report }) => report.unmatched)),
    unwatched: tagged(({ unwatched }) => unwatched),
    unfinished: tagged(({ unfinished }) => unfinished),
    obsoleteFailures: tagged(({ obsoleteFailures }) => obsoleteFailures),
    ...times,
    engines: answers.map(runOf),
  };
}

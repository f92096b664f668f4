import type { UnmatchedFilter } from '../../../domain/check/filters.ts';
import { describeError, ServiceError } from '../../../domain/errors.ts';
import type { Outside } from '../../../domain/outside/outside.ts';
import type { CheckRequest, Request, UpdateRequest } from '../../../domain/run/request.ts';
import { type Session, summarise, type Trigger } from '../../../domain/run/session.ts';
import type { ScanPurpose } from '../../../domain/run/event.ts';
import type { PartOfRun } from '../../check/part-of-run.ts';
import type { CheckReport } from '../../check/check.ts';
import type { EngineApplication } from '../../application.ts';
import type { Answer } from './each-engine.ts';
import { chooseEngines } from '../member/choose-engines.ts';
import { createWorkCounter } from './work-counter.ts';
import type { ReachedMember } from '../member/member.ts';
import { filtersForEngine, refuseUnmatchedFilters } from './engine-filters.ts';
import { inAllWaves, type PartFor, type WaveParts, wavesOf } from './in-waves.ts';
import { registryOfRun } from './run-registry.ts';
import { failureOfAll, hasRun, inOrder, outcomesOf, reportOf, runsOf } from './merge.ts';

export type RunParts = WaveParts & Pick<Outside, 'clock' | 'newId' | 'publish' | 'registry'>;

/** The use cases that work on all engines. Each call is one run with one id. */
export function createRuns(parts: RunParts) {
  const { members, swarms, each, clock, newId, publish, registry } = parts;
  /** Publishes the begin of a run, once, and its failure. */
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
    const work = (one: EngineApplication, part: PartOfRun) => one.check({ ...request, part }, signal);
    const order = { work, part: partOf(run.runId), isNamed: isNamed(request) };
    const answers = await inAllWaves(meant, parts, order, signal);
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
    if (request.refuseUnmatched) {
      const asked = [...meant, ...(await swarms.of(meant, signal))];
      refuseUnmatchedFilters(await ask(asked, request, signal), 'update');
    }
    const run = announce('update', trigger);
    const part = partOf(run.runId);
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
    for (const wave of wavesOf(meant, parts, { part, ...request }, signal)) {
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
    return conclude(answers, { run, request, verb: 'update' });
  }

  /** Asks every engine which filters of a request match no container. */
  function ask(meant: readonly ReachedMember[], request: Request, signal: AbortSignal | undefined) {
    const work = ({ application }: ReachedMember) => application.unmatched(filtersOf(request), signal);
    return each<readonly UnmatchedFilter[]>(meant, { work, isNamed: isNamed(request), signal });
  }

  async function filtersFor({ application }: ReachedMember, request: Request, signal: AbortSignal | undefined) {
    const filters = filtersOf(request);
    return isFull(request) ? filters : filtersForEngine(filters, await application.unmatched(filters, signal));
  }

  type Conclusion = {
    readonly run: ReturnType<typeof announce>;
    readonly request: Request & { readonly trigger?: Trigger };
    readonly verb: string;
  };

  /**
   * Throws `busy` if no engine ran and one was busy with another run. If no engine ran for other reasons, it throws
   * these.
   */
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
      engines: runsOf(answers.filter(({ run: { result }, result: of }) => result !== 'ran' || of !== undefined)),
    };
    const atMs = clock.nowMs();
    publish({ kind: 'scan_completed', runId, purpose: 'update', ...summarise(session), session, atMs });
    return session;
  }

  function partOf(runId: string): PartOfRun {
    return { runId, registry: registryOfRun(registry), beforeSelf: () => Promise.resolve() };
  }

  return { announce, check, conclude, partOf, update };
}

/** Named engines are tried even if they were unreachable a moment ago. */
export function isNamed({ engines = [] }: Request): boolean {
  return engines.length > 0;
}

function isFull({ images, containers }: Request): boolean {
  return images.length === 0 && containers.length === 0;
}

function filtersOf({ images, containers }: Request) {
  return { images, containers };
}

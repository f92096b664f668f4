import type { UnmatchedFilter } from '../../../domain/check/selection.ts';
import type { Outside } from '../../../domain/outside/outside.ts';
import type { CheckRequest, Request, UpdateRequest, Session } from '../../../domain/run/session.ts';
import type { PartOfRun } from '../../check/checked-container.ts';
import type { CheckReport } from '../../check/check.ts';
import type { Application, EngineApplication } from '../../application.ts';
import { announceRun } from '../../events/event-log.ts';
import { concludeRun } from './conclude-run.ts';
import { chooseEngines } from '../member/choose-engines.ts';
import type { ReachedMember } from '../member/member.ts';
import { filtersForEngine, refuseUnmatchedFilters } from './engine-filters.ts';
import { inAllWaves, wavesOf, type PartFor, type WaveParts } from './in-waves.ts';
import { partOfRun } from './run-registry.ts';
import { failureOfAll, hasRun, inOrder, reportOf } from './merge.ts';

export type RunParts = WaveParts & Pick<Outside, 'clock' | 'newId' | 'publish' | 'registry'>;

/** The use cases that work on all engines. Each call is one run with one id. */
export function createRuns(parts: RunParts): Pick<Application, 'check' | 'update'> {
  const { members, swarms, each, registry } = parts;

  async function check(request: CheckRequest, signal?: AbortSignal): Promise<CheckReport> {
    const meant = chooseEngines(members, request.engines);
    const run = announceRun(parts, 'check', request.trigger);
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
    const { trigger } = request;
    const meant = chooseEngines(members, request.engines);
    if (request.refuseUnmatched) {
      const asked = [...meant, ...(await swarms.of(meant, signal))];
      refuseUnmatchedFilters(await ask(asked, request, signal));
    }
    const run = announceRun(parts, 'update', trigger);
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
